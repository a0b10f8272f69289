"""Time: integer nanoseconds of engagement time, due times in closed form, ticks of a world.

Nothing here accumulates a floating-point period: the k-th due time is ``phase + floor(k / rate)``, computed
with exact integers. A world advances in ticks; what is due between two ticks happens at the later one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

NANOSECONDS = 1_000_000_000
"""Nanoseconds in a second."""

NEVER = np.int64(2**62)
"""An instant later than any engagement [ns]."""


def seconds(nanoseconds: int) -> float:
    """Return integer nanoseconds as floating-point seconds, for display and for physics within one tick."""
    return nanoseconds / NANOSECONDS


def to_nanoseconds(value: Fraction) -> int:
    """Return a duration [s] as integer nanoseconds, rounded to nearest."""
    return round(value * NANOSECONDS)


def ceil_tick(instant: int, tick: int) -> int:
    """Return the number of the first tick at or after an instant [ns]; ``tick`` is the tick's length [ns]."""
    return -(-instant // tick)


@dataclass(frozen=True)
class Schedule:
    """A periodic train of due times.

    Attributes:
        rate: due times per second [Hz], exact.
        phase: due time of number 0 [ns].
    """

    rate: Fraction
    phase: int = 0

    def due(self, number: int) -> int:
        """Return the due time of a number [ns]: ``phase + floor(number / rate)``."""
        return self.phase + number * NANOSECONDS * self.rate.denominator // self.rate.numerator

    def count(self, instant: int) -> int:
        """Return how many due times lie at or before an instant [ns]."""
        elapsed = instant - self.phase
        if elapsed < 0:
            return 0
        return ((elapsed + 1) * self.rate.numerator - 1) // (NANOSECONDS * self.rate.denominator) + 1

    @property
    def period(self) -> int:
        """Nominal period [ns], rounded."""
        return to_nanoseconds(1 / self.rate)

    def on_ticks(self, tick: int, horizon: int) -> TickSchedule:
        """Return this schedule as ticks of length ``tick`` [ns] up to and including tick ``horizon``."""
        return TickSchedule(self, tick, horizon)


@dataclass(frozen=True)
class TickSchedule:
    """A schedule on the ticks of a world: what is due at instant t happens at the first tick at or after t.

    Attributes:
        schedule: the exact schedule.
        tick: length of a tick [ns].
        horizon: last tick that is asked for.
    """

    schedule: Schedule
    tick: int
    horizon: int
    _tables: tuple[Any, Any] | None = field(default=None, init=False, repr=False, compare=False)

    @cached_property
    def newest(self) -> NDArray[np.int64]:
        """Number of the newest due time at or before each tick, -1 before the first; shape (horizon + 1,)."""
        total = self.schedule.count(self.horizon * self.tick)
        starts = _due_times(self.schedule, total) + (self.tick - 1)
        ticks = np.maximum(starts // self.tick, 0)
        return np.searchsorted(ticks, np.arange(self.horizon + 1), side="right").astype(np.int64) - 1

    @cached_property
    def due(self) -> NDArray[np.bool_]:
        """Whether something is due at each tick; shape (horizon + 1,)."""
        return np.diff(self.newest, prepend=np.int64(-1)) > 0

    @cached_property
    def every_tick(self) -> bool:
        """Whether number k is due at tick k, for every k."""
        return self.period_in_ticks == 1 and self.schedule.phase == 0

    def tables(self, xp: Any) -> tuple[Any, Any]:
        """Return :attr:`due` and :attr:`newest` as arrays of a namespace, made once."""
        tables = self._tables
        if tables is None:
            tables = (xp.asarray(self.due), xp.asarray(self.newest))
            object.__setattr__(self, "_tables", tables)
        return tables

    def tick_of(self, number: int) -> int:
        """Return the tick at which a number is due."""
        return max(0, ceil_tick(self.schedule.due(number), self.tick))

    @property
    def period_in_ticks(self) -> int | None:
        """Period in whole ticks where period and phase are whole ticks, else None."""
        period = Fraction(NANOSECONDS) / self.schedule.rate / self.tick
        whole = period.denominator == 1 and self.schedule.phase % self.tick == 0
        return int(period) if whole else None


def _due_times(schedule: Schedule, total: int) -> NDArray[np.int64]:
    """Return the due times of numbers 0 to ``total`` - 1 [ns], exact."""
    period = NANOSECONDS * schedule.rate.denominator
    whole, rest = divmod(period, schedule.rate.numerator)
    if total * max(whole, rest, schedule.rate.numerator) + schedule.phase >= 2**62:  # would not fit 64 bits
        return np.asarray([schedule.due(k) for k in range(total)], dtype=np.int64)
    numbers = np.arange(total, dtype=np.int64)
    return schedule.phase + numbers * whole + numbers * rest // schedule.rate.numerator
