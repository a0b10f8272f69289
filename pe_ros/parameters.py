"""Parameters: declared with type, description and range; a misspelt one is an error that names the nearest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.node import Node
from rclpy.parameter import Parameter

from pe_sim.errors import RosError
from pe_sim.schema import nearest


@dataclass(frozen=True)
class Declared:
    """One parameter.

    Attributes:
        name: its name.
        default: its default; its type is the parameter's type.
        description: for a person.
        low: least value of a number.
        high: greatest value of a number.
        choices: the valid texts, or () for any.
    """

    name: str
    default: bool | int | float | str | list[str]
    description: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()


def declare(node: Node, declared: tuple[Declared, ...], elsewhere: tuple[Declared, ...] = ()) -> dict[str, Any]:
    """Declare parameters on a node and return their values.

    An integer given for a double is accepted. Overrides for parameters that do not exist are refused.

    Args:
        node: the node.
        declared: its parameters.
        elsewhere: parameters of other nodes of the same process, which gets one set of overrides for all of them.

    Raises:
        RosError: for an unknown name, a wrong type or a value out of range.
    """
    overrides = dict(node._parameter_overrides)  # noqa: SLF001 (rclpy has no public way to see all of them)
    known = {one.name for one in (*declared, *elsewhere)} | {"use_sim_time", "start_type_description_service"}
    for name in overrides:
        if name not in known and not name.startswith("qos_overrides."):
            raise RosError(f"parameter {name} of {node.get_name()}", "no such parameter", cure=nearest(name, known))
    return {one.name: _declare_one(node, one, overrides.get(one.name)) for one in declared}


def _declare_one(node: Node, one: Declared, override: Parameter | None) -> Any:
    value = one.default if override is None or override.value is None else override.value
    if isinstance(one.default, float) and type(value) is int:
        value = float(value)
    if isinstance(one.default, list):
        value = [value] if isinstance(value, str) else list(value)  # type: ignore[arg-type]
    label = f"parameter {one.name} of {node.get_name()}"
    if type(value) is not type(one.default):
        raise RosError(label, f"must be of type {type(one.default).__name__}", value)
    _check_range(one, value, label)
    node.declare_parameter(one.name, value, _descriptor(one), ignore_override=True)
    return value


def _check_range(one: Declared, value: Any, label: str) -> None:
    if one.choices and value not in one.choices:
        raise RosError(label, "unknown value", value, nearest(str(value), one.choices))
    if one.low is not None and value < one.low:
        raise RosError(label, f"must be at least {one.low:g}", value)
    if one.high is not None and value > one.high:
        raise RosError(label, f"must be at most {one.high:g}", value)


def _descriptor(one: Declared) -> ParameterDescriptor:
    """Return a read-only descriptor: a running engagement does not change its rules."""
    text = one.description + (f" One of: {', '.join(one.choices)}." if one.choices else "")
    descriptor = ParameterDescriptor(name=one.name, description=text, read_only=True)
    if one.low is not None and one.high is not None:
        if isinstance(one.default, float):
            descriptor.floating_point_range = [FloatingPointRange(from_value=float(one.low), to_value=float(one.high))]
        elif isinstance(one.default, int):
            descriptor.integer_range = [IntegerRange(from_value=int(one.low), to_value=int(one.high))]
    return descriptor
