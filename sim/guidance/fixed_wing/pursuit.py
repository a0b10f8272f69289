"""Pursuit of one aircraft by another: towards it, ahead of it, or behind it."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from pe_sim.arrays import Array
from pe_sim.guidance.base import GuidanceSpec
from pe_sim.guidance.fixed_wing.base import AirGuidance, AirSpec, OpponentReader, direction_to
from pe_sim.guidance.own import Own
from pe_sim.policies.base import PolicyContext, Views
from pe_sim.quantities import Speed


class AirPursuitSpec(AirSpec):
    """Parameters of the law.

    Attributes:
        mode: 'pure' points at the opponent; 'lead' at where it will be when something of speed ``lead_speed`` arrives;
            'lag' at where it was a ``lag_time`` ago.
        lead_speed: speed of what the lead is for, over that of the aircraft itself [m/s]: a gun's muzzle velocity;
            None for the aircraft itself.
        lag_time: [s].
    """

    mode: Literal["pure", "lead", "lag"] = "pure"
    lead_speed: Annotated[Speed, Field(gt=0.0)] | None = None
    lag_time: Annotated[float, Field(gt=0.0, le=20.0)] = 1.5


class AirPursuit(AirGuidance):
    """Pure, lead or lag pursuit of the nearest opponent (R. L. Shaw, Fighter Combat, 1985, chapter 2)."""

    name: ClassVar[str] = "air_pursuit"
    formula: ClassVar[str] = "v along r + (vt - v) s: s = 0 pure, d / (v + lead_speed) lead, -lag_time lag"
    needs: ClassVar[str] = "direction and range of the opponents, own_motion"
    Parameters: ClassVar[type[GuidanceSpec]] = AirPursuitSpec
    parameters: AirPursuitSpec

    def __init__(self, context: PolicyContext, parameters: GuidanceSpec) -> None:
        super().__init__(context, parameters)
        self._opponent = OpponentReader(context, self.name)

    def forget(self, rows: Array | None) -> None:
        """Forget the opponent."""
        self._opponent.forget(rows)

    def fly(self, views: Views, own: Own, now: Array, due: Array) -> tuple[Array, Array | None]:
        """Turn the velocity to the aim."""
        xp, spec = self.xp, self.parameters
        opponent = self._opponent.read(views, own, due)
        if spec.mode == "pure":
            lead: Array | float = 0.0
        elif spec.mode == "lag":
            lead = -spec.lag_time
        else:
            speed = own.speed + spec.lead_speed if spec.lead_speed else own.speed
            lead = xp.clip(opponent.distance / xp.where(speed > 1.0, speed, 1.0), 0.0, 20.0)
        return self.steering.along(direction_to(xp, opponent, own, lead), self.speed, own), opponent.seen
