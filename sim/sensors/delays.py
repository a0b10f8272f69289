"""When the readings of a sensor are taken, when they arrive, and which get lost: everything but their values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pe_sim import streams
from pe_sim.arrays import Array
from pe_sim.draws import Parameter
from pe_sim.sensors.ahead import Ahead, put_rows
from pe_sim.sensors.base import SensorSpec
from pe_sim.sensors.setting import SensorSetting
from pe_sim.timing import NEVER, Schedule, TickSchedule

if TYPE_CHECKING:
    from pe_sim.engagement import Engagement

_DROP, _DELAY = 1, 2
"""Streams of a sensor's key; 3 to 8 belong to :mod:`pe_sim.sensors.errors`, ``detection`` and ``shared_tracks``."""


class SensorTiming:
    """Schedule, delay and loss of the readings of one sensor of some agents.

    Args:
        engagement: the engagement.
        role: role of the agents.
        sensor: the sensor's name in that role.
        agents: indices of the agents, n of them.
        xp: array namespace.

    Attributes:
        spec: the sensor's section of the file.
        schedule: when readings are taken.
    """

    def __init__(self, engagement: Engagement, role: str, sensor: str, agents: list[int], xp: Any) -> None:
        self.spec: SensorSpec = engagement.roles[role].sensors[sensor]
        self.schedule: TickSchedule = Schedule(self.spec.rate, self.spec.phase).on_ticks(
            engagement.world.tick, engagement.horizon
        )
        first = engagement.role_ranges[role][0]
        self._setting = SensorSetting(engagement, role, sensor, tuple(i - first for i in agents), xp)
        self._xp = xp
        said = {"latency": self.spec.latency, "jitter": self.spec.jitter, "dropout": self.spec.dropout}
        self._latency, self._jitter, self._dropout = self._drawn = [
            Parameter(engagement, f"{self._setting.path}.{key}", value, xp, self._setting.names)
            for key, value in said.items()
        ]
        self._random = self._jitter.high > 0 or self._dropout.high > 0.0
        self._delays = Ahead(xp, self._draw, 2)
        self._drop_keys: Array = None
        self._delay_keys: Array = None
        self._none: Array = None

    def reset(self, roots: Array, rows: Array | None) -> None:
        """Take the root keys of new episodes, int64 (R,), for the engagements ``rows`` (indices; None for all)."""
        if rows is None:
            self._none = self._xp.zeros((len(self._setting.numbers), roots.shape[0]), dtype=self._xp.int64)
        for parameter in self._drawn:
            parameter.redraw(roots, rows)
        if self._random:
            keys = self._setting.keys(roots)
            self._drop_keys = put_rows(self._drop_keys, streams.derive(keys, _DROP), rows)
            self._delay_keys = put_rows(self._delay_keys, streams.derive(keys, _DELAY), rows)
            self._delays.forget()

    def arrival(self, stamp: Array, sequence: Array) -> Array:
        """Return when readings arrive [ns], int64 (n, B); NEVER where they are dropped.

        Args:
            stamp: instant of the measurement [ns], int64 (B,).
            sequence: number of the reading, int64 (B,).
        """
        if not self._random:
            return self._none + (stamp + self._latency.value if self._latency.high else stamp)
        xp = self._xp
        delay = self._delays.of(sequence)
        return xp.where(delay < NEVER, stamp + delay, NEVER) if self._dropout.high > 0.0 else stamp + delay

    def lost(self, sequence: Array) -> Array | None:
        """Return which readings are dropped, bool (n, B); None for none."""
        return self._delays.of(sequence) >= NEVER if self._dropout.high > 0.0 else None

    def _draw(self, sequence: Array) -> Array:
        """Return the delays [ns], int64 (..., n, B); NEVER where dropped."""
        xp = self._xp
        delay = self._none + self._latency.value
        if self._jitter.high:
            fraction = streams.uniform(xp, self._delay_keys, sequence)
            delay = delay + xp.astype(fraction * (self._jitter.value + 1.0), xp.int64)
        if self._dropout.high > 0.0:
            lost = streams.uniform(xp, self._drop_keys, sequence) < self._dropout.value
            delay = xp.where(lost, NEVER, delay)
        return delay

    @property
    def immediate(self) -> bool:
        """Whether every reading arrives at the instant it is taken."""
        return self.longest_delay == 0

    @property
    def longest_delay(self) -> int:
        """Greatest delay of a reading that arrives [ns]."""
        return int(self._latency.high + self._jitter.high)
