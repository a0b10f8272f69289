"""From what the sensors of a simulation have delivered to flat observation vectors, own last actions included."""

from __future__ import annotations

from typing import Any

from pe_sim.arrays import Array
from pe_sim.envs.flatten import FlatLayout, Flattener
from pe_sim.sensors.inbox import SensorView
from pe_sim.simulation import Simulation


class Observer:
    """Builds the observation vectors of some roles of a simulation.

    Args:
        simulation: a simulation with sensing.
        roles: which roles; default all.
    """

    def __init__(self, simulation: Simulation, roles: tuple[str, ...] | None = None) -> None:
        self._simulation = simulation
        self._xp = simulation.xp
        self._flat: dict[str, Flattener] = {}
        self._history: dict[str, list[Array]] = {}
        for name in simulation.engagement.roles if roles is None else roles:
            role = simulation.roles[name]
            assert role.perception is not None, "this simulation was made without sensing"
            observe = simulation.engagement.roles[name].observe
            self._flat[name] = Flattener(observe, tuple(role.perception.layouts()), role.action)
            shape = (role.action.size, role.last - role.first, simulation.batch)
            self._history[name] = [self._xp.zeros(shape, dtype=self._xp.float32) for _ in range(observe.actions)]

    def layout(self, role: str) -> FlatLayout:
        """Return names and units of a role's vector."""
        return self._flat[role].layout

    def size(self, role: str) -> int:
        """Return the length of a role's vector."""
        return self._flat[role].size

    def reset(self, rows: Array | None) -> None:
        """Forget the last actions in the given engagements (indices; None for all)."""
        where: Any = slice(None) if rows is None else rows
        for past in self._history.values():
            for values in past:
                values[:, :, where] = 0.0

    def note(self, role: str, values: Array, due: Array) -> None:
        """Remember actions decided: float32 (A, n, B), where ``due``, bool (n, B)."""
        past = self._history[role]
        if past:
            shifted = [values, *past[:-1]]
            self._history[role] = [self._xp.where(due, new, old) for new, old in zip(shifted, past, strict=True)]

    def observe(self, role: str, out: Array | None = None) -> Array:
        """Return a role's vectors at the present instant, float32 (K, n, B), written into ``out`` where given."""
        runtime = self._simulation.roles[role]
        perception = runtime.perception
        assert perception is not None
        if out is None:
            shape = (self.size(role), runtime.last - runtime.first, self._simulation.batch)
            out = self._xp.empty(shape, dtype=self._xp.float32)
        return self._flat[role].flatten(perception.view(self._simulation.now), self._history[role], out)

    def observe_rows(self, role: str, rows: Array) -> Array:
        """Return a role's vectors in some engagements (indices (R,)), float32 (K, n, R)."""
        runtime = self._simulation.roles[role]
        assert runtime.perception is not None
        views = {
            name: SensorView(*(part[..., rows] for part in (v.values, v.valid, v.stamp, v.sequence, v.age)))
            for name, v in runtime.perception.view(self._simulation.now).items()
        }
        out = self._xp.empty((self.size(role), runtime.last - runtime.first, rows.shape[0]), dtype=self._xp.float32)
        return self._flat[role].flatten(views, [past[..., rows] for past in self._history[role]], out)
