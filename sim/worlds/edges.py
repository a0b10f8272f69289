"""Keeps agents inside the arena."""

from __future__ import annotations

from collections.abc import Sequence

from pe_sim.arrays import Array
from pe_sim.worlds.arena import Arena, Reaction
from pe_sim.worlds.fleet import Fleet
from pe_sim.worlds.solid import Obstacle
from pe_sim.worlds.watch import Watch


class Edges:
    """The faces of the arena.

    Args:
        arena: the box that agents stay in.
        dimensions: 2 or 3.
        fleet: the agents.

    Attributes:
        watch: which agents are near a face.
    """

    def __init__(self, arena: Arena, dimensions: int, fleet: Fleet) -> None:
        self._arena = arena
        self._fleet = fleet
        self._reaction: Reaction = "clip" if arena.edge == "open" else arena.edge
        self._low = [low + fleet.radius for low in arena.low[:dimensions]]
        self._high = [high - fleet.radius for high in arena.high[:dimensions]]
        self.watch = Watch(fleet)

    def keep_in(self, at: Array) -> None:
        """Hold agents inside."""
        xp, fleet = self._fleet.xp, self._fleet
        agent = fleet.agent(at)
        nearest: Array = None
        for axis, position in enumerate(fleet.position[: len(self._low)]):
            place = position.take(at)
            gap = xp.minimum(place - fleet.of(self._low[axis], agent), fleet.of(self._high[axis], agent) - place)
            nearest = gap if nearest is None else xp.minimum(nearest, gap)
        out = nearest < 0.0
        if xp.any(out):
            here = xp.nonzero(out)[0]
            self._turn_back(at.take(here), agent.take(here))
        self.watch.rest(at, agent, nearest)

    def _turn_back(self, at: Array, agent: Array) -> None:
        """Put agents that are outside back, and let them touch the faces they went through."""
        xp, fleet = self._fleet.xp, self._fleet
        inward = []
        for axis, position in enumerate(fleet.position[: len(self._low)]):
            low, high = fleet.of(self._low[axis], agent), fleet.of(self._high[axis], agent)
            place = position.take(at)
            under, over = place < low, place > high
            inward.append(xp.where(under, 1.0, xp.where(over, -1.0, 0.0)))
            if self._reaction == "bounce":
                # What bounces goes back as far as it went beyond; in an arena too narrow for that, to the other face.
                place = xp.where(under, 2.0 * low - place, xp.where(over, 2.0 * high - place, place))
            position[at] = xp.clip(place, low, high)
        # One face after the other where an agent went through two or three at once, in a corner.
        while len(at):
            normal, free = [], at >= 0
            for part in inward:
                normal.append(xp.where(free, part, 0.0))
                free = free & (part == 0.0)
            here = xp.nonzero(~free)[0]
            at, inward = at.take(here), [(p - n).take(here) for p, n in zip(inward, normal, strict=True)]
            normal = [part.take(here) for part in normal]
            flat = normal[0] * 0.0
            fleet.touch(at, (normal[0], normal[1], normal[2] if len(normal) == 3 else flat), self._reaction)

    def attached(self, obstacles: Sequence[Obstacle]) -> list[Obstacle]:
        """Return obstacles without the faces that nobody inside the arena can touch, so that none slips behind them."""
        return [obstacle.attached(self._arena.low, self._arena.high) for obstacle in obstacles]

    def clipped(self, agent: Array, place: list[Array]) -> list[Array]:
        """Return positions inside the arena."""
        xp, fleet = self._fleet.xp, self._fleet
        inside = [
            xp.clip(part, fleet.of(low, agent), fleet.of(high, agent))
            for part, low, high in zip(place, self._low, self._high, strict=False)
        ]
        return inside + place[len(inside) :]
