"""Integer time: due times in closed form, on ticks, over horizons where floats would drift."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pe_sim.timing import NANOSECONDS, NEVER, Schedule, ceil_tick, seconds, to_nanoseconds

RATES = st.fractions(min_value=Fraction(1, 100), max_value=Fraction(2000), max_denominator=10_000)
PHASES = st.integers(min_value=0, max_value=3 * NANOSECONDS)


def test_due_times_of_a_whole_period_are_its_multiples() -> None:
    schedule = Schedule(Fraction(20), phase=7_000_000)
    assert [schedule.due(k) for k in range(4)] == [7_000_000, 57_000_000, 107_000_000, 157_000_000]


def test_a_broadcast_rate_is_exact_after_a_day() -> None:
    schedule = Schedule(Fraction(30000, 1001))
    day = 86400
    frames = 30000 * day // 1001
    assert schedule.due(30000) == 1001 * NANOSECONDS
    assert schedule.count(day * NANOSECONDS) == frames + 1
    # What a float period accumulates to is off by more than that many nanoseconds.
    assert schedule.due(frames) == frames * 1001 * NANOSECONDS // 30000


@given(RATES, PHASES, st.integers(min_value=0, max_value=10**7))
def test_count_inverts_due(rate: Fraction, phase: int, number: int) -> None:
    schedule = Schedule(rate, phase)
    instant = schedule.due(number)
    assert schedule.count(instant) == number + 1
    assert schedule.count(instant - 1) == number


@given(RATES, PHASES, st.integers(min_value=0, max_value=10**7))
def test_due_is_within_a_nanosecond_of_the_real_number(rate: Fraction, phase: int, number: int) -> None:
    exact = phase + Fraction(number) * NANOSECONDS / rate
    assert 0 <= exact - Schedule(rate, phase).due(number) < 1


def test_nothing_is_due_before_the_phase() -> None:
    schedule = Schedule(Fraction(10), phase=50)
    assert schedule.count(49) == 0
    assert schedule.count(50) == 1


@given(
    st.fractions(min_value=Fraction(1, 10), max_value=Fraction(300), max_denominator=2000),
    st.integers(min_value=0, max_value=200_000_000),
    st.integers(min_value=1_000_000, max_value=20_000_000),
    st.integers(min_value=1, max_value=300),
)
def test_the_table_of_ticks_says_what_the_definition_says(rate: Fraction, phase: int, tick: int, horizon: int) -> None:
    schedule = Schedule(rate, phase)
    table = schedule.on_ticks(tick, horizon)
    newest = [schedule.count(i * tick) - 1 for i in range(horizon + 1)]
    assert table.newest.tolist() == newest
    assert table.due.tolist() == [now > before for before, now in zip([-1, *newest], newest, strict=False)]


@given(st.integers(min_value=0, max_value=2000), st.sampled_from([Fraction(20), Fraction(30000, 1001), Fraction(7)]))
def test_the_tick_of_a_number_is_the_first_at_or_after_it(number: int, rate: Fraction) -> None:
    tick = 5_000_000
    table = Schedule(rate, 3_000_000).on_ticks(tick, 10)
    at = table.tick_of(number) * tick
    assert at - tick < table.schedule.due(number) <= at


def test_a_table_with_numbers_beyond_64_bits_is_still_exact() -> None:
    rate = Fraction(10_000_000_019, 200_000_033)  # coprime and large: products of a long horizon overflow int64
    schedule = Schedule(rate)
    table = schedule.on_ticks(10_000_000_000_000, 40)
    assert table.newest.tolist() == [schedule.count(i * 10_000_000_000_000) - 1 for i in range(41)]


def test_the_longest_table_never_skips_a_due_time() -> None:
    table = Schedule(Fraction(30000, 1001)).on_ticks(10_000_000, 1_000_000)
    assert set(np.diff(table.newest).tolist()) == {0, 1}
    assert int(table.newest[-1]) == 30000 * 10_000 // 1001


@pytest.mark.parametrize(
    ("rate", "phase", "expected"),
    [(Fraction(20), 0, 5), (Fraction(20), 10_000_000, 5), (Fraction(20), 5_000_000, None), (Fraction(30), 0, None)],
)
def test_period_in_ticks_only_where_it_is_whole(rate: Fraction, phase: int, expected: int | None) -> None:
    assert Schedule(rate, phase).on_ticks(10_000_000, 10).period_in_ticks == expected


@given(st.integers(min_value=-(10**12), max_value=10**12), st.integers(min_value=1, max_value=10**9))
def test_ceil_tick(instant: int, tick: int) -> None:
    number = ceil_tick(instant, tick)
    assert (number - 1) * tick < instant <= number * tick


def test_seconds_and_nanoseconds() -> None:
    assert to_nanoseconds(Fraction(1, 3)) == 333_333_333
    assert to_nanoseconds(Fraction(2, 3)) == 666_666_667
    assert seconds(1_500_000_000) == 1.5
    assert int(NEVER) + 10**18 < 2**63  # room to add a validity without overflow
