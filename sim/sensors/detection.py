"""What a sensor makes of what is in view: misses, false alarms, and detections of which nobody knows whose they are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pe_sim import streams
from pe_sim.arrays import Array
from pe_sim.sensors.ahead import Ahead, put_rows
from pe_sim.sensors.base import DetectionSpec, Sensor, TargetSensorSpec

if TYPE_CHECKING:
    from pe_sim.sensors.scene import Scene

_MISS, _FALSE = 5, 6


class Misses:
    """Which targets in view are detected: an independent draw per target and reading."""

    def __init__(self, xp: Any, spec: DetectionSpec, targets: int) -> None:
        self._xp = xp
        self._targets = targets
        self._range = spec.range
        # 0 ** x is 0 for every range but 0; the logarithm of a number that small says the same.
        self._log = math.log(max(spec.probability, 1e-300))
        self._probability = spec.probability
        self._ahead = Ahead(xp, self._draw, 3)
        self._keys: Array = None

    def reset(self, keys: Array, rows: Array | None) -> None:
        """Take stream keys, int64 (n, R), of the engagements ``rows`` (indices; None for all)."""
        missed = streams.derive(keys, _MISS)
        new = self._xp.stack([streams.derive(missed, j) for j in range(self._targets)])
        self._keys = put_rows(self._keys, new, rows)
        self._ahead.forget()

    def _draw(self, numbers: Array) -> Array:
        return streams.uniform(self._xp, self._keys, numbers)

    def detected(self, scene: Scene, sequence: Array) -> Array:
        """Return which targets would be detected if in view, bool (n, m, B)."""
        xp = self._xp
        draws = xp.permute_dims(self._ahead.of(sequence), (1, 0, 2))
        if self._range is None:
            return draws < self._probability
        square = scene.distance / self._range
        square = square * square
        return draws < xp.exp(self._log * square * square)


class FalseAlarms:
    """Detections of nothing."""

    def __init__(self, sensor: Sensor, spec: TargetSensorSpec) -> None:
        assert spec.false_alarms is not None
        self._xp = sensor.xp
        self._sensor = sensor
        self._slots = spec.false_alarms.slots
        self._probability = spec.false_alarms.probability
        self._draws = len(sensor.quantities) + 1
        self._ahead = Ahead(self._xp, self._draw, 3)
        self._keys: Array = None

    def reset(self, keys: Array, rows: Array | None) -> None:
        """Take stream keys, int64 (n, R), of the engagements ``rows`` (indices; None for all)."""
        false = streams.derive(keys, _FALSE)
        places = range(self._slots * self._draws)
        new = self._xp.stack([streams.derive(false, place) for place in places])
        self._keys = put_rows(self._keys, new, rows)
        self._ahead.forget()

    def _draw(self, numbers: Array) -> Array:
        return streams.uniform(self._xp, self._keys, numbers)

    def raise_them(self, sequence: Array) -> tuple[Array, Array]:
        """Return the values of every slot, float64 (F, n, s, B), and whether it is filled, bool (n, s, B)."""
        xp = self._xp
        draws = self._ahead.of(sequence)
        draws = xp.reshape(draws, (self._slots, self._draws, *draws.shape[1:]))
        draws = xp.permute_dims(draws, (1, 2, 0, 3))
        return self._sensor.false_values(draws[1:]), draws[0] < self._probability


FEW = 6
"""Detections up to which exchanging neighbours is the quickest way to sort."""


def sort_detections(xp: Any, key: Array, values: Array, valid: Array) -> tuple[Array, Array]:
    """Return detections in the order of a key, those that are none last.

    Equal keys are told apart by the values, so that no trace of who was measured is left in the order.

    Args:
        xp: array namespace.
        key: float64 (n, m, B).
        values: float64 (F, n, m, B).
        valid: bool (n, m, B).
    """
    key = xp.where(valid, key, xp.inf)
    if key.shape[1] <= FEW:
        return _by_exchanges(xp, key, values, valid)
    order = _lexicographic(xp, key, values)
    values = xp.stack([xp.take_along_axis(value, order, axis=1) for value in values])
    return values, xp.take_along_axis(valid, order, axis=1)


def _by_exchanges(xp: Any, key: Array, values: Array, valid: Array) -> tuple[Array, Array]:
    """Sort by exchanging neighbours, over and over; key and values travel together as rows of one array."""
    slots = key.shape[1]
    rows = [xp.concat((key[None, :, j], values[:, :, j])) for j in range(slots)]
    count = xp.sum(xp.astype(valid, xp.int64), axis=1)
    for last in range(slots - 1, 0, -1):
        for j in range(last):
            before, after = rows[j], rows[j + 1]
            swap = before[0] > after[0]
            tie = (before[0] == after[0]) & (before[0] < xp.inf)
            if bool(xp.any(tie)):
                swap = swap | (tie & _greater(before, after))
            rows[j], rows[j + 1] = xp.where(swap, after, before), xp.where(swap, before, after)
    out = xp.empty(values.shape, dtype=xp.float64)
    found = xp.empty(valid.shape, dtype=xp.bool)
    for j, row in enumerate(rows):
        out[:, :, j] = row[1:]
        found[:, j] = count > j
    return out, found


def _greater(a: Array, b: Array) -> Array:
    """Return where rows compare greater, the first that differs deciding."""
    greater = a[-1] > b[-1]
    for i in range(a.shape[0] - 2, -1, -1):
        greater = (a[i] > b[i]) | ((a[i] == b[i]) & greater)
    return greater


def _lexicographic(xp: Any, key: Array, values: Array) -> Array:
    """Return the order by key, then by each value in turn: stable sorts from the last to the first."""
    fields = [key, *values]
    order = xp.argsort(fields[-1], axis=1, stable=True)
    for field in reversed(fields[:-1]):
        again = xp.argsort(xp.take_along_axis(field, order, axis=1), axis=1, stable=True)
        order = xp.take_along_axis(order, again, axis=1)
    return order
