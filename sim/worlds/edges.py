"""Keeps agents inside the arena."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pe_sim.arrays import Array, columns
from pe_sim.worlds.arena import Arena, Reaction
from pe_sim.worlds.fleet import Fleet
from pe_sim.worlds.moved import DrawnArena, DrawnObstacles
from pe_sim.worlds.solid import Obstacle
from pe_sim.worlds.watch import Watch

HIGH = 1e6
"""A height above any arena [m]."""


class Edges:
    """The faces of the arena.

    Args:
        arena: the box that agents stay in.
        dimensions: 2 or 3.
        fleet: the agents.
        drawn: the arena of each engagement, where the file draws it.

    Attributes:
        watch: which agents are near a face.
    """

    def __init__(self, arena: Arena, dimensions: int, fleet: Fleet, drawn: DrawnArena | None = None) -> None:
        self._arena = arena if drawn is None else drawn.greatest
        self._drawn = drawn
        self._fleet = fleet
        self._reaction: Reaction = "clip" if arena.edge == "open" else arena.edge
        axes = range(dimensions)
        self._low = self._bound([arena.low[axis] + fleet.radius for axis in axes])
        self._high = self._bound([arena.high[axis] - fleet.radius for axis in axes])
        self.watch = Watch(fleet)

    def _bound(self, limits: list[Any]) -> Array:
        """Return the limit of each axis, (d, 1), or (d, N) where the agents' bodies differ."""
        xp = self._fleet.xp
        return xp.stack([xp.reshape(xp.asarray(limit, dtype=xp.float64), (-1,)) for limit in limits])

    def _faces(self, at: Array, agent: Array) -> tuple[Array, Array]:
        """Return between which coordinates the centres of agents in some places stay, (d, 1) or (d, M) each."""
        xp, fleet = self._fleet.xp, self._fleet
        if self._drawn is None:
            low, high = self._low, self._high
            return (low, high) if low.shape[1] == 1 else (xp.take(low, agent, axis=1), xp.take(high, agent, axis=1))
        both = columns(self._drawn.corners, fleet.row(at))
        low, high = both[: len(self._low)], both[3 : 3 + len(self._low)]
        if not fleet.points:
            radius = fleet.of(fleet.radius, agent)
            low, high = low + radius, high - radius
        return low, high

    def keep_in(self, at: Array) -> None:
        """Hold agents inside."""
        xp, fleet = self._fleet.xp, self._fleet
        agent = fleet.agent(at)
        low, high = self._faces(at, agent)
        place = xp.take(fleet.position[: len(low)], at, axis=1)
        nearest = xp.min(xp.minimum(place - low, high - place), axis=0)
        out = nearest < 0.0
        if xp.any(out):
            here = xp.nonzero(out)[0]
            self._turn_back(at.take(here), agent.take(here))
        self.watch.rest(at, agent, nearest)

    def _turn_back(self, at: Array, agent: Array) -> None:
        """Put agents that are outside back, and let them touch the faces they went through."""
        xp, fleet = self._fleet.xp, self._fleet
        low, high = self._faces(at, agent)
        place = xp.take(fleet.position[: len(low)], at, axis=1)
        under, over = place < low, place > high
        inward = xp.astype(under, xp.float64) - xp.astype(over, xp.float64)
        if self._reaction == "bounce":
            # What bounces goes back as far as it went beyond; in an arena too narrow for that, to the other face.
            place = xp.where(under, 2.0 * low - place, xp.where(over, 2.0 * high - place, place))
        place = xp.clip(place, low, high)
        # One face after the other where an agent went through two or three at once, in a corner.
        for axis in range(len(low)):
            here = xp.nonzero(inward[axis])[0]
            if len(here):
                fleet.position[axis][at] = place[axis]
                towards = inward[axis].take(here)
                normal = [towards * 0.0] * 3
                normal[axis] = towards
                fleet.touch(at.take(here), (normal[0], normal[1], normal[2]), self._reaction)

    def attached(self, obstacles: Sequence[Obstacle], moved: DrawnObstacles | None = None) -> list[Obstacle]:
        """Return obstacles without the faces that nobody inside the arena can touch, so that none slips behind them.

        What is moved from one episode to the next may stand free of the sides; it keeps to the floor.
        """
        floor = (-math.inf, -math.inf, self._arena.low[2]), (math.inf, math.inf, HIGH)
        sides = self._arena.low, self._arena.high
        free = () if moved is None else moved.numbers
        return [o.attached(*(floor if number in free else sides)) for number, o in enumerate(obstacles)]

    def clipped(self, at: Array, agent: Array, place: list[Array]) -> list[Array]:
        """Return positions inside the arena."""
        xp = self._fleet.xp
        low, high = self._faces(at, agent)
        inside = [xp.clip(part, *ends) for part, *ends in zip(place, low, high, strict=False)]
        return inside + place[len(inside) :]
