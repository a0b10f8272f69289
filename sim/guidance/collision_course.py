"""Collision courses: constant bearing, and the intercept on the Apollonius circle."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from pe_sim.arrays import Array, scale, unit
from pe_sim.guidance.base import Guidance, GuidanceSpec
from pe_sim.guidance.intercept import collision_velocity, intercept_point
from pe_sim.guidance.steering import Steering
from pe_sim.guidance.target_motion import QuarryReader
from pe_sim.policies.base import PolicyContext, Views
from pe_sim.quantities import Duration, Speed


class ConstantBearingSpec(GuidanceSpec):
    """Parameters of constant bearing.

    Attributes:
        smoothing: time constant of a filter on the rotation of the line of sight, where no sensor tells the relative
            velocity [s].
    """

    smoothing: Annotated[Duration, Field(ge=0)] = 0


class ConstantBearing(Guidance):
    """Full speed, as fast across the line of sight as the target, the rest along it: its bearing does not change."""

    name: ClassVar[str] = "constant_bearing"
    formula: ClassVar[str] = "v = vt_n + u sqrt(vp^2 - vt_n^2), vt_n the target's velocity across u"
    needs: ClassVar[str] = "direction and range of the opponents, own_motion"
    Parameters: ClassVar[type[GuidanceSpec]] = ConstantBearingSpec
    parameters: ConstantBearingSpec

    def __init__(self, context: PolicyContext, parameters: ConstantBearingSpec) -> None:
        super().__init__(context, parameters)
        self._quarry = QuarryReader(context, self.name, parameters.smoothing)
        self._steering = Steering.of(context, self.name)

    def forget(self, rows: Array | None) -> None:
        """Forget earlier readings."""
        self._quarry.forget(rows)

    def law(self, views: Views, now: Array, due: Array) -> tuple[Array, Array | None]:
        """Velocity of parallel navigation."""
        quarry = self._quarry.read(views, due)
        top = self._steering.top_speed
        wish = scale(collision_velocity(self.xp, quarry.direction, quarry.velocity, top), 1.0 / top)
        return self._steering.along(wish, top, self._steering.own(views)), quarry.seen


class ApolloniusInterceptSpec(GuidanceSpec):
    """Parameters of the Apollonius intercept.

    Attributes:
        evader_speed: speed at which the evader is taken to go on in its present direction [m/s], None for its present
            speed.
    """

    evader_speed: Annotated[Speed, Field(gt=0.0)] | None = None


class ApolloniusIntercept(Guidance):
    """Full speed to the point of the Apollonius circle that the evader heads for.

    An evader that stands still, or that cannot be met, is approached directly.
    """

    name: ClassVar[str] = "apollonius_intercept"
    formula: ClassVar[str] = "v along r + vt t, t the least root of abs(r + vt t) = vp t"
    needs: ClassVar[str] = "direction and range of the opponents, own_motion"
    Parameters: ClassVar[type[GuidanceSpec]] = ApolloniusInterceptSpec
    parameters: ApolloniusInterceptSpec

    def __init__(self, context: PolicyContext, parameters: GuidanceSpec) -> None:
        super().__init__(context, parameters)
        self._quarry = QuarryReader(context, self.name)
        self._steering = Steering.of(context, self.name)

    def forget(self, rows: Array | None) -> None:
        """Forget earlier readings."""
        self._quarry.forget(rows)

    def law(self, views: Views, now: Array, due: Array) -> tuple[Array, Array | None]:
        """Direction of the intercept point."""
        xp, speed = self.xp, self.parameters.evader_speed
        quarry = self._quarry.read(views, due)
        velocity = quarry.velocity if speed is None else scale(unit(xp, quarry.velocity), speed)
        point, _ = intercept_point(xp, quarry.track.sight, velocity, self._steering.top_speed)
        own = self._steering.own(views)
        return self._steering.along(unit(xp, point), self._steering.top_speed, own), quarry.seen
