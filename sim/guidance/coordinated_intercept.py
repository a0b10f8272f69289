"""Coordinated intercept: two pursuers against one evader, each at the point where the evader can hold out longest.

The two cutters and the fugitive ship (R. Isaacs, Differential Games, 1965, section 6.8; E. Garcia, D. Casbeer,
A. Von Moll, M. Pachter, Multiple pursuer multiple evader differential games, IEEE TAC 66, 2021).
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from pe_sim.arrays import Array, Vector, add, dot, length, scale, subtract, unit
from pe_sim.guidance.base import Guidance, GuidanceSpec
from pe_sim.guidance.intercept import apollonius_circle, intercept_point
from pe_sim.guidance.steering import Steering
from pe_sim.guidance.target_motion import QuarryReader
from pe_sim.guidance.tracks import TrackReader, Tracks
from pe_sim.guidance.vectors import across, choose
from pe_sim.policies.base import PolicyContext, Views
from pe_sim.quantities import Speed


class CoordinatedInterceptSpec(GuidanceSpec):
    """Parameters of the coordinated intercept.

    Attributes:
        evader_speed: the evader's speed [m/s], None for its present one.
        teammate_speed: the other pursuer's speed [m/s], None for the own top speed.
    """

    evader_speed: Annotated[Speed, Field(gt=0.0)] | None = None
    teammate_speed: Annotated[Speed, Field(gt=0.0)] | None = None


class CoordinatedIntercept(Guidance):
    """Full speed to the point farthest from the evader that it can reach before either of two pursuers.

    Both discs of Apollonius hold what the evader can reach first; the farthest point of what they share is the far
    point of one disc, if the other holds it, or a corner of the lens. The second pursuer is the teammate nearest to
    the evader. Without a teammate in sight, or against an evader that is as fast, it is the plain intercept.
    """

    name: ClassVar[str] = "coordinated_intercept"
    formula: ClassVar[str] = "v along the point of both Apollonius discs that is farthest from the evader"
    needs: ClassVar[str] = "direction and range of the opponents and of the teammates, own_motion"
    Parameters: ClassVar[type[GuidanceSpec]] = CoordinatedInterceptSpec
    parameters: CoordinatedInterceptSpec

    def __init__(self, context: PolicyContext, parameters: GuidanceSpec) -> None:
        super().__init__(context, parameters)
        self._quarry = QuarryReader(context, self.name)
        self._mates = TrackReader(context, self.name, of=context.teammates)
        self._steering = Steering.of(context, self.name)

    def forget(self, rows: Array | None) -> None:
        """Forget earlier readings."""
        self._quarry.forget(rows)

    def law(self, views: Views, now: Array, due: Array) -> tuple[Array, Array | None]:
        """Direction of the common point."""
        xp, top = self.xp, self._steering.top_speed
        quarry = self._quarry.read(views, due)
        evader, given = quarry.track.sight, self.parameters.evader_speed
        speed = length(xp, quarry.velocity) if given is None else given + 0.0 * quarry.own.speed
        mate, has_mate = self._second(self._mates.read(views), evader)
        mate_speed = self.parameters.teammate_speed or top
        slower = (speed < 0.999 * top) & (speed < 0.999 * mate_speed)
        ratio = xp.where(slower, speed, 0.0)
        origin = scale(evader, 0.0)
        first = apollonius_circle(xp, origin, evader, ratio / top)
        second = apollonius_circle(xp, mate, evader, ratio / mate_speed)
        together = farthest_common_point(xp, evader, (origin, mate), first, second)
        heading = quarry.velocity if given is None else scale(unit(xp, quarry.velocity), given)
        alone, _ = intercept_point(xp, evader, heading, top)
        aim = choose(xp, has_mate & slower, together, alone)
        return self._steering.along(unit(xp, aim), top, self._steering.own(views)), quarry.seen

    def _second(self, mates: Tracks, evader: Vector) -> tuple[Vector, Array]:
        """Return the place of the teammate nearest to the evader and whether there is one."""
        xp = self.xp
        x, y, z = (part[:, None] for part in evader)
        away = subtract(mates.sight, (x, y, z))
        far = xp.where(mates.valid, dot(away, away), xp.inf)
        picked = mates.pick(xp, xp.argmin(far, axis=1))
        return picked.sight, picked.valid


def farthest_common_point(
    xp: Any, evader: Vector, pursuers: tuple[Vector, Vector], first: tuple[Vector, Array], second: tuple[Vector, Array]
) -> Vector:
    """Return the point farthest from the evader that two Apollonius discs share.

    In space the discs are balls; by symmetry the point lies in the plane of the three agents.

    Args:
        xp: array namespace.
        evader: its place [m].
        pursuers: their places [m].
        first: centre and radius [m] of the one disc.
        second: those of the other.
    """
    best, best_square = evader, evader[0] * 0.0 - 1.0
    for pursuer, (center, radius), (other, other_radius) in (
        (pursuers[0], first, second), (pursuers[1], second, first),
    ):
        far = add(center, scale(unit(xp, subtract(evader, pursuer)), radius))
        away, over = subtract(far, evader), subtract(far, other)
        square = dot(away, away)
        better = (dot(over, over) <= other_radius * other_radius * (1.0 + 1e-12)) & (square > best_square)
        best, best_square = choose(xp, better, far, best), xp.where(better, square, best_square)
    for corner, exists in _corners(xp, evader, first, second):
        away = subtract(corner, evader)
        square = dot(away, away)
        better = exists & (square > best_square)
        best, best_square = choose(xp, better, corner, best), xp.where(better, square, best_square)
    return best


def _corners(
    xp: Any, evader: Vector, first: tuple[Vector, Array], second: tuple[Vector, Array]
) -> list[tuple[Vector, Array]]:
    """Return where two circles meet in the plane of their centres and the evader, and whether they do."""
    (c1, r1), (c2, r2) = first, second
    between = subtract(c2, c1)
    d = length(xp, between)
    apart = d > 1e-9
    axis = scale(between, 1.0 / xp.where(apart, d, 1.0))
    along = (d * d + r1 * r1 - r2 * r2) / (2.0 * xp.where(apart, d, 1.0))
    height = r1 * r1 - along * along
    exists = apart & (height >= 0.0)
    aside = unit(xp, across(subtract(evader, c1), axis))
    # The evader may stand on the line of the centres: any direction across does then.
    lost = (aside[0] == 0.0) & (aside[1] == 0.0) & (aside[2] == 0.0)
    level = unit(xp, (-axis[1], axis[0], axis[2] * 0.0))
    aside = choose(xp, lost, level, aside)
    foot = add(c1, scale(axis, along))
    rise = scale(aside, xp.sqrt(xp.where(exists, height, 0.0)))
    return [(add(foot, rise), exists), (subtract(foot, rise), exists)]
