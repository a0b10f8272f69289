"""The inbox of a sensor: the newest reading that has arrived, its age, and the readings still under way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pe_sim.arrays import Array
from pe_sim.sensors.channel import Reading
from pe_sim.timing import NEVER


@dataclass
class SensorView:
    """What n agents in B engagements know from one sensor.

    Attributes:
        values: newest reading that has arrived, float32 (D, n, B); 0 before the first and where not valid.
        valid: bool (D, n, B).
        stamp: its measurement instant [ns], int64 (n, B); -1 before the first.
        sequence: its number, int64 (n, B); -1 before the first.
        age: its age [ns], int64 (n, B); -1 before the first.
    """

    values: Array
    valid: Array
    stamp: Array
    sequence: Array
    age: Array


class Inbox:
    """Newest arrived reading of one sensor; a reading older than the newest is never delivered."""

    def __init__(self, xp: Any, width: int, agents: int, batch: int, slots: int) -> None:
        self._xp = xp
        self._shape = (width, agents, batch)
        self._slots = slots
        self.clear(None)

    def clear(self, rows: Array | None) -> None:
        """Forget everything in the given engagements (indices), None for all."""
        xp = self._xp
        width, agents, batch = self._shape
        if rows is None:
            self._values = xp.zeros((width, agents, batch), dtype=xp.float32)
            self._valid = xp.zeros((width, agents, batch), dtype=xp.bool)
            self._stamp = xp.full((agents, batch), -1, dtype=xp.int64)
            self._sequence = xp.full((agents, batch), -1, dtype=xp.int64)
            self._pending: list[Reading] = []
            return
        self._values[:, :, rows] = 0.0
        self._valid[:, :, rows] = False
        self._stamp[:, rows] = -1
        self._sequence[:, rows] = -1
        for reading in self._pending:
            reading.arrival[:, rows] = NEVER

    def put(self, reading: Reading, now: Array) -> Array:
        """Take a reading that has been measured; return where it was accepted at once, bool (n, B).

        Args:
            reading: the reading.
            now: present instant [ns], int64 (B,).
        """
        xp = self._xp
        if reading.taken is not None:
            reading.arrival = xp.where(reading.taken, reading.arrival, NEVER)
        if self._slots == 0:
            return self._accept(reading, now)
        self._pending.append(reading)
        return xp.zeros(self._shape[1:], dtype=xp.bool)

    def deliver(self, now: Array) -> Array | None:
        """Deliver what has arrived by now; return where something newer did, bool (n, B), None for nowhere."""
        if not self._pending:
            return None
        xp = self._xp
        news: Array | None = None
        kept: list[Reading] = []
        for reading in self._pending:
            accepted = self._accept(reading, now)
            news = accepted if news is None else news | accepted
            reading.arrival = xp.where(reading.arrival <= now, NEVER, reading.arrival)
            if bool(xp.any(reading.arrival < NEVER)):
                kept.append(reading)
        self._pending = kept
        return news

    def _accept(self, reading: Reading, now: Array) -> Array:
        xp = self._xp
        newer = (reading.arrival <= now) & (reading.sequence > self._sequence)
        if bool(xp.all(newer)):
            # The common case in training: every agent gets this reading, so nothing needs merging.
            self._values, self._valid = reading.values, reading.valid
            self._stamp = reading.stamp + xp.zeros_like(self._stamp)
            self._sequence = reading.sequence + xp.zeros_like(self._sequence)
            return newer
        self._values = xp.where(newer, reading.values, self._values)
        self._valid = xp.where(newer, reading.valid, self._valid)
        self._stamp = xp.where(newer, reading.stamp, self._stamp)
        self._sequence = xp.where(newer, reading.sequence, self._sequence)
        return newer

    def view(self, now: Array) -> SensorView:
        """Return what is known at an instant [ns], int64 (B,)."""
        age = self._xp.where(self._stamp >= 0, now - self._stamp, -1)
        return SensorView(self._values, self._valid, self._stamp, self._sequence, age)
