"""Sensors on their own: an engagement around some sensors, states drawn or set by hand, readings taken."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pe_sim import streams
from pe_sim.arrays import namespace
from pe_sim.engagement import Engagement, parse
from pe_sim.sensors.channel import Reading, SensorChannel
from pe_sim.state import COMPONENTS, State

XP = namespace()
PERIOD = 20_000_000
"""Time between readings [ns]: sensors here run at 50 Hz."""

Floats = NDArray[np.float64]


def file(
    *, pursuers: int = 2, evaders: int = 2, dimensions: int = 3, obstacles: list[Any] | None = None,
    evader_sensors: dict[str, Any] | None = None, **sensors: dict[str, Any],
) -> Engagement:
    """Pursuers with the given sensors (50 Hz unless they say otherwise) against evaders."""

    def role(team: str, count: int, own: dict[str, Any]) -> dict[str, Any]:
        return {
            "team": team, "count": count, "dynamics": {"model": "single_integrator", "max_speed": 20},
            "sensors": {name: {"rate": 50, **sensor} for name, sensor in own.items()},
            "policy": {"use": "guidance/hold_still", "rate": 50},
        }

    return parse({
        "engagement": "scene",
        "world": {
            "backend": "kinematic", "dimensions": dimensions, "tick": "20 ms",
            "arena": {"low": [-1000, -1000, -1000], "high": [1000, 1000, 1000]}, "obstacles": obstacles or [],
        },
        "rules": {"time_limit": "60 s"},
        "roles": {
            "pursuer": role("pursuers", pursuers, sensors), "evader": role("evaders", evaders, evader_sensors or {}),
        },
    })


def random_state(agents: int, batch: int, seed: int = 0, *, level: bool = False, size: float = 30.0) -> State:
    """Agents anywhere, in any attitude (or level), moving and turning anyhow."""
    draw = np.random.default_rng(seed)
    block = draw.normal(size=(COMPONENTS, agents, batch))
    block[0:3] *= size
    block[7:10] *= 5.0
    if level:
        block[3:5] = 0.0
    block[3:7] /= np.sqrt((block[3:7] ** 2).sum(axis=0))
    return State(block)


def place(agents: list[list[float]], **more: list[list[float]]) -> State:
    """Agents at given points, facing east and at rest unless told; ``yaw`` [rad], ``velocity`` [body], ``omega``."""
    block = np.zeros((COMPONENTS, len(agents), 1))
    block[0:3, :, 0] = np.asarray(agents, dtype=float).T
    yaw = np.asarray(more.get("yaw", [0.0] * len(agents)), dtype=float)
    block[5, :, 0], block[6, :, 0] = np.sin(yaw / 2), np.cos(yaw / 2)
    for name, first in (("velocity", 7), ("omega", 10)):
        if name in more:
            block[first : first + 3, :, 0] = np.asarray(more[name], dtype=float).T
    return State(block)


def matrix(quaternion: Floats) -> Floats:
    """Rotation matrix of a quaternion (x, y, z, w), body to world."""
    x, y, z, w = quaternion
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])


def roots(batch: int, seed: int = 5) -> Any:
    """Root keys of a batch: row b is episode b."""
    return streams.episode_keys(np.full(batch, seed), np.arange(batch))


class Station:
    """A channel ready to take readings of states one period apart."""

    def __init__(
        self, engagement: Engagement, sensor: str, batch: int = 1, *, role: str = "pursuer",
        numbers: list[int] | None = None, keys: Any = None,
    ) -> None:
        self.engagement = engagement
        self.channel = SensorChannel(engagement, role, sensor, XP, numbers)
        self.batch = batch
        self.channel.reset(roots(batch) if keys is None else keys, None)
        self.fields = self.channel.layout().fields

    def take(self, state: State, number: int = 0, alive: Any = None, taken: Any = None) -> Reading:
        """Reading ``number`` of a state."""
        if alive is None:
            alive = np.ones((len(self.engagement.agents), self.batch), dtype=bool)
        stamp, sequence = np.full(self.batch, number * PERIOD), np.full(self.batch, number)
        return self.channel.sample(state, alive, stamp, sequence, taken)

    def values(self, state: State, number: int = 0, agent: int = 0, row: int = 0) -> dict[str, float]:
        """One agent's reading by field."""
        reading = self.take(state, number)
        return dict(zip(self.fields, reading.values[:, agent, row].tolist(), strict=True))
