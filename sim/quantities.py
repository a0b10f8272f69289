"""Quantities of the engagement file: a number in SI units, or text with a unit ('50 ms', '20 Hz', '120 deg').

Durations become integer nanoseconds and rates exact fractions, so that no period is ever a rounded float.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cache
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema
from pydantic_core import PydanticCustomError

from pe_sim.timing import NANOSECONDS, to_nanoseconds

_NUMBER = r"[-+]?(\d{1,40}(\.\d{0,40})?|\.\d{1,40})([eE][-+]?\d{1,3})?"
_TEXT = re.compile(_NUMBER + r"( ?[A-Za-z°µμ%][A-Za-z°µμ%0-9 /*^().²³-]{0,40})?")
"""A number and perhaps a unit: what the unit library would also take (powers of numbers, sums) is never meant."""

_RATIO = re.compile(r"\d{1,18}/0*[1-9]\d{0,17}( [A-Za-z]{1,20})?")
"""A rate as a ratio of integers: '30000/1001 Hz'."""

MAX_POWER = 40
"""Quantities lie between 10^-40 and 10^40 in size, or are zero."""


MAX_DURATION = 10_000_000
"""Longest duration in a file [s], some 115 days."""


@cache
def _registry() -> Any:
    """Return the unit registry, exact in decimals; loaded only when a file uses units (a third of a second)."""
    import pint

    return pint.UnitRegistry(non_int_type=Decimal, cache_folder=None)


def _parse_text(text: str, unit: str) -> Decimal:
    """Return the magnitude of a text quantity in ``unit``."""
    import pint

    if not _TEXT.fullmatch(text):
        raise PydanticCustomError("unit", "not a quantity in {unit}: expected a number and a unit", {"unit": unit})
    try:
        return Decimal(text)
    except InvalidOperation:
        pass
    ureg = _registry()
    try:
        quantity = ureg.Quantity(text)
    except Exception as fault:  # pint raises its own, tokenize's and arithmetic errors for what it cannot read
        raise PydanticCustomError("unit", "not a quantity in {unit}", {"unit": unit}) from fault
    try:
        return Decimal(quantity.to(unit).magnitude)
    except pint.DimensionalityError as fault:
        found = f"{quantity.units:~}" or "no unit"
        raise PydanticCustomError(
            "unit", "wrong unit: expected a quantity in {unit}, got {found}", {"unit": unit, "found": found}
        ) from fault


def exact(value: Any, unit: str) -> Fraction:
    """Return a number or a text quantity as an exact fraction in ``unit``.

    Raises:
        PydanticCustomError: if it is no finite number, or its unit does not fit.
    """
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise PydanticCustomError("unit", "expected a number or a quantity in {unit}", {"unit": unit})
    if isinstance(value, str) and _RATIO.fullmatch(value):
        number, _, rest = value.partition(" ")
        if rest.strip() in ("", unit):
            return Fraction(number)
    decimal = _parse_text(value.strip(), unit) if isinstance(value, str) else Decimal(repr(value))
    if not decimal.is_finite():
        raise PydanticCustomError("unit", "must be finite")
    if decimal and abs(decimal.adjusted()) > MAX_POWER:
        raise PydanticCustomError("unit", "is out of any sensible range")
    return Fraction(decimal)


def _number(unit: str) -> BeforeValidator:
    def parse(value: Any) -> float:
        # A plain float is taken as it is: going through text would be exact too, but slower.
        if isinstance(value, float) and abs(value) < 1e30 and (abs(value) > 1e-30 or value == 0.0):
            return value
        return float(exact(value, unit))

    return BeforeValidator(parse)


def _schema(unit: str, **more: float) -> WithJsonSchema:
    said = {"type": ["number", "string"], "description": f"[{unit}], or text with a unit", "unit": unit}
    return WithJsonSchema({**said, **more})


def quantity(unit: str) -> Any:
    """Return the pydantic type of a float in ``unit``."""
    return Annotated[float, _number(unit), _schema(unit), Field(json_schema_extra={"unit": unit})]


def show_time(value: int) -> str:
    """Return a duration [ns] as the file would say it."""
    return f"{Decimal(value) / NANOSECONDS:f} s"


def show_rate(value: Fraction) -> str:
    """Return a rate [Hz] as the file would say it."""
    return f"{value} Hz"


def _parse_time(value: Any) -> int:
    duration = exact(value, "s")
    if abs(duration) > MAX_DURATION:
        raise PydanticCustomError("duration", "must not be longer than {most} s", {"most": MAX_DURATION})
    return to_nanoseconds(duration)


def _parse_rate(value: Any) -> Fraction:
    rate = exact(value, "Hz")
    if rate <= 0:
        raise PydanticCustomError("rate", "a rate must be greater than 0 Hz")
    if not 1 / Fraction(MAX_DURATION) <= rate <= NANOSECONDS:
        raise PydanticCustomError("rate", "a rate must be between 0.0000001 Hz and 1,000,000,000 Hz")
    # Exact decimals with very long denominators buy nothing below a nanosecond in a day.
    return rate.limit_denominator(10_000_000)


Length = quantity("m")
Speed = quantity("m/s")
Acceleration = quantity("m/s^2")
Angle = quantity("rad")
AngularRate = quantity("rad/s")
Mass = quantity("kg")
Ratio = quantity("dimensionless")

Duration = Annotated[int, BeforeValidator(_parse_time), PlainSerializer(show_time), _schema("s")]
"""A duration: seconds or text in the file, integer nanoseconds in memory."""

Rate = Annotated[Fraction, BeforeValidator(_parse_rate), PlainSerializer(show_rate), _schema("Hz", exclusiveMinimum=0)]
"""A rate: Hertz or text in the file, an exact fraction in memory."""

Magnitude = Annotated[float | str, Field(union_mode="left_to_right")]
"""A quantity whose unit depends on what it is of: a number in it, or text with a unit; see :func:`exact`."""

Probability = Annotated[
    float,
    _number("dimensionless"),
    WithJsonSchema({"type": ["number", "string"], "minimum": 0, "maximum": 1}),
    Field(ge=0.0, le=1.0),
]
Positive = Field(gt=0.0)
NotNegative = Field(ge=0.0)
