"""The fleet: every aircraft of some engagements of a batch, between arrays of commands and arrays of states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pe_sim.state import COMPONENTS
from pe_sim.worlds.jsbsim.flight import Flight, FlightSpec, Surroundings

ACTION_VALUES = 4
"""Most values that an action has here."""
START_VALUES = 5
"""x, y, z [m; world], yaw [rad], true airspeed [m/s]."""

Floats: TypeAlias = NDArray[np.float64]


@dataclass
class FleetArrays:
    """What a world and its fleets share, in process memory or in memory shared with workers.

    Attributes:
        state: canonical state, float64 (13, N, B).
        failure: :class:`~pe_sim.worlds.jsbsim.aircraft.Failure` of each agent, int8 (N, B).
        action: action values in effect, float64 (4, N, B).
        mode: how to carry them out, int8 (N, B).
        active: who moves, bool (N, B).
        start: start of each agent, float64 (5, N, B).
        seed: seed of each agent's turbulence, int64 (N, B).
        restart: which engagements to reset, bool (B,).
    """

    state: Floats
    failure: NDArray[np.int8]
    action: Floats
    mode: NDArray[np.int8]
    active: NDArray[np.bool_]
    start: Floats
    seed: NDArray[np.int64]
    restart: NDArray[np.bool_]

    @classmethod
    def layout(cls, agents: int, batch: int) -> dict[str, tuple[tuple[int, ...], Any]]:
        """Return name -> (shape, type) of each array."""
        return {
            "state": ((COMPONENTS, agents, batch), np.float64),
            "failure": ((agents, batch), np.int8),
            "action": ((ACTION_VALUES, agents, batch), np.float64),
            "mode": ((agents, batch), np.int8),
            "active": ((agents, batch), np.bool_),
            "start": ((START_VALUES, agents, batch), np.float64),
            "seed": ((agents, batch), np.int64),
            "restart": ((batch,), np.bool_),
        }

    @classmethod
    def make(cls, agents: int, batch: int, allocate: Callable[[tuple[int, ...], Any], Any] = np.zeros) -> FleetArrays:
        """Return zeroed arrays, from ``allocate`` (shape, type) called in the order of :meth:`layout`."""
        return cls(**{name: allocate(*what) for name, what in cls.layout(agents, batch).items()})

    def rows(self, first: int, last: int) -> FleetArrays:
        """Return views of engagements ``first`` to ``last`` - 1."""
        return FleetArrays(**{name: array[..., first:last] for name, array in vars(self).items()})


class Fleet:
    """Flies all aircraft of the engagements that its arrays hold.

    Args:
        specs: one per agent.
        around: what all flights share.
        arrays: commands in, states out.
    """

    def __init__(self, specs: tuple[FlightSpec, ...], around: Surroundings, arrays: FleetArrays) -> None:
        self._arrays = arrays
        batch = arrays.restart.shape[0]
        self.flights = [[Flight(spec, around) for spec in specs] for _ in range(batch)]
        self._states: list[list[tuple[float, ...]]] = [[(0.0,) * COMPONENTS for _ in specs] for _ in range(batch)]

    def restart(self) -> None:
        """Begin the flights of the engagements marked to restart.

        Raises:
            EngagementError: if a start is impossible.
        """
        arrays = self._arrays
        for row in np.flatnonzero(arrays.restart).tolist():
            for agent, flight in enumerate(self.flights[row]):
                x, y, z, yaw, airspeed = arrays.start[:, agent, row].tolist()
                state = flight.start((x, y, z), yaw, airspeed, int(arrays.seed[agent, row]))
                self._states[row][agent] = state
                arrays.state[:, agent, row] = state
                arrays.failure[agent, row] = flight.failure

    def step(self) -> None:
        """Fly one tick with everybody who is active."""
        arrays = self._arrays
        actions = arrays.action.transpose(2, 1, 0).tolist()
        modes, active = arrays.mode.T.tolist(), arrays.active.T.tolist()
        for flights, states, action, mode, moves in zip(
            self.flights, self._states, actions, modes, active, strict=True
        ):
            for agent, flight in enumerate(flights):
                if moves[agent]:
                    states[agent] = flight.step(action[agent], mode[agent])
        arrays.state[...] = np.asarray(self._states).transpose(2, 1, 0)
        arrays.failure[...] = np.asarray([[flight.failure for flight in flights] for flights in self.flights]).T
