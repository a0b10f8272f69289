"""Encirclement: a team spreads evenly on a ring around the target, moves with it, and closes in.

T.-H. Kim, T. Sugie, Cooperative control for target-capturing task based on a cyclic pursuit strategy, Automatica 43,
2007: each agent needs its neighbours on the ring only.
"""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

from pydantic import Field

from pe_sim.arrays import Array, Vector, add, length, scale
from pe_sim.guidance.base import Guidance, GuidanceSpec
from pe_sim.guidance.steering import Steering
from pe_sim.guidance.target_motion import QuarryReader
from pe_sim.guidance.tracks import TrackReader, Tracks
from pe_sim.policies.base import PolicyContext, Views
from pe_sim.quantities import Length, Speed
from pe_sim.timing import seconds


class EncirclementSpec(GuidanceSpec):
    """Parameters of encirclement.

    Attributes:
        radius: of the ring [m].
        closing: how fast the ring shrinks once the team is spread [m/s].
        least_radius: radius at which it stops shrinking [m].
        gain: how fast errors of radius and of place on the ring are taken away [1/s].
    """

    radius: Annotated[Length, Field(gt=0.0)] = 8.0
    closing: Annotated[Speed, Field(ge=0.0)] = 1.0
    least_radius: Annotated[Length, Field(ge=0.0)] = 0.0
    gain: Annotated[float, Field(gt=0.0, le=10.0)] = 1.0


class Encirclement(Guidance):
    """On a level ring around the nearest opponent, midway between the neighbours on either side, at its height.

    Each agent decides from what it sees of the target and of its teammates. The ring shrinks while the greatest gap
    between agents is at most one and a half times the even one. Memory: the radius.
    """

    name: ClassVar[str] = "encirclement"
    formula: ClassVar[str] = (
        "v = vt + k (R - d) n + k (gap ahead - gap behind) / 2 min(R, d) t, n outward, t counter-clockwise"
    )
    needs: ClassVar[str] = "direction and range of the opponents and of the teammates, own_motion"
    Parameters: ClassVar[type[GuidanceSpec]] = EncirclementSpec
    parameters: EncirclementSpec

    def __init__(self, context: PolicyContext, parameters: EncirclementSpec) -> None:
        super().__init__(context, parameters)
        self._quarry = QuarryReader(context, self.name)
        self._mates = TrackReader(context, self.name, of=context.teammates)
        self._steering = Steering.of(context, self.name)
        self._shrink = parameters.closing * seconds(context.period)
        shape = (len(context.agents), context.batch)
        self._radius: Array = self.xp.full(shape, parameters.radius, dtype=self.xp.float64)

    def forget(self, rows: Array | None) -> None:
        """Begin with the whole ring."""
        self._quarry.forget(rows)
        self._radius[:, slice(None) if rows is None else rows] = self.parameters.radius

    def law(self, views: Views, now: Array, due: Array) -> tuple[Array, Array | None]:
        """Velocity of the target, plus the way to the place on the ring."""
        xp, gain = self.xp, self.parameters.gain
        quarry = self._quarry.read(views, due)
        x, y, z = quarry.track.sight
        distance = xp.sqrt(x * x + y * y)
        safe = 1.0 / xp.where(distance > 1e-9, distance, 1.0)
        outward: Vector = (-x * safe, -y * safe, x * 0.0)
        ahead, behind, widest = self._gaps(self._mates.read(views), quarry.track.sight)
        ring = xp.where(distance > self._radius, self._radius, distance)
        push = gain * (self._radius - distance)
        turn = gain * 0.5 * (ahead - behind) * ring
        wish = add(quarry.velocity, (
            outward[0] * push - outward[1] * turn, outward[1] * push + outward[0] * turn, gain * z,
        ))
        self._close_in(widest, due & quarry.seen)
        speed = length(xp, wish)
        direction = scale(wish, 1.0 / xp.where(speed > 0.0, speed, 1.0))
        own = self._steering.own(views)
        return self._steering.along(direction, xp.clip(speed, None, self._steering.top_speed), own), quarry.seen

    def _gaps(self, mates: Tracks, sight: Vector) -> tuple[Array, Array, Array]:
        """Return the angles to the next agents counter-clockwise and clockwise, and the widest gap of all [rad]."""
        xp, whole = self.xp, 2.0 * math.pi
        own = xp.atan2(-sight[1], -sight[0])
        places = xp.atan2(mates.sight[1] - sight[1][:, None], mates.sight[0] - sight[0][:, None])
        to = places - own[:, None]
        to = to - whole * xp.floor(to / whole)
        unseen = ~mates.valid
        ahead = xp.min(xp.where(unseen, whole, to), axis=1)
        behind = whole - xp.max(xp.where(unseen, 0.0, to), axis=1)
        count = mates.valid.shape[1]
        widest = ahead
        for j in range(count):  # from each teammate to the next one, or back to oneself
            gap = whole - to[:, j]
            for k in range(count):
                step = to[:, k] - to[:, j]
                step = step - whole * xp.floor(step / whole)
                gap = xp.where(mates.valid[:, k] & (step > 0.0) & (step < gap), step, gap)
            widest = xp.where(mates.valid[:, j] & (gap > widest), gap, widest)
        return ahead, behind, widest

    def _close_in(self, widest: Array, where: Array) -> None:
        xp, spec = self.xp, self.parameters
        even = 2.0 * math.pi / max(len(self.context.teammates), 1)
        smaller = xp.clip(self._radius - self._shrink, spec.least_radius, None)
        self._radius = xp.where(where & (widest <= 1.5 * even), smaller, self._radius)
