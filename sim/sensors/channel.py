"""A sensor channel: one sensor of the agents of one role, from the true state to readings with stamps.

The same class serves the env (all agents of the role, a batch of engagements) and the sensor node (one agent of one
engagement): what a reading is depends on the state, the keys and its sequence number alone.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pe_sim import registry, streams
from pe_sim.arrays import Array
from pe_sim.sensors.base import Sensor, SensorSpec, TargetSensorSpec, target_indices
from pe_sim.state import State
from pe_sim.timing import NEVER, Schedule, TickSchedule

if TYPE_CHECKING:
    from pe_sim.engagement import Engagement

_DROP, _DELAY = 1, 2


@dataclass
class Reading:
    """Readings of one sensor taken at one instant by n agents in B engagements.

    Attributes:
        values: float32 (D, n, B), 0 where not valid.
        valid: bool (D, n, B).
        stamp: instant of the measurement [ns], int64 (B,).
        sequence: number within the episode, int64 (B,).
        arrival: instant at which it reaches the agent [ns], int64 (n, B); NEVER where dropped.
        taken: engagements in which a reading was due, bool (B,); None for all.
    """

    values: Array
    valid: Array
    stamp: Array
    sequence: Array
    arrival: Array
    taken: Array | None


@dataclass(frozen=True)
class SensorLayout:
    """What a reading's values mean, for one agent.

    Attributes:
        sensor: name in the engagement file.
        kind: sensor kind.
        frame: 'body' or 'world'.
        fields: one name per value; '<target>.<quantity>' for a sensor of targets.
        units: one per value.
    """

    sensor: str
    kind: str
    frame: str
    fields: tuple[str, ...]
    units: tuple[str, ...]


def layout_sha256(layouts: list[SensorLayout]) -> str:
    """Return the hash of the canonical description of an agent's sensors."""
    return hashlib.sha256(json.dumps([vars(layout) for layout in layouts], sort_keys=True).encode()).hexdigest()


class SensorTiming:
    """When the readings of a channel are taken, arrive, or get lost: everything but their values."""

    def __init__(self, engagement: Engagement, role: str, sensor: str, agents: list[int], xp: Any) -> None:
        self.spec: SensorSpec = engagement.roles[role].sensors[sensor]
        self.schedule: TickSchedule = Schedule(self.spec.rate, self.spec.phase).on_ticks(
            engagement.world.tick, engagement.horizon
        )
        self._names = [streams.name_key(f"{engagement.agents[i]}/{sensor}") for i in agents]
        self._xp = xp
        self.keys: Array = None

    def reset(self, roots: Array, rows: Array | None) -> None:
        """Take the root keys of new episodes, int64 (R,), for the engagements ``rows`` (indices; None for all)."""
        keys = self._xp.stack([streams.derive(roots, name) for name in self._names])
        if rows is None:
            self.keys = keys
        else:
            self.keys[:, rows] = keys

    def arrival(self, stamp: Array, sequence: Array) -> Array:
        """Return when readings arrive [ns], int64 (n, B); NEVER where they are dropped."""
        xp, spec = self._xp, self.spec
        arrival = stamp + spec.latency + xp.zeros_like(self.keys)
        if spec.jitter:
            fraction = streams.uniform(xp, streams.derive(self.keys, _DELAY), sequence)
            arrival = arrival + xp.astype(fraction * float(spec.jitter + 1), xp.int64)
        if spec.dropout > 0.0:
            lost = streams.uniform(xp, streams.derive(self.keys, _DROP), sequence) < spec.dropout
            arrival = xp.where(lost, NEVER, arrival)
        return arrival

    @property
    def immediate(self) -> bool:
        """Whether every reading arrives at the instant it is taken."""
        return self.spec.latency == 0 and self.spec.jitter == 0

    @property
    def longest_delay(self) -> int:
        """Greatest delay of a reading that arrives [ns]."""
        return self.spec.latency + self.spec.jitter


class SensorChannel:
    """One sensor of some agents of one role.

    Args:
        engagement: the engagement.
        role: role of the agents.
        sensor: the sensor's name in that role.
        xp: array namespace.
        numbers: which agents of the role (0-based), default all.
    """

    _BIAS, _WHITE = 3, 4

    def __init__(
        self, engagement: Engagement, role: str, sensor: str, xp: Any, numbers: list[int] | None = None
    ) -> None:
        spec = engagement.roles[role].sensors[sensor]
        first, last = engagement.role_ranges[role]
        self._numbers = list(range(last - first)) if numbers is None else numbers
        self.agents = [first + number for number in self._numbers]
        self.name = sensor
        self.spec = spec
        self.timing = SensorTiming(engagement, role, sensor, self.agents, xp)
        self._engagement = engagement
        self._role = role
        self._xp = xp
        self._sensor: Sensor = registry.lookup("pe_sim.sensors", spec.kind)(spec, xp)
        self._noise = [
            spec.noise[quantity.name].in_unit(quantity.unit) if quantity.name in spec.noise else (0.0, 0.0, 0.0)
            for quantity in self._sensor.quantities
        ]
        self._select_targets()

    def _select_targets(self) -> None:
        self.targets: list[list[int]] = []
        if isinstance(self.spec, TargetSensorSpec):
            self.targets = [
                target_indices(self._engagement, self._role, number, self.spec.targets, self.name)
                for number in self._numbers
            ]
        rows = self.targets
        consecutive = rows and rows[0] == list(range(rows[0][0], rows[0][0] + len(rows[0])))
        self._shared = (rows[0][0], rows[0][-1] + 1) if consecutive and all(r == rows[0] for r in rows) else None
        self._index = self._xp.asarray(rows) if rows and self._shared is None else None

    @property
    def width(self) -> int:
        """Number of values of a reading."""
        return len(self._sensor.quantities) * (len(self.targets[0]) if self.targets else 1)

    def layout(self, number: int = 0) -> SensorLayout:
        """Return what the values mean for the agent in place ``number`` of this channel's agents."""
        quantities = self._sensor.quantities
        if self.targets:
            names = [self._engagement.agents[i] for i in self.targets[number]]
            fields = tuple(f"{target}.{quantity.name}" for target in names for quantity in quantities)
            units = tuple(quantity.unit for _ in names for quantity in quantities)
        else:
            fields = tuple(quantity.name for quantity in quantities)
            units = tuple(quantity.unit for quantity in quantities)
        return SensorLayout(self.name, self.spec.kind, self._sensor.frame, fields, units)

    def reset(self, roots: Array, rows: Array | None) -> None:
        """Begin new episodes with the root keys (int64, (R,)) in the engagements ``rows`` (indices; None for all)."""
        self.timing.reset(roots, rows)

    def sample(self, state: State, alive: Array, stamp: Array, sequence: Array, taken: Array | None) -> Reading:
        """Take readings of the present state.

        Args:
            state: state of all agents.
            alive: agents in play, bool (N, B): others are not seen.
            stamp: present instant [ns], int64 (B,).
            sequence: number of the reading due now, int64 (B,).
            taken: engagements in which one is due, or None for all.
        """
        values, valid = self._measure(state, alive)
        values, valid = self._flatten(self._corrupt(values, sequence), valid)
        arrival = self.timing.arrival(stamp, sequence)
        return Reading(values, valid, stamp, sequence, arrival, taken)

    def _measure(self, state: State, alive: Array) -> tuple[list[Array], Array | None]:
        first, last = self.agents[0], self.agents[-1] + 1
        own = state.agents(first, last)
        if not self.targets:
            return self._sensor.measure(own, own)
        if self._shared is not None:
            low, high = self._shared
            targets = state.agents(low, high)
            targets.block = targets.block[:, None]
            present = alive[low:high][None]
        else:
            targets = state.gather(self._index)
            present = alive[self._index]
        values, valid = self._sensor.measure(own.over_targets(), targets)
        return values, present if valid is None else valid & present

    def _corrupt(self, values: list[Array], sequence: Array) -> list[Array]:
        """Add bias and white noise, then quantise, field by field."""
        xp = self._xp
        if all(noise == (0.0, 0.0, 0.0) for noise in self._noise):
            return values
        out: list[Array] = []
        keys = self.timing.keys
        for field, (value, (white, bias, step)) in enumerate(zip(values, self._noise, strict=True)):
            shape = value.shape
            if white > 0.0:
                value = value + white * self._draw(streams.derive(keys, self._WHITE), sequence, field, shape)
            if bias > 0.0:
                value = value + bias * self._draw(streams.derive(keys, self._BIAS), 0, field, shape)
            if self._sensor.quantities[field].angle and (white > 0.0 or bias > 0.0):
                turn = 2.0 * xp.pi
                value = value - turn * xp.floor((value + xp.pi) / turn)
            if step > 0.0:
                value = xp.round(value / step) * step
            out.append(value)
        return out

    def _draw(self, keys: Array, number: Array | int, field: int, shape: tuple[int, ...]) -> Array:
        """Return standard normal draws (n, B) or (n, m, B), independent per target."""
        xp = self._xp
        fields = len(self._sensor.quantities)
        if not self.targets:
            return streams.normal_pair(xp, keys, number, field)[0]
        targets = shape[1]
        return xp.stack([streams.normal_pair(xp, keys, number, j * fields + field)[0] for j in range(targets)], axis=1)

    def _flatten(self, values: list[Array], valid: Array | None) -> tuple[Array, Array]:
        """Return values as float32 (D, n, B) with 0 where invalid, and the mask of the same shape."""
        xp = self._xp
        batch = self.timing.keys.shape[-1]
        agents = len(self.agents)
        shape = (agents, len(self.targets[0]), batch) if self.targets else (agents, batch)
        out = xp.zeros((self.width, agents, batch), dtype=xp.float32)
        mask = xp.ones((self.width, agents, batch), dtype=xp.bool)
        fields = len(values)
        ok = None if valid is None else xp.broadcast_to(valid, shape)
        for field, value in enumerate(values):
            kept = value if ok is None else xp.where(ok, value, 0.0)
            if not self.targets:
                out[field] = kept
                if ok is not None:
                    mask[field] = ok
                continue
            for j in range(shape[1]):
                out[j * fields + field] = kept[:, j]
                if ok is not None:
                    mask[j * fields + field] = ok[:, j]
        return out, mask

    @cached_property
    def pending_slots(self) -> int:
        """How many readings can be under way at once."""
        if self.timing.immediate:
            return 0
        return self.timing.longest_delay // self.timing.schedule.schedule.period + 2
