"""The inbox of a sensor: the newest reading that has arrived, its age, and the readings still under way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pe_sim.arrays import Array, choose
from pe_sim.sensors.channel import Reading
from pe_sim.timing import NEVER


@dataclass
class SensorView:
    """What n agents in B engagements know from one sensor. To be read only: the arrays are shared.

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
    """Newest arrived reading of one sensor; a reading older than the newest is never delivered.

    Arrays are replaced, never written to: a view stays what it was when it was taken.

    Args:
        xp: array namespace.
        width: number of values of a reading.
        agents: number of agents n.
        batch: number of engagements B.
        slots: how many readings can be under way at once; 0 where each arrives at the instant it is taken.

    Attributes:
        width: number of values of a reading.
    """

    def __init__(self, xp: Any, width: int, agents: int, batch: int, slots: int) -> None:
        self.width = width
        self._xp = xp
        self._shape = (agents, batch)
        self._slots = slots
        self._still = xp.zeros(self._shape, dtype=xp.int64)
        self.clear(None)

    def clear(self, rows: Array | None) -> None:
        """Forget everything in the given engagements (indices), None for all."""
        xp = self._xp
        if rows is None:
            self._values = xp.zeros((self.width, *self._shape), dtype=xp.float32)
            self._valid = xp.zeros((self.width, *self._shape), dtype=xp.bool)
            self._stamp = self._still - 1
            self._sequence = self._still - 1
            self._pending: list[tuple[Reading, int]] = []
            self._earliest = int(NEVER)
            self._all_heard = False
            self._forgotten: list[Array] = []
            return
        # Most often a new reading for everybody comes before anybody looks: the values are cleared when they must be.
        self._forgotten.append(rows)
        self._stamp, self._sequence = self._stamp + 0, self._sequence + 0
        self._stamp[:, rows] = -1
        self._sequence[:, rows] = -1
        self._all_heard = False
        for reading, _ in self._pending:
            reading.arrival[:, rows] = NEVER
        self._keep([(reading, _scalar(xp, reading.arrival, least=True)) for reading, _ in self._pending])

    def _forget(self) -> None:
        """Clear the values of the engagements that were forgotten."""
        if not self._forgotten:
            return
        self._values, self._valid = (self._xp.asarray(x, copy=True) for x in (self._values, self._valid))
        for rows in self._forgotten:
            self._values[:, :, rows] = 0.0
            self._valid[:, :, rows] = False
        self._forgotten = []

    def _keep(self, pending: list[tuple[Reading, int]]) -> None:
        """Keep the readings that will still arrive for anybody, each with its first arrival."""
        self._pending = [entry for entry in pending if entry[1] < NEVER]
        self._earliest = min((first for _, first in self._pending), default=int(NEVER))

    def put(self, reading: Reading, now: Array) -> Array:
        """Take a reading that has been measured; return where it was accepted at once, bool (n, B).

        Args:
            reading: the reading; its ``arrival`` is replaced by NEVER where it was not taken.
            now: present instant [ns], int64 (B,).
        """
        xp = self._xp
        if reading.taken is not None:
            reading.arrival = xp.where(reading.taken, reading.arrival, NEVER)
        if self._slots == 0:
            return self._accept(reading, now)
        first = _scalar(xp, reading.arrival, least=True)
        if first < NEVER:
            self._pending.append((reading, first))
            self._earliest = min(self._earliest, first)
        return xp.zeros(self._shape, dtype=xp.bool)

    def deliver(self, now: Array) -> Array | None:
        """Deliver what has arrived by now; return where something newer did, bool (n, B), None for nowhere."""
        xp = self._xp
        if not self._pending or _scalar(xp, now, least=False) < self._earliest:
            return None
        news: Array | None = None
        kept: list[tuple[Reading, int]] = []
        for reading, first in self._pending:
            come = reading.arrival <= now
            if not bool(xp.any(come)):
                kept.append((reading, first))
                continue
            accepted = self._take(reading, come & (reading.sequence > self._sequence))
            news = accepted if news is None else news | accepted
            reading.arrival = xp.where(come, NEVER, reading.arrival)
            kept.append((reading, _scalar(xp, reading.arrival, least=True)))
        self._keep(kept)
        return news

    def _accept(self, reading: Reading, now: Array) -> Array:
        return self._take(reading, (reading.arrival <= now) & (reading.sequence > self._sequence))

    def _take(self, reading: Reading, newer: Array) -> Array:
        """Make a reading the newest where told, bool (n, B)."""
        xp = self._xp
        if bool(xp.all(newer)):
            # The common case: every agent gets this reading, so nothing needs merging.
            self._values, self._valid = reading.values, reading.valid
            self._stamp = self._still + reading.stamp
            self._sequence = self._still + reading.sequence
            self._all_heard = True
            self._forgotten = []
            return newer
        self._forget()
        self._values = choose(xp, newer, reading.values, self._values)
        if reading.valid is not self._valid:  # most often both are the one array that says that everything is
            self._valid = xp.where(newer, reading.valid, self._valid)
        self._stamp = xp.where(newer, reading.stamp, self._stamp)
        self._sequence = xp.where(newer, reading.sequence, self._sequence)
        return newer

    def view(self, now: Array) -> SensorView:
        """Return what is known at an instant [ns], int64 (B,)."""
        self._forget()
        age = now - self._stamp if self._all_heard else self._xp.where(self._stamp >= 0, now - self._stamp, -1)
        return SensorView(self._values, self._valid, self._stamp, self._sequence, age)


def _scalar(xp: Any, x: Array, *, least: bool) -> int:
    """Return the least or greatest element."""
    if x.shape[-1] == 1 and (x.ndim == 1 or x.shape[0] == 1):
        return int(x[0] if x.ndim == 1 else x[0, 0])
    return int(xp.min(x) if least else xp.max(x))
