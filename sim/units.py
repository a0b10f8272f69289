"""Units of the keys of the engagement file, as its schema states them."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import BaseModel


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
