"""Unicycle: moves where it points; told its speed and its turn rate."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from pe_sim.actions import ActionSpec, continuous
from pe_sim.arrays import Array
from pe_sim.quantities import Acceleration, AngularRate, Speed
from pe_sim.worlds.base import DynamicsSpec
from pe_sim.worlds.dynamics.base import UNLIMITED
from pe_sim.worlds.dynamics.planar import Planar, PlanarSpec


class UnicycleSpec(PlanarSpec):
    """Limits of a unicycle.

    Attributes:
        max_speed: greatest speed [m/s].
        min_speed: least speed [m/s]; negative to allow reversing.
        max_acceleration: greatest change of speed [m/s^2].
        max_turn_rate: greatest turn rate [rad/s].
    """

    max_speed: Annotated[Speed, Field(gt=0.0)]
    min_speed: Speed = 0.0
    max_acceleration: Annotated[Acceleration, Field(gt=0.0)] = UNLIMITED
    max_turn_rate: Annotated[AngularRate, Field(gt=0.0)]

    @model_validator(mode="after")
    def _ordered(self) -> UnicycleSpec:
        if self.min_speed > self.max_speed:
            raise PydanticCustomError("range", "min_speed must not exceed max_speed")
        return self


class Unicycle(Planar):
    """Action: speed [m/s; along the heading], turn rate [rad/s; counter-clockwise]. Planar, at a constant height."""

    name: ClassVar[str] = "unicycle"
    Parameters: ClassVar[type[DynamicsSpec]] = UnicycleSpec
    drawable: ClassVar[tuple[str, ...]] = ("max_speed", "max_acceleration", "max_turn_rate")
    full_command: ClassVar[dict[str, str]] = {"speed": "max_speed", "turn_rate": "max_turn_rate"}

    def prepare(self) -> None:
        """Work out the limits of each agent."""
        super().prepare()
        self._min_speed = self.each(lambda spec: spec.min_speed)
        self._max_speed = self.each(lambda spec: spec.max_speed)
        self._max_turn_rate = self.each(lambda spec: spec.max_turn_rate)
        self._max_change = self.each(lambda spec: spec.max_acceleration * self.tick)
        self._ramp = self.each(lambda spec: 0.5 / spec.max_acceleration)
        self._limited = any(spec.max_acceleration < UNLIMITED for spec in self.extremes)

    @classmethod
    def action_spec(cls, spec: Any, dimensions: int) -> ActionSpec:
        """Speed and turn rate."""
        del dimensions
        turn = spec.max_turn_rate
        return continuous(
            "turn",
            {"speed": ("m/s", spec.min_speed, spec.max_speed), "turn_rate": ("rad/s", -turn, turn)},
            frame="body",
        )

    @classmethod
    def top_speed(cls, spec: Any) -> float:
        """The greatest speed it may have, ahead or back [m/s]."""
        return float(max(abs(spec.min_speed), spec.max_speed))

    def start_speed(self, speed: Array, where: Any) -> Array:
        """At least the least speed."""
        return self.xp.clip(speed, self.limit_at(self._min_speed, where), self.limit_at(self._max_speed, where))

    def coast_values(self) -> Array:
        """Keep the speed, go straight."""
        return self.xp.stack([self.memory[0], self.memory[0] * 0.0])

    def stop_values(self) -> Array:
        """No speed (or the least it can have), no turn."""
        still = self.memory[0] * 0.0
        return self.xp.stack([self.xp.clip(still, self._min_speed, None), still])

    def drive(self, values: Array) -> tuple[Array, Array, Array, Array]:
        """Change speed at the greatest acceleration until the commanded one is reached, turn at the commanded rate."""
        xp, dt, present = self.xp, self.tick, self.memory[0]
        speed = xp.clip(values[0], self._min_speed, self._max_speed)
        rate = xp.clip(values[1], -self._max_turn_rate, self._max_turn_rate)
        if self._limited:
            speed = xp.clip(speed, present - self._max_change, present + self._max_change)
            change = speed - present
            # Reaching the speed takes |change| / a, in which half of the change is not yet there.
            way = speed * dt - change * xp.abs(change) * self._ramp
        else:
            way = speed * dt
        self.memory[0] = speed
        return way, rate * dt, speed, rate
