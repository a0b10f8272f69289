"""Trajectory hash: one number that two runs share if and only if every true state and applied action is the same."""

from __future__ import annotations

import hashlib

import numpy as np

from pe_sim.simulation import Simulation
from pe_sim.worlds.base import Command


class TrajectoryHash:
    """SHA-256 over the states and applied actions of one engagement of a batch.

    For each tick, in order: the state before it (position, attitude, velocity, angular velocity of all agents as
    little-endian float64), then, role by role, the action in effect (float32 values and int8 mode).

    Args:
        row: which engagement of the batch.
    """

    def __init__(self, row: int = 0) -> None:
        self._row = row
        self._sha = hashlib.sha256()
        self._last: dict[str, tuple[Command, bytes]] = {}

    def state(self, simulation: Simulation) -> None:
        """Add the present state."""
        block = np.ascontiguousarray(np.asarray(simulation.state.block[:, :, self._row]), dtype="<f8")
        self._sha.update(block.tobytes())

    def commands(self, commands: dict[str, Command]) -> None:
        """Add the actions in effect."""
        for role, command in commands.items():
            last = self._last.get(role)
            if last is None or last[0] is not command:  # one that stays in effect is the same object
                last = self._last[role] = command, self._bytes_of(command)
            self._sha.update(last[1])

    def _bytes_of(self, command: Command) -> bytes:
        values = np.asarray(command.values[:, :, self._row])
        agents = values.shape[1]
        mode = np.zeros(agents) if command.mode is None else np.asarray(command.mode[:, self._row])
        parts = (np.ascontiguousarray(values, dtype="<f4"), np.ascontiguousarray(mode, dtype="i1"))
        return b"".join(part.tobytes() for part in parts)

    def hexdigest(self) -> str:
        """Return the hash so far."""
        return self._sha.hexdigest()
