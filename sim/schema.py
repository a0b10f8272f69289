"""What every part of the engagement file has in common: strict keys, and errors that name path, rule and value."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from pe_sim.errors import EngagementError


def nearest(name: str, valid: Iterable[str]) -> str:
    """Return ``"did you mean 'x'?"`` for the closest valid name, else the list of valid names."""
    names = sorted(valid)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return f"did you mean {close[0]!r}?" if close else f"valid names: {', '.join(names) or 'none'}"


class Strict(BaseModel):
    """A section of the file: unknown keys are refused with the nearest valid one; immutable once read."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True, validate_default=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            for key in data:
                if key not in cls.model_fields:
                    raise PydanticCustomError(
                        "unknown_key",
                        "unknown key {key}; {nearest}",
                        {"key": repr(key), "nearest": nearest(str(key), cls.model_fields), "at": str(key)},
                    )
        return data


def as_engagement_error(fault: ValidationError, root: str) -> EngagementError:
    """Return the first fault of a validation as an error with the path of the key, the rule and the value."""
    errors = fault.errors(include_url=False)
    first = errors[0]
    path = ".".join(str(part) for part in first["loc"])
    value: Any = first.get("input")
    rule = first["msg"].removeprefix("Value error, ")
    if first["type"] == "unknown_key":
        path = f"{path}.{first['ctx']['at']}" if path else str(first["ctx"]["at"])
        value = None
    if first["type"] == "missing":
        value = None
    if isinstance(value, dict) and len(str(value)) > 80:
        value = None
    more = f"{len(errors) - 1} more faults after this one" if len(errors) > 1 else ""
    return EngagementError(f"{root}: {path}" if path else root, rule, value, more)
