"""YAML as people mean it: version 1.2 scalars, no key twice, no endless references.

PyYAML reads YAML 1.1, where ``no`` is false, ``010`` is eight, ``1:30`` is ninety and ``1e6`` is text. In a file of
quantities each of these is a trap, so plain scalars follow the core schema of YAML 1.2.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from pe_sim.errors import EngagementError

MAX_NODES = 200_000
"""Most values a file may hold, references counted each time they are used."""


class _Reader(yaml.SafeLoader):
    """Safe loader with the scalars of YAML 1.2."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - PyYAML's own interface

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Return a mapping; refuse a key that stands there twice."""
        seen = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                if key.value in seen:
                    rule = f"the key {key.value!r} is there twice"
                    raise yaml.constructor.ConstructorError(None, None, rule, key.start_mark)
                seen.add(key.value)
        return super().construct_mapping(node, deep)


for _tag, _pattern, _first in (
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("int", r"^[-+]?[0-9]+$", "-+0123456789"),
    ("float", r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$", "-+0123456789."),
    ("float", r"^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$", "-+."),
    ("null", r"^(?:~|null|Null|NULL|)$", "~nN\0"),
    ("merge", r"^<<$", "<"),
):
    for _letter in _first:
        _Reader.yaml_implicit_resolvers.setdefault("" if _letter == "\0" else _letter, []).append(
            (f"tag:yaml.org,2002:{_tag}", re.compile(_pattern))
        )


def _construct_int(_loader: _Reader, node: yaml.ScalarNode) -> int:
    if len(node.value) > 100:
        raise yaml.constructor.ConstructorError(None, None, "a number of more than 100 digits", node.start_mark)
    return int(node.value)


def _construct_float(_loader: _Reader, node: yaml.ScalarNode) -> float:
    return float(str(node.value).lower().replace(".inf", "inf").replace(".nan", "nan"))


_Reader.add_constructor("tag:yaml.org,2002:int", _construct_int)
_Reader.add_constructor("tag:yaml.org,2002:float", _construct_float)


def read_yaml(path: Path) -> Any:
    """Return the plain data of a YAML file.

    Raises:
        EngagementError: if the file cannot be read or is no valid YAML.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as fault:
        reason = fault.strerror if isinstance(fault, OSError) else "is not UTF-8 text"
        raise EngagementError(str(path), f"cannot be read: {reason}", cure="give the path of a YAML file") from fault
    return parse_yaml(text, str(path))


def parse_yaml(text: str, name: str) -> Any:
    """Return the plain data of YAML text; ``name`` stands in errors.

    Raises:
        EngagementError: if it is no valid YAML.
    """
    try:
        data = yaml.load(text, Loader=_Reader)  # noqa: S506 - a subclass of SafeLoader
        _refuse_endless(data)
    except yaml.MarkedYAMLError as fault:
        mark = fault.problem_mark
        where = f" in line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
        raise EngagementError(name, f"is no valid YAML: {fault.problem or fault.context}{where}") from fault
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as fault:
        # Unhashable keys, depth beyond the stack and the like: PyYAML lets Python's own errors through.
        raise EngagementError(name, f"is no valid YAML: {' '.join(str(fault).split())}") from fault
    return data


def _refuse_endless(data: Any) -> None:
    """Refuse data that references blow up, or that holds itself."""
    waiting, count = [data], 0
    while waiting:
        value = waiting.pop()
        count += 1
        if count > MAX_NODES:
            raise ValueError(f"it holds more than {MAX_NODES:,} values, or itself")
        if isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
