"""The agents of the kinematic world as its geometry sees them: bodies in one flat row, whatever moves them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pe_sim.arrays import Array, Vector
from pe_sim.worlds.arena import Reaction
from pe_sim.worlds.dynamics.base import Dynamics

RESTITUTION = {"clip": 0.0, "bounce": 1.0}
"""Part of the normal speed that comes back from a surface."""


@dataclass(frozen=True)
class Body:
    """What the geometry of the world needs to know of an agent.

    Attributes:
        radius: of its ball [m].
        step: greatest way in a tick [m].
        planar: whether it keeps its height.
    """

    radius: float
    step: float
    planar: bool


class Fleet:
    """All agents of all engagements in a row: place ``agent * B + engagement``.

    Args:
        bodies: one per agent.
        movers: models with the numbers of their first agent and of the one after their last.
        block: canonical state (13, N, B).
        failed: agents whose motion ended, (N, B), or None where that cannot happen.
        xp: array namespace.

    Attributes:
        position: components of the position [m; world], (3, N * B), a view of the state.
        radius: per agent, a float where all are alike, else (N,).
        points: whether all radii are 0.
        step: greatest way in a tick per agent [m], like the radius.
        planar: which agents keep their height, bool (N,); None for none.
        batch: number of engagements B.
    """

    def __init__(
        self,
        bodies: Sequence[Body],
        movers: Sequence[tuple[int, int, Dynamics]],
        block: Array,
        failed: Array | None,
        xp: Any,
    ) -> None:
        self.xp = xp
        self.batch = block.shape[2]
        self.count = len(bodies)
        self.position = block[:3].reshape(3, -1)
        self.radius = self._alike([body.radius for body in bodies])
        self.step = self._alike([body.step for body in bodies])
        self.points = all(body.radius == 0.0 for body in bodies)
        planar = [body.planar for body in bodies]
        self.planar: Array | None = xp.asarray(planar) if any(planar) else None
        self._failed = None if failed is None else failed.reshape(-1)
        self._movers = [(first * self.batch, last * self.batch, model) for first, last, model in movers]

    def _alike(self, values: list[float]) -> Any:
        return values[0] if len(set(values)) == 1 else self.xp.asarray(values, dtype=self.xp.float64)

    def agent(self, at: Array) -> Array:
        """Return the numbers of the agents in some places."""
        return at // self.batch

    def row(self, at: Array) -> Array:
        """Return the engagements of some places."""
        return at % self.batch if self.batch & (self.batch - 1) else at & (self.batch - 1)

    def of(self, limit: Any, agent: Array) -> Any:
        """Return an attribute (a float or (N,)) of some agents."""
        return limit if isinstance(limit, float) else limit.take(agent)

    def places(self, at: Array) -> list[Array]:
        """Return copies of the positions in some places, three arrays (M,)."""
        return [part.take(at) for part in self.position]

    def touch(self, at: Array, normal: Vector, reaction: Reaction) -> None:
        """Let agents, each at most once, touch surfaces with outward unit normals (M,)."""
        for places, model, chosen in self._by_model(at):
            if reaction == "crash":
                model.halt(places)
            else:
                own = normal if chosen is None else tuple(part.take(chosen) for part in normal)
                model.impact(places, own, RESTITUTION[reaction])
        if reaction == "crash":
            self.fail(at)

    def fail(self, at: Array) -> None:
        """Mark agents as ended by their own motion."""
        assert self._failed is not None
        self._failed[at] = True

    def halt(self, at: Array) -> None:
        """End the motion of some agents."""
        for places, model, _ in self._by_model(at):
            model.halt(places)

    def ground_velocity(self, at: Array) -> Array:
        """Return the velocity over ground of some agents [m/s; world], (3, M)."""
        xp = self.xp
        velocity = xp.zeros((3, *at.shape), dtype=xp.float64)
        for places, model, chosen in self._by_model(at):
            part = xp.stack(list(model.ground_velocity(places)))
            if chosen is None:
                return part
            velocity[:, chosen] = part
        return velocity

    def set_ground_velocity(self, at: Array, velocity: Array) -> None:
        """Change the velocity over ground of some agents [m/s; world], (3, M)."""
        for places, model, chosen in self._by_model(at):
            own = velocity if chosen is None else [part.take(chosen) for part in velocity]
            model.set_ground_velocity(places, (own[0], own[1], own[2]))

    def _by_model(self, at: Array) -> list[tuple[Array, Dynamics, Array | None]]:
        """Return, per model, the places of its agents within the model and which of ``at`` they are (None: all)."""
        if len(self._movers) == 1:
            return [(at, self._movers[0][2], None)]
        out: list[tuple[Array, Dynamics, Array | None]] = []
        for first, last, model in self._movers:
            mine = self.xp.nonzero((at >= first) & (at < last))[0]
            if len(mine):
                out.append((at.take(mine) - first, model, mine))
        return out
