"""Evaders with something in mind: away from the middle of the pursuers, to a goal, behind an obstacle."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

from pydantic import Field

from pe_sim.arrays import Array, Vector, add, dot, length, scale, subtract, unit
from pe_sim.errors import ContractError
from pe_sim.guidance.base import Guidance, GuidanceSpec
from pe_sim.guidance.flee import away_from, total
from pe_sim.guidance.own import PositionReader
from pe_sim.guidance.steering import Steering
from pe_sim.guidance.surroundings import Surroundings
from pe_sim.guidance.tracks import TrackReader, nearest_track
from pe_sim.guidance.vectors import choose
from pe_sim.policies.base import PolicyContext, Views
from pe_sim.quantities import Length


class AwayFromCentroid(Guidance):
    """Full speed away from the mean place of all opponents seen."""

    name: ClassVar[str] = "away_from_centroid"
    formula: ClassVar[str] = "v along - sum of r"
    needs: ClassVar[str] = "direction and range of the opponents"

    def __init__(self, context: PolicyContext, parameters: GuidanceSpec) -> None:
        super().__init__(context, parameters)
        self._tracks = TrackReader(context, self.name)
        self._steering = Steering.of(context, self.name)

    def law(self, views: Views, now: Array, due: Array) -> tuple[Array, Array | None]:
        """Velocity away from the centroid."""
        xp, own = self.xp, self._steering.own(views)
        tracks = self._tracks.read(views, own)
        x, y, z = (total(xp.where(tracks.valid, -part, 0.0)) for part in tracks.sight)
        values = self._steering.along(unit(xp, (x, y, z)), self._steering.top_speed, own)
        return values, self._steering.sure(xp.any(tracks.valid, axis=1), own)


class GoalSeekingSpec(GuidanceSpec):
    """Parameters of goal seeking.

    Attributes:
        goal: place to reach [m; world].
        keep_away: distance from opponents below which it turns away from them rather than to the goal [m]; 0 not to
            mind them.
        margin: distance to keep from faces and obstacles [m].
    """

    goal: tuple[Length, Length, Length]
    keep_away: Annotated[Length, Field(ge=0.0)] = 0.0
    margin: Annotated[Length, Field(ge=0.0)] = 0.0


class GoalSeeking(Guidance):
    """Full speed to a goal, round opponents that come near: their directions count by keep_away / distance - 1."""

    name: ClassVar[str] = "goal_seeking"
    formula: ClassVar[str] = "v along unit(goal - p) - sum of u (keep_away / d - 1)"
    needs: ClassVar[str] = "position (keep_away: direction and range of the opponents)"
    Parameters: ClassVar[type[GuidanceSpec]] = GoalSeekingSpec
    parameters: GoalSeekingSpec

    def __init__(self, context: PolicyContext, parameters: GoalSeekingSpec) -> None:
        super().__init__(context, parameters)
        self._place = PositionReader(context, self.name)
        self._tracks = TrackReader(context, self.name) if parameters.keep_away > 0.0 else None
        self._steering = Steering.of(context, self.name)
        self._surroundings = Surroundings(context)

    def law(self, views: Views, now: Array, due: Array) -> tuple[Array, Array | None]:
        """Velocity to the goal, slower within one decision of it."""
        xp, spec, own = self.xp, self.parameters, self._steering.own(views)
        place, known = self._place.read(views)
        x, y, z = spec.goal
        way = (x - place[0], y - place[1], (z - place[2]) * (0.0 if self.context.dimensions == 2 else 1.0))
        wish = unit(xp, way)
        if self._tracks is not None:
            tracks = self._tracks.read(views, own)
            assert tracks.distance is not None
            near = tracks.valid & (tracks.distance < spec.keep_away)
            safe = xp.where(tracks.distance > 1e-6, tracks.distance, 1e-6)
            weight = xp.where(near, (1.0 - spec.keep_away / safe) / safe, 0.0)
            px, py, pz = (total(part * weight) for part in tracks.sight)
            wish = unit(xp, add(wish, (px, py, pz)))
        wish = self._surroundings.deflect(place, wish, spec.margin)
        speed = xp.clip(length(xp, way) / (self.context.period * 1e-9), None, self._steering.top_speed)
        return self._steering.along(wish, speed, own), self._steering.sure(known, own)


class HideSpec(GuidanceSpec):
    """Parameters of hiding.

    Attributes:
        clearance: distance to keep from the obstacle hidden behind [m].
    """

    clearance: Annotated[Length, Field(gt=0.0)] = 1.5


class Hide(Guidance):
    """Behind the obstacle whose far side, seen from the nearest opponent, is nearest; round obstacles on the way.

    Obstacles count as the circles around them, seen from above.
    """

    name: ClassVar[str] = "hide"
    formula: ClassVar[str] = "v along c + unit(c - p_opponent) (R + clearance) - p"
    needs: ClassVar[str] = "direction and range of the opponents, position, obstacles in the world"
    Parameters: ClassVar[type[GuidanceSpec]] = HideSpec
    parameters: HideSpec

    def __init__(self, context: PolicyContext, parameters: HideSpec) -> None:
        super().__init__(context, parameters)
        self._place = PositionReader(context, self.name)
        self._tracks = TrackReader(context, self.name)
        self._steering = Steering.of(context, self.name)
        self._surroundings = Surroundings(context)
        self._circles = self._surroundings.circles
        if not self._circles:
            raise ContractError(
                f"guidance/{self.name}", "needs obstacles to hide behind", cure="add some under world.obstacles"
            )

    def law(self, views: Views, now: Array, due: Array) -> tuple[Array, Array | None]:
        """Velocity to the hiding place, slower within one decision of it."""
        xp, own = self.xp, self._steering.own(views)
        place, known = self._place.read(views)
        tracks = self._tracks.read(views, own)
        track, seen = nearest_track(xp, tracks)
        way = self._nearest_cover(place, add(place, track.sight))
        far = length(xp, way)
        wish = self._round(place, scale(way, 1.0 / xp.where(far > 0.0, far, 1.0)), far)
        # An opponent at arm's length is fled, cover or not.
        assert track.distance is not None
        wish = choose(xp, seen & (track.distance < self.parameters.clearance), away_from(xp, tracks), wish)
        speed = xp.clip(far / (self.context.period * 1e-9), None, self._steering.top_speed)
        return self._steering.along(wish, speed, own), self._steering.sure(seen & known, own)

    def _nearest_cover(self, place: Vector, opponent: Vector) -> Vector:
        """Return the level way to the nearest place hidden from an opponent."""
        xp = self.xp
        best, least = scale(place, 0.0), place[0] * 0.0 + math.inf
        for (cx, cy), radius in self._circles:
            behind = unit(xp, (cx - opponent[0], cy - opponent[1], place[2] * 0.0))
            reach = radius + self.parameters.clearance
            spot = self._surroundings.inside((cx + behind[0] * reach, cy + behind[1] * reach, place[2]))
            way = subtract(spot, place)
            square = dot(way, way)
            better = square < least
            best, least = choose(xp, better, way, best), xp.where(better, square, least)
        return best

    def _round(self, place: Vector, wish: Vector, far: Array) -> Vector:
        """Return a direction led past the circles that stand in the way, along their edges."""
        xp = self.xp
        for (cx, cy), radius in self._circles:
            x, y = cx - place[0], cy - place[1]
            ahead = x * wish[0] + y * wish[1]
            beside = x * wish[1] - y * wish[0]
            keep = radius + 0.5 * self.parameters.clearance
            blocked = (ahead > 0.0) & (ahead < far) & (xp.abs(beside) < keep)
            size = xp.sqrt(x * x + y * y)
            safe = 1.0 / xp.where(size > 1e-9, size, 1.0)
            # Tangent on the side where the centre is not; inside the ring, outward as well.
            side = xp.where(beside > 0.0, 1.0, -1.0)
            inside = xp.where(size < keep, 1.0, 0.0)
            around = (-y * safe * side - x * safe * inside, x * safe * side - y * safe * inside, wish[2])
            wish = choose(xp, blocked, unit(xp, around), wish)
        return wish
