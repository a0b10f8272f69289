"""An engagement as people read it: everything filled in, each quantity with its unit, as YAML that reads back."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import yaml
from pydantic import BaseModel

from pe_sim.engagement import Engagement

WIDTH = 110
"""Lines up to this length stay in one piece."""


def as_yaml(engagement: Engagement) -> str:
    """Return the whole engagement as YAML with units as comments; reading it gives an equal engagement."""
    return "\n".join(_section(engagement, engagement.resolved(), "")) + "\n"


def unit_of(model: type[BaseModel], key: str) -> str:
    """Return the unit in which a key's numbers are, '' for none."""
    return _find_unit(_properties(model).get(key, {}))


@cache
def _properties(model: type[BaseModel]) -> dict[str, Any]:
    properties: dict[str, Any] = model.model_json_schema()["properties"]
    return properties


def _find_unit(schema: Any) -> str:
    if isinstance(schema, list):
        return next((unit for part in schema if (unit := _find_unit(part))), "")
    if not isinstance(schema, dict):
        return ""
    if isinstance(schema.get("unit"), str):
        return str(schema["unit"])
    return _find_unit([schema.get(key) for key in ("anyOf", "items", "prefixItems", "additionalProperties")])


def _section(model: BaseModel, data: dict[str, Any], indent: str) -> Iterator[str]:
    """Yield the lines of a section, its own unit beside each key."""
    for key, plain in data.items():
        value = getattr(model, key, None)
        unit = unit_of(type(model), key)
        yield from _entry(f"{indent}{key}:", value, plain, indent, "" if unit == "dimensionless" else unit)


def _entry(head: str, value: Any, plain: Any, indent: str, unit: str) -> Iterator[str]:
    inner = indent + "  "
    if isinstance(value, BaseModel) and plain:
        yield head
        yield from _section(value, plain, inner)
    elif isinstance(value, dict) and plain and any(isinstance(part, BaseModel) for part in value.values()):
        yield head
        for key, part in value.items():
            yield from _entry(f"{inner}{key}:", part, plain[key], inner, unit)
    elif isinstance(value, list | tuple) and plain and all(isinstance(part, BaseModel) for part in value):
        yield head
        for part, its in zip(value, plain, strict=True):
            lines = list(_section(part, its, inner + "  "))
            yield f"{inner}- {lines[0].strip()}"
            yield from lines[1:]
    else:
        yield f"{head} {_scalar(plain)}" + (f"  # {unit}" if unit and _bare(plain) else "")


def _bare(plain: Any) -> bool:
    """Return whether a value is a number without a unit, or numbers."""
    if isinstance(plain, list | tuple):
        return any(_bare(part) for part in plain)
    return isinstance(plain, int | float) and not isinstance(plain, bool)


def _scalar(plain: Any) -> str:
    text = yaml.safe_dump(plain, default_flow_style=True, width=10_000, allow_unicode=True, sort_keys=False)
    return text.removesuffix("\n").removesuffix("...").strip()
