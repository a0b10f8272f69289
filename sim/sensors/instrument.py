"""An instrument: one sensor of some agents, from the true state to erroneous values, without their timing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from pe_sim.arrays import Array
from pe_sim.sensors.base import Sensor, TargetSensorSpec
from pe_sim.sensors.detection import FalseAlarms, Misses, sort_detections
from pe_sim.sensors.errors import Errors
from pe_sim.sensors.scene import Scene
from pe_sim.sensors.selection import target_indices
from pe_sim.sensors.setting import SensorSetting, index_of
from pe_sim.state import State
from pe_sim.worlds.moved import DrawnObstacles, drawn_obstacles
from pe_sim.worlds.obstacles import occluded


class Instrument(ABC):
    """Values of one sensor of n agents.

    Attributes:
        width: number of values D of a reading.
        frame: frame of the values.
        others: per agent, indices of the other agents whose motion a reading is made from.
    """

    width: int
    frame: str
    others: list[list[int]]

    @abstractmethod
    def fields(self, place: int) -> list[tuple[str, str]]:
        """Return (name, unit) of every value for the agent in a place."""

    @abstractmethod
    def reset(self, roots: Array, rows: Array | None) -> None:
        """Begin episodes with the root keys (int64, (R,)) in the engagements ``rows`` (indices; None for all)."""

    @abstractmethod
    def read(
        self, state: State, alive: Array, stamp: Array, sequence: Array, taken: Array | None
    ) -> tuple[Array, Array]:
        """Return the values, float32 (D, n, B), 0 where not valid, and the mask of validity, bool (D, n, B).

        Neither may be changed by the caller. Arguments as for :meth:`pe_sim.sensors.channel.SensorChannel.sample`.
        """


class DirectInstrument(Instrument):
    """A sensor that measures by itself: geometry, misses, false alarms, errors, order; in this order."""

    def __init__(self, sensor: Sensor, setting: SensorSetting) -> None:
        spec = setting.spec
        self._sensor = sensor
        self._setting = setting
        self._xp: Any = setting.xp
        self.frame = sensor.frame
        self.others = []
        self._names: list[list[str]] = []
        self._hides_identity = False
        self._misses: Misses | None = None
        self._false_alarms: FalseAlarms | None = None
        self._solids: Any = ()
        self._moved: DrawnObstacles | None = None
        self._slots: int | None = self._select(spec) if isinstance(spec, TargetSensorSpec) else None
        self._cast()
        quantities = sensor.quantities
        self._errors = Errors(self._xp, quantities, spec, self._slots, setting)
        self.width = len(quantities) * (1 if self._slots is None else self._slots)
        self._all_valid: Array = None

    def _select(self, spec: TargetSensorSpec) -> int:
        """Choose the targets and what can happen to their readings; return the number of slots."""
        setting = self._setting
        engagement = setting.engagement
        self.others = [
            target_indices(engagement, setting.role, number, spec.targets, f"{setting.path}.targets")
            for number in setting.numbers
        ]
        count = len(self.others[0])
        slots = count + (spec.false_alarms.slots if spec.false_alarms else 0)
        if spec.order == "name":
            self._names = [[engagement.agents[i] for i in chosen] for chosen in self.others]
        else:
            team = engagement.roles[setting.role].team
            hostile = all(engagement.teams[i] != team for chosen in self.others for i in chosen)
            word = "detection" if hostile else "contact"
            self._names = [[f"{word}_{i}" for i in range(slots)]] * len(self.others)
        self._hides_identity = spec.order != "name" and slots > 1
        if spec.detection.probability < 1.0:
            self._misses = Misses(self._xp, spec.detection, count)
        if spec.false_alarms is not None:
            self._false_alarms = FalseAlarms(self._sensor, spec)
        self._solids = setting.solids if spec.occlusion else ()
        return slots

    def _cast(self) -> None:
        """Find everybody whose motion is needed, and where they stand among those."""
        own = self._setting.agents
        everybody = sorted({*own, *(i for chosen in self.others for i in chosen)})
        span = list(range(everybody[0], everybody[-1] + 1))
        # A few agents too many cost less than copying those needed.
        everybody = span if len(span) <= len(everybody) + 2 else everybody
        self._everybody = index_of(everybody)
        self._own = index_of([everybody.index(i) for i in own])
        self._targets: Any = None
        if self.others:
            rows = [[everybody.index(i) for i in chosen] for chosen in self.others]
            first = index_of(rows[0])
            alike = isinstance(first, slice) and all(row == rows[0] for row in rows)
            self._targets = first if alike else self._xp.asarray(rows)
            # In the sensor node only those needed are known to be alive.
            self._measured: Any = index_of(self.others[0]) if alike else self._xp.asarray(self.others)

    def fields(self, place: int) -> list[tuple[str, str]]:
        """Return the quantities, of each target in turn where there are targets."""
        quantities = self._sensor.quantities
        if self._slots is None:
            return [(quantity.name, quantity.unit) for quantity in quantities]
        return [(f"{name}.{quantity.name}", quantity.unit) for name in self._names[place] for quantity in quantities]

    def reset(self, roots: Array, rows: Array | None) -> None:
        """Take the keys of new episodes and forget what the kind remembers."""
        xp = self._xp
        if rows is None:
            self._all_valid = xp.ones((self.width, len(self._setting.numbers), roots.shape[0]), dtype=xp.bool)
        self._sensor.reset(rows, self._all_valid.shape[2])
        if rows is None and self._solids:
            self._moved = drawn_obstacles(self._setting.engagement, self._solids, roots.shape[0], xp)
        if self._moved is not None:
            self._moved.redraw(roots, rows)
        errors = self._errors.drawn
        parts = [part for part in (self._misses, self._false_alarms) if part is not None]
        keys = self._setting.keys(roots) if parts or errors is not None else None
        if errors is not None:
            errors.reset(keys, rows, roots)
        for part in parts:
            part.reset(keys, rows)

    def read(
        self, state: State, alive: Array, stamp: Array, sequence: Array, taken: Array | None
    ) -> tuple[Array, Array]:
        """Measure, and make of it what the sensor makes of it."""
        scene = Scene(self._xp, state.block[:, self._everybody], self._own, self._targets, stamp, taken)
        values, valid = self._sensor.measure(scene)
        if self._slots is not None:
            valid = self._seen(scene, valid, alive, sequence)
        if self._false_alarms is not None:
            values, valid = self._with_false(values, valid, sequence)
        values = self._errors.apply(values, sequence)
        if self._hides_identity:
            valid = self._full(valid, values)
            values, valid = sort_detections(self._xp, self._sensor.sort_key(values), values, valid)
        return self._flat(values, valid)

    def _seen(self, scene: Scene, valid: Array | None, alive: Array, sequence: Array) -> Array | None:
        """Return which targets are in play, in view, in sight and detected; None for all."""
        xp = self._xp
        there = alive[self._measured]
        if not bool(xp.all(there)):
            there = there[None] if isinstance(self._measured, slice) else there
            valid = there if valid is None else valid & there
        if self._solids:
            solids = self._solids if self._moved is None else self._moved.all()
            hidden: Array = occluded(xp, solids, scene.own.position, scene.targets.position)
            valid = ~hidden if valid is None else valid & ~hidden
        if self._misses is not None:
            detected = self._misses.detected(scene, sequence)
            valid = detected if valid is None else valid & detected
        return valid

    def _full(self, valid: Array | None, values: Array) -> Array:
        """Return the mask in full, bool (n, m, B)."""
        xp, shape = self._xp, values.shape[1:]
        if valid is None:
            return xp.ones(shape, dtype=xp.bool)
        return valid & xp.ones(shape, dtype=xp.bool) if valid.shape != shape else valid

    def _with_false(self, values: Array, valid: Array | None, sequence: Array) -> tuple[Array, Array]:
        xp = self._xp
        assert self._false_alarms is not None
        false, filled = self._false_alarms.raise_them(sequence)
        return xp.concat([values, false], axis=2), xp.concat([self._full(valid, values), filled], axis=1)

    def _flat(self, values: Array, valid: Array | None) -> tuple[Array, Array]:
        """Return values and mask target by target, float32 and bool (D, n, B); the values 0 where not valid."""
        xp, slots = self._xp, self._slots
        fields, agents, batch = values.shape[0], values.shape[1], values.shape[-1]
        whole = valid is None or bool(xp.all(valid))
        if not whole:
            values = xp.where(valid, values, 0.0)
        if slots is None:
            mask = self._all_valid if whole else valid & self._all_valid
            return xp.astype(values, xp.float32), mask
        flat = xp.empty((slots, fields, agents, batch), dtype=xp.float32)
        flat[...] = xp.permute_dims(values, (2, 0, 1, 3))
        flat = xp.reshape(flat, (self.width, agents, batch))
        if whole:
            return flat, self._all_valid
        mask = xp.empty((slots, fields, agents, batch), dtype=xp.bool)
        mask[...] = xp.permute_dims(valid, (1, 0, 2))[:, None]
        return flat, xp.reshape(mask, (self.width, agents, batch))
