"""Proportional navigation by bank and load factor."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from pe_sim.arrays import Array, cross, scale, unit
from pe_sim.guidance.base import GuidanceSpec
from pe_sim.guidance.fixed_wing.base import AirGuidance, AirSpec, OpponentReader
from pe_sim.guidance.own import Own
from pe_sim.policies.base import PolicyContext, Views


class AirNavigationSpec(AirSpec):
    """Parameters of the law.

    Attributes:
        gain: navigation constant N.
    """

    gain: Annotated[float, Field(gt=1.0, le=20.0)] = 4.0


class AirNavigation(AirGuidance):
    """Pure proportional navigation: acceleration N (omega x v) across the own velocity; weight is carried besides.

    P. Zarchan, Tactical and Strategic Missile Guidance, 6th ed., 2012, chapter 2.
    """

    name: ClassVar[str] = "air_navigation"
    formula: ClassVar[str] = "a = N omega x v, the weight carried besides"
    needs: ClassVar[str] = "direction and range of the opponents, own_motion"
    Parameters: ClassVar[type[GuidanceSpec]] = AirNavigationSpec
    parameters: AirNavigationSpec

    def __init__(self, context: PolicyContext, parameters: GuidanceSpec) -> None:
        super().__init__(context, parameters)
        self._opponent = OpponentReader(context, self.name)

    def forget(self, rows: Array | None) -> None:
        """Forget the opponent."""
        self._opponent.forget(rows)

    def fly(self, views: Views, own: Own, now: Array, due: Array) -> tuple[Array, Array | None]:
        """Acceleration N (omega x v), omega = r x v_rel / r^2."""
        xp = self.xp
        opponent = self._opponent.read(views, own, due)
        square = xp.where(opponent.distance > 1.0, opponent.distance * opponent.distance, 1.0)
        omega = scale(cross(opponent.sight, opponent.velocity), 1.0 / square)
        wish = scale(cross(omega, own.velocity), self.parameters.gain)
        return self.steering.accelerate(wish, unit(xp, opponent.sight), own), opponent.seen
