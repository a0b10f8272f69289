"""Lead pursuit: fly ahead of the target, by a constant angle or by a constant time.

N. A. Shneydor, Missile Guidance and Pursuit, 1998, chapter 3 (deviated pursuit).
"""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

from pydantic import Field

from pe_sim.arrays import Array, add, scale, unit
from pe_sim.guidance.base import Guidance, GuidanceSpec
from pe_sim.guidance.steering import Steering
from pe_sim.guidance.target_motion import QuarryReader
from pe_sim.guidance.vectors import across
from pe_sim.policies.base import PolicyContext, Views
from pe_sim.quantities import Angle, Duration
from pe_sim.timing import seconds


class DeviatedPursuitSpec(GuidanceSpec):
    """Parameters of deviated pursuit.

    Attributes:
        angle: lead ahead of the line of sight [rad].
    """

    angle: Annotated[Angle, Field(ge=-1.5, le=1.5)] = math.radians(15.0)


class DeviatedPursuit(Guidance):
    """Full speed at a constant angle off the line of sight, on the side to which the target moves across it."""

    name: ClassVar[str] = "deviated_pursuit"
    formula: ClassVar[str] = "v = vp (u cos a + n sin a), n along the target's velocity across u"
    needs: ClassVar[str] = "direction and range of the opponents, own_motion"
    Parameters: ClassVar[type[GuidanceSpec]] = DeviatedPursuitSpec
    parameters: DeviatedPursuitSpec

    def __init__(self, context: PolicyContext, parameters: GuidanceSpec) -> None:
        super().__init__(context, parameters)
        self._quarry = QuarryReader(context, self.name)
        self._steering = Steering.of(context, self.name)

    def forget(self, rows: Array | None) -> None:
        """Forget earlier readings."""
        self._quarry.forget(rows)

    def law(self, views: Views, now: Array, due: Array) -> tuple[Array, Array | None]:
        """Line of sight turned towards the target's motion."""
        quarry = self._quarry.read(views, due)
        aside = unit(self.xp, across(quarry.velocity, quarry.direction))
        angle = self.parameters.angle
        wish = unit(self.xp, add(scale(quarry.direction, math.cos(angle)), scale(aside, math.sin(angle))))
        return self._steering.along(wish, self._steering.top_speed, self._steering.own(views)), quarry.seen


class LeadPursuitSpec(GuidanceSpec):
    """Parameters of lead pursuit.

    Attributes:
        time: how far ahead the target's place is foreseen [s].
    """

    time: Annotated[Duration, Field(ge=0)] = 500_000_000


class LeadPursuit(Guidance):
    """Full speed towards where the target will be after a constant time if it goes straight on."""

    name: ClassVar[str] = "lead_pursuit"
    formula: ClassVar[str] = "v along r + vt t"
    needs: ClassVar[str] = "direction and range of the opponents, own_motion"
    Parameters: ClassVar[type[GuidanceSpec]] = LeadPursuitSpec
    parameters: LeadPursuitSpec

    def __init__(self, context: PolicyContext, parameters: GuidanceSpec) -> None:
        super().__init__(context, parameters)
        self._quarry = QuarryReader(context, self.name)
        self._steering = Steering.of(context, self.name)

    def forget(self, rows: Array | None) -> None:
        """Forget earlier readings."""
        self._quarry.forget(rows)

    def law(self, views: Views, now: Array, due: Array) -> tuple[Array, Array | None]:
        """Direction of the foreseen place."""
        quarry = self._quarry.read(views, due)
        ahead = add(quarry.track.sight, scale(quarry.velocity, seconds(self.parameters.time)))
        direction = unit(self.xp, ahead)
        return self._steering.along(direction, self._steering.top_speed, self._steering.own(views)), quarry.seen
