"""Domain randomisation: parameters of the engagement file that are drawn anew for every episode.

The section ``randomise`` maps dotted paths of the same file to what they are drawn from. What can be drawn, and
whether a draw is a value, a factor or a shift, is told by :func:`targets`. The draws themselves are in
:mod:`pe_sim.draws`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from pe_sim import registry
from pe_sim.quantities import exact
from pe_sim.schema import Strict, nearest
from pe_sim.timing import NANOSECONDS, to_nanoseconds
from pe_sim.units import unit_of

if TYPE_CHECKING:
    from pe_sim.engagement import Engagement

Bound = Annotated[float | str, Field(union_mode="left_to_right")]
"""A number in the parameter's unit, or text with a unit."""

SENSOR_DELAYS = ("latency", "jitter")
"""Durations of a sensor that can be drawn."""


class DrawSpec(Strict):
    """What a parameter is drawn from at the start of every episode; exactly one of the three ways.

    Attributes:
        low: least value of a uniform draw, in the parameter's unit.
        high: greatest value of a uniform draw.
        scale: the parameter's value times a factor drawn uniformly from [least, greatest].
        choices: one of these values, each as probable as the others.
        per: whether one draw holds for all agents of the role (role), or each draws its own (agent).
    """

    low: Bound | None = None
    high: Bound | None = None
    scale: tuple[float, float] | None = None
    choices: Annotated[tuple[Bound, ...], Field(min_length=1, max_length=1000)] | None = None
    per: Literal["role", "agent"] = "role"

    @model_validator(mode="after")
    def _one_way(self) -> DrawSpec:
        if (self.low is None) != (self.high is None):
            raise PydanticCustomError("draw", "low and high belong together")
        if sum(way is not None for way in (self.low, self.scale, self.choices)) != 1:
            raise PydanticCustomError("draw", "needs low and high, or scale, or choices, and only one of them")
        if self.scale is not None and not 0.0 < self.scale[0] <= self.scale[1]:
            raise PydanticCustomError("draw", "scale: must be [least, greatest], positive and in this order")
        return self


@dataclass(frozen=True)
class Target:
    """A place in the file whose value can be drawn.

    Attributes:
        kind: 'value' (the draw is the parameter), 'factor' (it multiplies what stands there) or 'shift' (it is added).
        unit: SI unit of a value or shift.
        nominal: what the file says; nanoseconds for a duration.
        role: role whose agents it belongs to, None for the world.
        duration: whether it is a duration.
    """

    kind: Literal["value", "factor", "shift"]
    unit: str
    nominal: float
    role: str | None = None
    duration: bool = False


def targets(engagement: Engagement) -> dict[str, Target]:
    """Return everything of an engagement that can be drawn: dotted path -> what it is."""
    found = dict(_of_world(engagement))
    for name in engagement.roles:
        found.update(_of_role(engagement, name))
    return found


def _of_world(engagement: Engagement) -> Iterator[tuple[str, Target]]:
    world: Any = engagement.world
    for key in ("min_start_distance", "min_separation"):
        yield f"world.{key}", Target("value", "m", getattr(world, key))
    if not registry.lookup("pe_sim.worlds", world.backend).movable:
        return
    yield "world.arena", Target("factor", "", 1.0)
    if world.obstacles:
        for place in ("", *(f".{number}" for number in range(len(world.obstacles)))):
            yield f"world.obstacles{place}.shift", Target("shift", "m", 0.0)
            yield f"world.obstacles{place}.size", Target("factor", "", 1.0)


def _of_role(engagement: Engagement, name: str) -> Iterator[tuple[str, Target]]:
    role = engagement.roles[name]
    path = f"roles.{name}"
    for key in getattr(registry.lookup("pe_sim.dynamics", role.dynamics.model), "drawable", ()):
        nominal = getattr(role.dynamics, key)
        unit = unit_of(type(role.dynamics), key)
        # Of these sections only durations are whole numbers: nanoseconds.
        yield f"{path}.dynamics.{key}", Target("value", unit, nominal, name, duration=isinstance(nominal, int))
    for sensor, spec in role.sensors.items():
        for key in SENSOR_DELAYS:
            yield f"{path}.sensors.{sensor}.{key}", Target("value", "s", getattr(spec, key), name, duration=True)
        yield f"{path}.sensors.{sensor}.dropout", Target("value", "", spec.dropout, name)
        if spec.noise:
            yield f"{path}.sensors.{sensor}.noise", Target("factor", "", 1.0, name)
        for field in spec.noise:
            yield f"{path}.sensors.{sensor}.noise.{field}", Target("factor", "", 1.0, name)
    yield f"{path}.action.latency", Target("value", "s", role.action.latency, name, duration=True)


def resolve(engagement: Engagement) -> dict[str, DrawSpec]:
    """Return the section with plain numbers in SI units, after everything that can be drawn was checked.

    Every bound is put into the file in turn, and the file must be valid with it.

    Raises:
        PydanticCustomError: with path, rule, value and the nearest valid path.
    """
    known = targets(engagement)
    out, least, greatest = {}, {}, {}
    for path, spec in engagement.randomise.items():
        if path not in known:
            cure = nearest(path, known)
            raise PydanticCustomError(
                "draw", "cannot be drawn; {nearest}", {"nearest": cure, "at": f"randomise.{path}"}
            )
        target = known[path]
        if spec.per == "agent" and target.role is None:
            _refuse(path, "per", "belongs to no agent: leave per out", spec.per)
        out[path] = resolved = _in_si(engagement, path, target, spec)
        if target.kind == "value":
            low, high = bounds(target, resolved)
            least[path], greatest[path] = (_as_text(target, bound) for bound in (low, high))
    for changes in (least, greatest):
        if len(changes) > 1:
            _with(engagement, changes, "", next(iter(changes)))
    _check_links(engagement, known, out)
    return out


def bounds(target: Target, spec: DrawSpec) -> tuple[float, float]:
    """Return the least and the greatest that a resolved draw can be; nanoseconds for a duration."""
    if spec.scale is not None:
        low, high = (target.nominal * factor for factor in spec.scale)
        return (round(low), round(high)) if target.duration else (low, high)
    values = spec.choices if spec.choices is not None else (spec.low, spec.high)
    numbers = [number_of(target, value) for value in values]
    return min(numbers), max(numbers)


def number_of(target: Target, value: Any) -> float:
    """Return a plain number of a resolved draw as it is kept: nanoseconds for a duration."""
    return to_nanoseconds(exact(value, "s")) if target.duration else float(value)


def _in_si(engagement: Engagement, path: str, target: Target, spec: DrawSpec) -> DrawSpec:
    """Return a draw with plain numbers; refuse bounds that the parameter cannot have."""
    if target.kind == "factor" and spec.scale is None:
        _refuse(path, "", "can only be scaled: give scale: [least, greatest]", None)
    if target.kind == "shift" and spec.scale is not None:
        _refuse(path, "scale", "is a shift: give low and high, or choices", spec.scale)
    if spec.scale is not None:
        if target.kind == "value":
            if target.nominal == 0.0:
                _refuse(path, "scale", "the file says 0, which no factor changes: give low and high", spec.scale)
            for bound in bounds(target, spec):
                _with(engagement, {path: _as_text(target, bound)}, "scale", path)
        return spec
    if spec.choices is not None:
        return spec.model_copy(
            update={"choices": tuple(_read(engagement, path, target, "choices", value) for value in spec.choices)}
        )
    low, high = (_read(engagement, path, target, key, getattr(spec, key)) for key in ("low", "high"))
    if low > high:
        _refuse(path, "low", "must not exceed high", spec.low)
    return spec.model_copy(update={"low": low, "high": high})


def _read(engagement: Engagement, path: str, target: Target, key: str, value: Any) -> float:
    """Return one bound as a number in SI units."""
    if target.kind == "shift":
        try:
            return float(exact(value, target.unit))
        except PydanticCustomError as fault:
            _refuse(path, key, fault.message(), value)
    changed = _with(engagement, {path: value}, key, path)
    for part in path.split("."):
        changed = changed[part] if isinstance(changed, dict) else getattr(changed, part)
    return float(Fraction(changed, NANOSECONDS)) if target.duration else float(changed)


def _as_text(target: Target, bound: float) -> Any:
    return f"{bound} ns" if target.duration else bound


def _with(engagement: Engagement, changes: dict[str, Any], key: str, path: str) -> Any:
    """Return the engagement with other values in it; refuse the draw where it is not valid then."""
    from pe_sim.engagement import override  # it builds on this module

    data = engagement.model_dump(mode="json", exclude={"randomise"})
    try:
        return type(engagement).model_validate(override(data, changes))
    except ValidationError as fault:
        first = fault.errors(include_url=False)[0]
        _refuse(path, key, first["msg"], next(iter(changes.values())) if len(changes) == 1 else None)


def _refuse(path: str, key: str, rule: str, value: Any) -> Any:
    shown = "" if value is None else f" (got {value!r})"
    at = f"randomise.{path}.{key}" if key else f"randomise.{path}"
    raise PydanticCustomError("draw", "{rule}{shown}", {"rule": rule, "shown": shown, "at": at})


def _check_links(engagement: Engagement, known: dict[str, Target], drawn: dict[str, DrawSpec]) -> None:
    """Refuse a link that may be faster than what it hands on."""

    def ends(path: str) -> tuple[float, float]:
        return bounds(known[path], drawn[path]) if path in drawn else (known[path].nominal, known[path].nominal)

    for role, spec in engagement.roles.items():
        for sensor, settings in spec.sensors.items():
            source = getattr(settings, "source", None)
            link = f"roles.{role}.sensors.{sensor}.latency"
            for other in engagement.roles:
                shared = f"roles.{other}.sensors.{source}"
                if source is None or f"{shared}.latency" not in known:
                    continue
                paths = [p for p in (link, f"{shared}.latency", f"{shared}.jitter") if p in drawn]
                if paths and ends(link)[0] < ends(f"{shared}.latency")[1] + ends(f"{shared}.jitter")[1]:
                    _refuse(paths[0], "", f"the link {sensor} could be faster than the readings it hands on", None)
