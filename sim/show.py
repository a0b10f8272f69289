"""An engagement as people read it: everything filled in, each quantity with its unit, as YAML that reads back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml
from pydantic import BaseModel

from pe_sim.engagement import Engagement
from pe_sim.randomise import targets
from pe_sim.units import unit_of

__all__ = ["as_yaml", "unit_of"]

WIDTH = 110
"""Lines up to this length stay in one piece."""


def as_yaml(engagement: Engagement) -> str:
    """Return the whole engagement as YAML with units as comments; reading it gives an equal engagement."""
    plain = engagement.resolved()
    draws = plain.pop("randomise", {})
    return "\n".join([*_section(engagement, plain, ""), *_draws(engagement, draws)]) + "\n"


def _draws(engagement: Engagement, draws: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of what is drawn, the unit of what it is drawn for beside it."""
    if draws:
        yield "randomise:"
        units = {path: target.unit for path, target in targets(engagement).items()}
    for path, draw in draws.items():
        unit = "" if "scale" in draw or units[path] == "dimensionless" else units[path]
        yield f"  {path}: {_scalar(draw)}" + (f"  # {unit}" if unit else "")


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
