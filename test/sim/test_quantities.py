"""Quantities with units: exact, finite, and refused with the rule where they make no sense."""

from __future__ import annotations

import contextlib
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pe_sim.errors import EngagementError
from pe_sim.quantities import Angle, Duration, Length, Probability, Rate, Speed
from pe_sim.schema import Strict, as_engagement_error


class Spec(Strict):
    """One of each."""

    length: Length = 1.0
    speed: Speed = 1.0
    angle: Angle = 0.0
    duration: Duration = 1_500_000_000
    rate: Rate = Fraction(10)
    probability: Probability = 0.0


def read(**values: Any) -> Spec:
    try:
        return Spec.model_validate(values)
    except ValidationError as fault:
        raise as_engagement_error(fault, "file") from fault


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("length", 3, 3.0),
        ("length", "3", 3.0),
        ("length", "1.5 km", 1500.0),
        ("length", "2cm", 0.02),
        ("length", "1e-3 m", 0.001),
        ("speed", "36 km/h", 10.0),
        ("speed", "10 m/s", 10.0),
        ("speed", -4, -4.0),
        ("angle", "180 deg", 3.141592653589793),
        ("angle", "-90 deg", -1.5707963267948966),
        ("duration", "50 ms", 50_000_000),
        ("duration", "1 us", 1000),
        ("duration", 0.1, 100_000_000),
        ("duration", "2 min", 120_000_000_000),
        ("duration", 3, 3_000_000_000),
        ("duration", "8.333333333 ms", 8_333_333),
        ("rate", "20 Hz", Fraction(20)),
        ("rate", 12.5, Fraction(25, 2)),
        ("rate", "30000/1001 Hz", Fraction(30000, 1001)),
        ("rate", "30000/1001", Fraction(30000, 1001)),
        ("rate", "0.05 kHz", Fraction(50)),
        ("rate", 0.1, Fraction(1, 10)),
        ("probability", 1, 1.0),
        ("probability", "10 %", 0.1),
    ],
)
def test_what_a_quantity_may_look_like(key: str, text: Any, value: Any) -> None:
    assert getattr(read(**{key: text}), key) == value
    assert type(getattr(read(**{key: text}), key)) is type(value)


@pytest.mark.parametrize(
    ("key", "text", "rule"),
    [
        ("length", "3 s", "wrong unit: expected a quantity in m, got s"),
        ("duration", "3 m", "wrong unit"),
        ("speed", "3 m", "wrong unit"),
        ("length", "three", "not a quantity"),
        ("length", "", "not a quantity"),
        ("length", True, "expected a number"),
        ("length", None, "expected a number"),
        ("length", [1], "expected a number"),
        ("length", float("nan"), "must be finite"),
        ("length", float("inf"), "must be finite"),
        ("length", "nan", "not a quantity"),
        ("length", 10**400, "out of any sensible range"),
        ("length", "1e999 m", "out of any sensible range"),
        ("length", "1e999999999", "out of any sensible range"),
        ("length", "9**9**9 m", "not a quantity"),
        ("rate", 0, "greater than 0"),
        ("rate", -5, "greater than 0"),
        ("rate", "1/0 Hz", "not a quantity"),
        ("rate", 1e-9, "must be between"),
        ("rate", "1e12 Hz", "must be between"),
        ("rate", "20 ms", "wrong unit"),
        ("duration", 1e300, "out of any sensible range"),
        ("duration", "200 days", "must not be longer"),
        ("probability", 1.5, "less than or equal to 1"),
        ("probability", -0.1, "greater than or equal to 0"),
        ("length", "1 furlong_of_nonsense", "not a quantity"),
    ],
)
def test_what_it_may_not(key: str, text: Any, rule: str) -> None:
    with pytest.raises(EngagementError) as caught:
        read(**{key: text})
    assert caught.value.name == f"file: {key}"
    assert rule in caught.value.rule


@given(st.text(max_size=30), st.sampled_from(["length", "duration", "rate"]))
def test_any_text_is_a_quantity_or_a_clear_refusal(text: str, key: str) -> None:
    with contextlib.suppress(EngagementError):
        read(**{key: text})


@given(
    st.integers(min_value=0, max_value=10**15),
    st.fractions(min_value=Fraction(1, 1000), max_value=10**6, max_denominator=10**6),
)
def test_what_is_written_reads_back_the_same(duration: int, rate: Fraction) -> None:
    spec = Spec(duration=Fraction(duration, 10**9), rate=rate)
    assert Spec.model_validate(spec.model_dump(mode="json")) == spec


def test_defaults_are_what_they_say() -> None:
    assert Spec().duration == 1_500_000_000
    assert Spec().model_dump(mode="json")["duration"] == "1.5 s"
