"""Proportional navigation: turn in proportion to the turn of the line of sight.

P. Zarchan, Tactical and Strategic Missile Guidance, 6th ed., 2012, chapters 2 and 8.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from pe_sim.arrays import Array, Vector, add, cross, dot, scale, subtract
from pe_sim.errors import ContractError
from pe_sim.guidance.base import Guidance, GuidanceSpec
from pe_sim.guidance.own import OwnMotionReader
from pe_sim.guidance.steering import Steering
from pe_sim.guidance.target_motion import SightRate
from pe_sim.guidance.tracks import TrackReader, Tracks, nearest_choice
from pe_sim.guidance.vectors import across, choose, put, zeros
from pe_sim.policies.base import PolicyContext, Views
from pe_sim.quantities import Duration
from pe_sim.timing import NANOSECONDS

WANTS = {
    "pure": frozenset({"direction"}),
    "true": frozenset({"direction", "range_rate"}),
    "augmented": frozenset({"direction", "range", "range_rate", "velocity"}),
}
"""What each variant must be told."""


class ProportionalNavigationSpec(GuidanceSpec):
    """Parameters of the law.

    Attributes:
        gain: navigation constant N.
        variant: 'pure' accelerates across the own velocity, N (omega x v); 'true' across the line of sight,
            N Vc (omega x u), Vc the closing speed; 'augmented' adds N/2 times the target's acceleration across the line
            of sight to 'true'.
        smoothing: time constant of a filter on the rotation of the line of sight, where no sensor tells the relative
            velocity, and on the target's acceleration [s].
    """

    gain: Annotated[float, Field(gt=1.0, le=20.0)] = 4.0
    variant: Literal["pure", "true", "augmented"] = "pure"
    smoothing: Annotated[Duration, Field(ge=0)] = 0


class ProportionalNavigation(Guidance):
    """Acceleration in proportion to the rotation omega of the line of sight u to the nearest opponent, at full speed.

    The rotation comes from the relative velocity where the sensor tells it, else from the last two readings of the
    same target.
    """

    name: ClassVar[str] = "proportional_navigation"
    formula: ClassVar[str] = "pure: a = N omega x v; true: a = N Vc omega x u; augmented: + N/2 at_n"
    needs: ClassVar[str] = "direction of the opponents (true: range rate; augmented: velocity), own_motion"
    Parameters: ClassVar[type[GuidanceSpec]] = ProportionalNavigationSpec
    parameters: ProportionalNavigationSpec

    def __init__(self, context: PolicyContext, parameters: ProportionalNavigationSpec) -> None:
        super().__init__(context, parameters)
        self._tracks = TrackReader(context, self.name, wants=WANTS[parameters.variant])
        self._steering = Steering.of(context, self.name, accelerates=True)
        self._motion = OwnMotionReader(context, self.name)
        self._sight = SightRate(context, parameters.smoothing)
        self._manoeuvre = TargetAcceleration(context, parameters.smoothing)

    def forget(self, rows: Array | None) -> None:
        """Forget earlier readings."""
        self._sight.forget(rows)
        self._manoeuvre.forget(rows)

    def law(self, views: Views, now: Array, due: Array) -> tuple[Array, Array | None]:
        """Acceleration of the variant."""
        xp, gain, variant = self.xp, self.parameters.gain, self.parameters.variant
        own = self._motion.read(views)
        track, target = nearest_choice(xp, self._tracks.read(views, own))
        direction = track.direction(xp)
        rate = self._sight.of(track, target, due)
        if variant == "pure":
            wish = scale(cross(rate, own.velocity), gain)
        else:
            assert track.range_rate is not None
            wish = scale(cross(rate, direction), -gain * track.range_rate)
        if variant == "augmented":
            manoeuvre = across(self._manoeuvre.of(track, target, own.velocity, due), direction)
            wish = add(wish, scale(manoeuvre, 0.5 * gain))
        # A pursuer that flies away from the target turns round first: rotation alone would not bring it back.
        behind = dot(own.velocity, direction) < 0.0
        values = self._steering.accelerate(wish, direction, own)
        values = xp.where(behind, self._steering.along(direction, self._steering.top_speed, own), values)
        return values, track.valid & own.known


class TargetAcceleration:
    """The target's acceleration, from the change of its velocity between readings of the same target.

    The target's velocity is the relative velocity plus the own one as last known, so what the own velocity changed
    between the two measurements counts as the target's: use sensors of like delay.
    """

    def __init__(self, context: PolicyContext, smoothing: int) -> None:
        self._xp = xp = context.xp
        self._smoothing = smoothing / NANOSECONDS
        shape = (len(context.agents), context.batch)
        self._velocity, self._acceleration = zeros(xp, shape), zeros(xp, shape)
        self._stamp = xp.full(shape, -1, dtype=xp.int64)
        self._target = xp.full(shape, -1, dtype=xp.int64)

    def forget(self, rows: Array | None) -> None:
        """Forget everything in the given engagements (indices; None for all)."""
        self._stamp[:, slice(None) if rows is None else rows] = -1
        put(self._acceleration, rows, 0.0)

    def of(self, track: Tracks, target: Array, own_velocity: Vector, where: Array) -> Vector:
        """Return the target's acceleration [m/s^2; world]; zero until the second reading.

        Raises:
            ContractError: never in a law that wants velocities.
        """
        xp = self._xp
        if track.velocity is None:
            raise ContractError("guidance", "the target's acceleration needs its velocity")
        velocity = add(track.velocity, own_velocity)
        fresh = where & track.valid & (track.stamp > self._stamp)
        same = target == self._target
        comparable = fresh & same & (self._stamp >= 0)
        elapsed = xp.where(comparable, xp.astype(track.stamp - self._stamp, xp.float64) / NANOSECONDS, 1.0)
        change = scale(subtract(velocity, self._velocity), 1.0 / elapsed)
        if self._smoothing > 0.0:
            share = elapsed / (elapsed + self._smoothing)
            change = add(self._acceleration, scale(subtract(change, self._acceleration), share))
        kept = choose(xp, same | ~fresh, self._acceleration, scale(change, 0.0))
        self._acceleration = choose(xp, comparable, change, kept)
        self._velocity = choose(xp, fresh, velocity, self._velocity)
        self._stamp = xp.where(fresh, track.stamp, self._stamp)
        self._target = xp.where(fresh, target, self._target)
        return self._acceleration
