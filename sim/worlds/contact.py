"""Keeps agents out of obstacles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pe_sim.arrays import Array, Vector
from pe_sim.worlds.arena import Reaction
from pe_sim.worlds.edges import Edges
from pe_sim.worlds.fleet import RESTITUTION, Fleet
from pe_sim.worlds.moved import DrawnObstacles
from pe_sim.worlds.shapes import Round
from pe_sim.worlds.solid import Obstacle
from pe_sim.worlds.watch import Watch

SKIN = 1e-6
"""How far in front of a surface an agent is set back [m], so that rounding never leaves it inside."""

TOUCH = 1e-7
"""Distance [m] at which an agent touches, so that it cannot slip along a face that it lies in to the last bit."""

MOST_PIECES = 1000
"""Pieces that a tick's way is cut into at most; a file that would need more is refused."""

FEW = 64
"""Agents up to which it is not worth choosing among them."""

LEAST_SLOPE = 0.05
"""Least horizontal part of a normal along which what keeps its height is set back."""


def piece_length(obstacle: Obstacle) -> float:
    """Return the greatest way [m] that cannot lead through an obstacle unseen."""
    return 0.45 * obstacle.least_width


def _of(limit: Any, some: Any) -> Any:
    """Return a limit (a float or (M,)) of some of M agents."""
    return limit if isinstance(limit, float) else limit[some]


class Solids:
    """The obstacles.

    A way through a tick is walked in pieces of less than half the least width of any obstacle: nothing is tunnelled
    through. At a touch the agent is set back to the surface along its normal (bounce: as far in front of it as it had
    got behind it), and the rest of its way loses or reverses its part into the surface. Where that ends in another
    solid, as in a corner, the agent stays where it last was free.

    Args:
        obstacles: the solids.
        reaction: what they do to who touches them.
        dimensions: 2 or 3.
        fleet: the agents.
        edges: the arena, None where it is open.
        moved: shifts and sizes of the obstacles in each engagement, where the file draws any.

    Attributes:
        watch: which agents are near an obstacle.
    """

    def __init__(
        self, obstacles: Sequence[Obstacle], reaction: Reaction, dimensions: int, fleet: Fleet, edges: Edges | None,
        moved: DrawnObstacles | None = None,
    ) -> None:
        self._xp = fleet.xp
        self._fleet = fleet
        self._edges = edges
        self._obstacles = list(obstacles) if edges is None else edges.attached(obstacles, moved)
        self._reaction: Reaction = reaction
        self._dimensions = dimensions
        self._moved = moved
        # An obstacle is thin if an agent may get through it in one tick.
        greatest = float(self._xp.max(self._xp.asarray(fleet.step)))
        pieces = [piece_length(obstacle) for obstacle in self._obstacles]
        if moved is not None:
            pieces = [piece * moved.least_size(number) for number, piece in enumerate(pieces)]
        self._pieces = [piece if piece < greatest else math.inf for piece in pieces]
        circles = self._xp.asarray([o.surrounding_circle() for o in self._obstacles], dtype=self._xp.float64)
        self._circles = circles
        # Of these the circle around is the outline.
        self._round = [isinstance(o, Round) and o.bottom is None and o.top is None for o in self._obstacles]
        self.watch = Watch(fleet)

    def keep_out(self, at: Array, start: list[Array]) -> None:
        """Hold agents outside that were at ``start`` before the tick."""
        xp, fleet = self._xp, self._fleet
        agent = fleet.agent(at)
        place = fleet.places(at)
        radius, step = fleet.of(fleet.radius, agent), fleet.of(fleet.step, agent)
        row = None if self._moved is None else fleet.row(at)
        clear = self._bounds(row, place) - radius
        piece, doubtful = xp.full(at.shape, math.inf, dtype=xp.float64), at < 0
        near: list[int] = []
        # Turned back by one obstacle, an agent stays within a tick's way of its start, two of where it is now.
        soon = clear < 2.0 * step
        for number in xp.nonzero(xp.any(soon, axis=1))[0].tolist():
            near.append(number)
            # The circle's distance will do for the others: they are looked at the sooner for it, and nothing else.
            some = slice(None) if at.shape[0] <= FEW else xp.nonzero(soon[number])[0]
            if self._round[number]:
                own = clear[number, some]
            else:
                spot = (place[0][some], place[1][some], place[2][some])
                own = self._obstacle(number, None if row is None else row[some]).clearance(xp, spot) - _of(radius, some)
                clear[number, some] = own
            own_step, own_piece = _of(step, some), self._pieces[number]
            if own_piece < math.inf:
                # Who is free at the end of the tick may still have crossed something thin.
                thin = (own < 2.0 * own_step) & (piece[some] > own_piece)
                piece[some] = xp.where(thin, own_piece, piece[some])
                doubtful[some] |= own < own_step
            else:
                doubtful[some] |= own < TOUCH
        nearest = xp.min(clear, axis=0)
        if xp.any(doubtful):
            here = xp.nonzero(doubtful)[0]
            begin = [part.take(here) for part in start]
            way = [part.take(here) - b for part, b in zip(place, begin, strict=True)]
            touched = self._walk(at.take(here), near, begin, way, piece.take(here))
            if touched is not None:
                nearest[here] = xp.where(touched, 0.0, nearest.take(here))
        self.watch.rest(at, agent, nearest)

    def _obstacle(self, number: int, row: Array | None) -> Any:
        """Return an obstacle as agents in some engagements meet it."""
        if self._moved is None:
            return self._obstacles[number]
        return self._moved.of(number, row, self._obstacles[number])

    def _bounds(self, row: Array | None, place: list[Array]) -> Array:
        """Return at most the distance from each place to each obstacle [m], (K, M): to the circles around them."""
        if self._moved is None or row is None:
            x, y, radius = self._circles[:, 0:1], self._circles[:, 1:2], self._circles[:, 2:3]
        else:
            x, y, radius = self._moved.circles(row)
        dx, dy = place[0] - x, place[1] - y
        return self._xp.sqrt(dx * dx + dy * dy) - radius

    def _inside(self, agent: Array, near: list[Any], place: list[Array], among: Array) -> Array:
        """Return who of ``among`` overlaps an obstacle."""
        xp, fleet = self._xp, self._fleet
        reach = fleet.of(fleet.radius, agent) + TOUCH
        inside = among & ~among
        for obstacle in near:
            close = obstacle.clearance(xp, (place[0], place[1], place[2])) < reach
            if not fleet.points and xp.any(close):  # the sign of the clearance is right, its size may be small
                close = obstacle.surface(xp, (place[0], place[1], place[2]))[0] < reach
            inside = inside | close
        return inside & among

    def _walk(
        self, at: Array, numbers: list[int], place: list[Array], way: list[Array], piece: Array
    ) -> Array | None:
        """Go along ``way`` in pieces, write where it ends; return who touched something, None for nobody."""
        xp, fleet = self._xp, self._fleet
        row = None if self._moved is None else fleet.row(at)
        near = [self._obstacle(number, row) for number in numbers]
        agent = fleet.agent(at)
        length = xp.sqrt(way[0] * way[0] + way[1] * way[1] + way[2] * way[2])
        pieces = xp.clip(xp.ceil(length / piece), 1.0, float(MOST_PIECES))
        way = [part / pieces for part in way]
        touched: Array | None = None
        for number in range(int(xp.max(pieces))):
            going = number < pieces
            new = [p + xp.where(going, w, 0.0) for p, w in zip(place, way, strict=True)]
            new = new if self._edges is None else self._edges.clipped(at, agent, new)
            hit = self._answer(at, near, new, way, going)
            if hit is not None:
                touched = hit if touched is None else touched | hit
                new = new if self._edges is None else self._edges.clipped(at, agent, new)
                stuck = self._inside(agent, near, new, hit)
                if xp.any(stuck):
                    new = [xp.where(stuck, p, n) for p, n in zip(place, new, strict=True)]
                    way = [xp.where(stuck, 0.0, w) for w in way]
                    fleet.halt(at.take(xp.nonzero(stuck)[0]))
            place = new
        if touched is None:
            return None
        for position, part in zip(fleet.position[: self._dimensions], place, strict=False):
            position[at] = xp.where(touched, part, position.take(at))
        if self._edges is not None:
            self._edges.watch.wake(at)
        return touched

    def _answer(
        self, at: Array, near: list[Any], place: list[Array], way: list[Array], going: Array
    ) -> Array | None:
        """Set agents that are inside an obstacle back, changing ``place`` and ``way``; return which, None for none."""
        xp, fleet = self._xp, self._fleet
        agent = fleet.agent(at)
        radius = fleet.of(fleet.radius, agent)
        hit: Array | None = None
        normal: list[Array] = []
        for obstacle in near:
            if not xp.any(obstacle.clearance(xp, (place[0], place[1], place[2])) < radius + TOUCH):
                continue
            distance, out = obstacle.surface(xp, (place[0], place[1], place[2]))
            depth = radius - distance
            inside = (depth > -TOUCH) & going
            if not xp.any(inside):
                continue
            depth, out = self._along_height(agent, depth, out)
            self._set_back(place, way, inside, depth, out)
            if hit is None:
                hit, normal = inside, list(out)
                continue
            # The second obstacle that an agent touches has its own answer; the rest are gathered into one.
            again = hit & inside
            if xp.any(again):
                self._touch(at, again, normal)
            hit, normal = hit | inside, [xp.where(inside, new, old) for new, old in zip(out, normal, strict=True)]
        if hit is not None:
            self._touch(at, hit, normal)
        return hit

    def _set_back(self, place: list[Array], way: list[Array], inside: Array, depth: Array, normal: Vector) -> None:
        """Move agents that are ``depth`` [m] inside out along a normal, and take the way into the surface away."""
        xp = self._xp
        back = 1.0 + RESTITUTION.get(self._reaction, 0.0)
        inward = way[0] * normal[0] + way[1] * normal[1] + way[2] * normal[2]
        lost = -back * xp.where(inside & (inward < 0.0), inward, 0.0)
        push = xp.where(inside, back * depth + SKIN, 0.0)
        for axis in range(self._dimensions):
            place[axis] = place[axis] + push * normal[axis]
            way[axis] = way[axis] + lost * normal[axis]
            if self._reaction == "crash":
                way[axis] = xp.where(inside, 0.0, way[axis])

    def _touch(self, at: Array, who: Array, normal: list[Array]) -> None:
        here = self._xp.nonzero(who)[0]
        own = (normal[0].take(here), normal[1].take(here), normal[2].take(here))
        self._fleet.touch(at.take(here), own, self._reaction)

    def _along_height(self, agent: Array, depth: Array, normal: Vector) -> tuple[Array, Vector]:
        """Return depth and normal in the plane of what keeps its height."""
        planar = self._fleet.planar
        if planar is None or self._dimensions == 2:
            return depth, normal
        xp = self._xp
        flat = planar.take(agent)
        slope = xp.sqrt(normal[0] * normal[0] + normal[1] * normal[1])
        slope = xp.where(flat, xp.clip(slope, LEAST_SLOPE, None), 1.0)
        return depth / slope, (normal[0] / slope, normal[1] / slope, xp.where(flat, 0.0, normal[2]))
