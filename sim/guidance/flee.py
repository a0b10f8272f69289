"""Flee: fly away from the pursuers, the nearer ones counting more; at will not into a corner."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar

from pydantic import Field

from pe_sim.arrays import Array, Vector, add, dot, scale, subtract, unit
from pe_sim.guidance.base import Guidance, GuidanceSpec
from pe_sim.guidance.own import PositionReader
from pe_sim.guidance.steering import Steering
from pe_sim.guidance.surroundings import Surroundings
from pe_sim.guidance.tracks import TrackReader, Tracks
from pe_sim.guidance.vectors import choose
from pe_sim.policies.base import PolicyContext, Views
from pe_sim.quantities import Duration, Length
from pe_sim.timing import seconds


class FleeSpec(GuidanceSpec):
    """Parameters of flight.

    Attributes:
        avoid: whether to foresee the arena's faces and the obstacles, which takes a position sensor.
        horizon: how far ahead ways out are foreseen [s], with ``avoid``.
        ways: how many level directions are tried, with ``avoid``.
        margin: distance to keep from faces and obstacles [m], with ``avoid``.
    """

    avoid: bool = False
    horizon: Annotated[Duration, Field(gt=0)] = 1_500_000_000
    ways: Annotated[int, Field(ge=4, le=360)] = 24
    margin: Annotated[Length, Field(ge=0.0)] = 1.0


class Flee(Guidance):
    """Full speed along the sum of the directions away from all opponents seen, weighted by 1 / distance^2.

    With ``avoid`` it tries directions all round (and slantwise up and down in space), and takes the one after which
    the same weighted sum of nearness is least, a step of speed times horizon ahead; steps end at the arena's faces,
    and those through an obstacle are out of the question. So it runs along a wall and out of a corner in time.
    """

    name: ClassVar[str] = "flee"
    formula: ClassVar[str] = "v along - sum of u / d^2"
    needs: ClassVar[str] = "direction and range of the opponents (avoid: position)"
    Parameters: ClassVar[type[GuidanceSpec]] = FleeSpec
    parameters: FleeSpec

    def __init__(self, context: PolicyContext, parameters: FleeSpec) -> None:
        super().__init__(context, parameters)
        self._tracks = TrackReader(context, self.name)
        self._steering = Steering.of(context, self.name)
        self._ways = WaysOut(context, self.name, parameters) if parameters.avoid else None

    def law(self, views: Views, now: Array, due: Array) -> tuple[Array, Array | None]:
        """Velocity away from the opponents."""
        xp, own = self.xp, self._steering.own(views)
        tracks = self._tracks.read(views, own)
        direction = away_from(xp, tracks)
        seen = xp.any(tracks.valid, axis=1)
        if self._ways is not None:
            direction, known = self._ways.best(views, tracks, self._steering.top_speed, direction)
            seen = seen & known
        values = self._steering.along(direction, self._steering.top_speed, own)
        return values, self._steering.sure(seen, own)


def away_from(xp: Any, tracks: Tracks) -> Vector:
    """Return the unit direction away from all tracks, each weighted by 1 / distance^2; zero where there are none."""
    assert tracks.distance is not None
    close = tracks.distance * tracks.distance * tracks.distance
    weight = xp.where(tracks.valid, -1.0 / xp.where(close > 1e-9, close, 1e-9), 0.0)
    x, y, z = (total(part * weight) for part in tracks.sight)
    return unit(xp, (x, y, z))


def total(x: Array) -> Array:
    """Return the sum over targets, (n, m, B) to (n, B), added in order."""
    out = x[:, 0]
    for j in range(1, x.shape[1]):
        out = out + x[:, j]
    return out


class WaysOut:
    """Directions to flee in, and which of them leads farthest from everybody.

    Raises:
        ContractError: if the agents do not know their position.
    """

    def __init__(self, context: PolicyContext, law: str, spec: FleeSpec) -> None:
        self._xp = context.xp
        self._surroundings = Surroundings(context)
        self._place = PositionReader(context, law)
        self._time = seconds(spec.horizon)
        self._margin = spec.margin
        slopes = (0.0,) if context.dimensions == 2 else (0.0, 0.25 * math.pi, -0.25 * math.pi)
        turns = [2.0 * math.pi * i / spec.ways for i in range(spec.ways)]
        ways = [(math.cos(t) * math.cos(s), math.sin(t) * math.cos(s), math.sin(s)) for s in slopes for t in turns]
        xp = self._xp
        self._ways = [xp.reshape(xp.asarray(part, dtype=xp.float64), (-1, 1, 1)) for part in zip(*ways, strict=True)]

    def best(self, views: Views, tracks: Tracks, speed: float, fallback: Vector) -> tuple[Vector, Array]:
        """Return the best direction and whether the own place is known.

        Args:
            views: what the agents know.
            tracks: the opponents.
            speed: own speed [m/s].
            fallback: direction where every way is blocked.
        """
        xp, reach = self._xp, speed * self._time
        place, known = self._place.read(views)
        x, y, z = (part + way * reach for part, way in zip(place, self._ways, strict=True))
        moved = subtract(self._surroundings.inside((x, y, z), self._margin), place)
        cost = xp.where(self._blocked(place, moved), xp.inf, self._nearness(tracks, moved))
        choice = xp.argmin(cost, axis=0)
        picked = xp.zeros(place[0].shape, dtype=xp.float64)
        chosen = (picked, picked, picked)
        free = cost[0] < xp.inf
        for i in range(cost.shape[0]):
            chosen = choose(xp, choice == i, (moved[0][i], moved[1][i], moved[2][i]), chosen)
            free = free | (cost[i] < xp.inf)
        return choose(xp, free, unit(xp, chosen), fallback), known

    def _nearness(self, tracks: Tracks, moved: Vector) -> Array:
        """Return the sum over opponents of 1 / distance^2 after each way, (ways, n, B)."""
        xp = self._xp
        nearness = moved[0] * 0.0
        for j in range(tracks.valid.shape[1]):
            away = subtract((tracks.sight[0][:, j], tracks.sight[1][:, j], tracks.sight[2][:, j]), moved)
            square = dot(away, away)
            here = 1.0 / xp.where(square > 1e-6, square, 1e-6)
            nearness = nearness + xp.where(tracks.valid[:, j], here, 0.0)
        return nearness

    def _blocked(self, place: Vector, moved: Vector) -> Array:
        """Return which ways lead through an obstacle or end within the margin of one, bool (ways, n, B).

        An obstacle that is farther than the longest way and the margin from everybody in an engagement is not looked
        at there: distances change by no more than one moves.
        """
        xp = self._xp
        blocked = moved[0] != moved[0]
        reach = xp.sqrt(xp.max(dot(moved, moved), axis=0)) + self._margin + 1e-6
        for obstacle in self._surroundings.obstacles:
            rows = xp.nonzero(xp.any(obstacle.surface(xp, place)[0] < reach, axis=0))[0]
            if len(rows) == 0:
                continue
            here: Vector = (place[0][:, rows], place[1][:, rows], place[2][:, rows])
            way: Vector = (moved[0][:, :, rows], moved[1][:, :, rows], moved[2][:, :, rows])
            hit = obstacle.blocks(xp, here, add(here, way))
            for share in (0.25, 0.5, 0.75, 1.0):
                hit = hit | (obstacle.surface(xp, add(here, scale(way, share)))[0] < self._margin)
            blocked[:, :, rows] = blocked[:, :, rows] | hit
        return blocked
