"""What every part of the engagement file has in common: strict keys, and errors that name path, rule and value."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from pe_sim.errors import EngagementError


def nearest(name: str, valid: Iterable[str]) -> str:
    """Return ``"did you mean 'x'?"`` for the closest valid name, else the list of valid names."""
    names = sorted(valid)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return f"did you mean {close[0]!r}?" if close else f"valid names: {', '.join(names) or 'none'}"


class Strict(BaseModel):
    """A section of the file: unknown keys are refused with the nearest valid one; immutable once read."""

    # Defaults are not validated: a duration's default is in nanoseconds, a number in the file is in seconds.
    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True, allow_inf_nan=False)

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


Section = TypeVar("Section", bound=BaseModel)

NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*")
"""What can stand in a topic's name."""


def refuse_unfit_name(name: Any, what: str) -> None:
    """Refuse a name that cannot be part of a topic's name."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise PydanticCustomError(
            "name",
            "{what} is part of topic names: letters, digits and single underscores, beginning with a letter",
            {"what": what, "at": str(name)},
        )


@contextmanager
def located(key: str, value: Any) -> Iterator[None]:
    """Put a key before the path of every fault found inside.

    Raises:
        ValidationError: instead of a ValidationError or PydanticCustomError.
    """
    try:
        yield
    except ValidationError as fault:
        details = [
            InitErrorDetails(
                type=PydanticCustomError(line["type"], "{_text}", {**line.get("ctx", {}), "_text": line["msg"]}),
                loc=(key, *line["loc"]),
                input=line["input"],
            )
            for line in fault.errors(include_url=False)
        ]
        raise ValidationError.from_exception_data(fault.title, details) from fault
    except PydanticCustomError as fault:
        detail = InitErrorDetails(type=fault, loc=(key,), input=value)
        raise ValidationError.from_exception_data(key, [detail]) from fault


def as_engagement_error(fault: ValidationError, root: str) -> EngagementError:
    """Return the first fault of a validation as an error with the path of the key, the rule and the value."""
    errors = fault.errors(include_url=False)
    first = errors[0]
    path = ".".join(str(part) for part in first["loc"])
    value: Any = first.get("input")
    rule, cure = _in_plain_words(first)
    at = first.get("ctx", {}).get("at")
    if at is not None:  # the fault is found in the section, but lies in one of its keys
        path = f"{path}.{at}" if path else str(at)
        value = None
    if first["type"] == "missing":
        value = None
    if isinstance(value, dict | list | tuple | BaseModel) and len(str(value)) > 80:
        value = None
    elif isinstance(value, str | int) and len(str(value)) > 200:
        value = f"{str(value)[:40]}..."
    more = len(errors) - 1
    further = f"{more} more fault{'s' if more > 1 else ''} after this one" if more else ""
    return EngagementError(f"{root}: {path}" if path else root, rule, value, "; ".join(filter(None, (cure, further))))


LENGTH = re.compile(r"\w+ should have (at (?:least|most) \d+) items? after validation, not (?:more|\d+)")
"""What pydantic says of lists that are too short or too long."""

PLAIN = (
    ("Input should be a valid tuple", "must be a list"),
    ("Input should be a valid list", "must be a list"),
    ("Input should be a valid dictionary", "must be a mapping of keys"),
    ("Input should be", "must be"),
    ("String should", "must"),
    ("Field required", "is required"),
    ("Value error, ", ""),
)
"""Words of the validation library -> what they mean to whoever writes a file."""


def _in_plain_words(fault: Any) -> tuple[str, str]:
    """Return the rule of a fault, and the nearest valid word where one of a few was expected."""
    rule, place = str(fault["msg"]), fault["loc"][-1] if fault["loc"] else ""
    if fault["type"] == "missing" and isinstance(place, int):
        return f"is required: a list of {place + 1} or more", ""
    if fault["type"] == "literal_error" and isinstance(fault["input"], str):
        words = re.findall(r"'([^']+)'", str(fault["ctx"]["expected"]))
        near = nearest(fault["input"], words)
        return rule.replace("Input should be", "must be"), near if near.startswith("did you mean") else ""
    for said, meant in PLAIN:
        rule = rule.replace(said, meant)
    return LENGTH.sub(r"needs \1", rule).partition(" or instance of ")[0], ""


def validated(section: type[Section], data: Any, name: str) -> Section:
    """Return a file, or a section of one, from plain data; ``name`` is what errors call it.

    Raises:
        EngagementError: with the path of the key, the rule, the value and the nearest valid name.
    """
    if not isinstance(data, dict):
        raise EngagementError(name, "must be a mapping of keys", data)
    try:
        return section.model_validate(data)
    except ValidationError as fault:
        raise as_engagement_error(fault, name) from fault
