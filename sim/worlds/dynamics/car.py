"""Car: the kinematic bicycle, its rear axle the reference (Rajamani: Vehicle Dynamics and Control, 2012, 2.2)."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from pe_sim.actions import ActionSpec, continuous
from pe_sim.arrays import Array
from pe_sim.quantities import Acceleration, Angle, AngularRate, Length, Speed
from pe_sim.worlds.base import DynamicsSpec
from pe_sim.worlds.dynamics.base import UNLIMITED
from pe_sim.worlds.dynamics.planar import Planar, PlanarSpec


class CarSpec(PlanarSpec):
    """Limits of a car.

    Attributes:
        max_speed: greatest speed [m/s].
        min_speed: least speed [m/s]; negative to allow reversing.
        max_acceleration: greatest acceleration, of braking too [m/s^2].
        wheelbase: from the rear to the front axle [m].
        max_steering: greatest angle of the front wheels [rad].
        max_steering_rate: how fast that angle changes at most [rad/s].
    """

    max_speed: Annotated[Speed, Field(gt=0.0)]
    min_speed: Annotated[Speed, Field(le=0.0)] = 0.0
    max_acceleration: Annotated[Acceleration, Field(gt=0.0)]
    wheelbase: Annotated[Length, Field(gt=0.0)]
    max_steering: Annotated[Angle, Field(gt=0.0, lt=math.pi / 2)] = math.radians(35.0)
    max_steering_rate: Annotated[AngularRate, Field(gt=0.0)] = UNLIMITED

    @model_validator(mode="after")
    def _turns_slowly(self) -> CarSpec:
        if math.tan(self.max_steering) / self.wheelbase * max(self.max_speed, -self.min_speed) > 1e3:
            raise PydanticCustomError("car", "turns at more than 1000 rad/s: enlarge wheelbase or lower max_steering")
        return self


class Car(Planar):
    """Action: acceleration [m/s^2; along the heading], steering [rad; of the front wheels, positive to the left].

    Memory: speed [m/s], steering angle [rad].
    """

    name: ClassVar[str] = "car"
    Parameters: ClassVar[type[DynamicsSpec]] = CarSpec
    memory_size: ClassVar[int] = 2
    drawable: ClassVar[tuple[str, ...]] = ("max_speed", "max_acceleration", "max_steering", "max_steering_rate")
    full_command: ClassVar[dict[str, str]] = {"acceleration": "max_acceleration", "steering": "max_steering"}

    def prepare(self) -> None:
        """Work out the limits of each agent."""
        super().prepare()
        self._min_speed = self.each(lambda spec: spec.min_speed)
        self._max_speed = self.each(lambda spec: spec.max_speed)
        self._max_acceleration = self.each(lambda spec: spec.max_acceleration)
        self._max_steering = self.each(lambda spec: spec.max_steering)
        self._max_swing = self.each(lambda spec: spec.max_steering_rate * self.tick)
        self._inverse_wheelbase = self.each(lambda spec: 1.0 / spec.wheelbase)
        self._swing_limited = any(spec.max_steering_rate < UNLIMITED for spec in self.extremes)

    def turn_in_tick(self, spec: Any) -> float:
        """Return the greatest angle that a car turns in a tick [rad]."""
        return float(self.top_speed(spec) * self.tick * math.tan(spec.max_steering) / spec.wheelbase)

    @classmethod
    def action_spec(cls, spec: Any, dimensions: int) -> ActionSpec:
        """Acceleration and steering angle."""
        del dimensions
        push, swing = spec.max_acceleration, spec.max_steering
        return continuous(
            "car", {"acceleration": ("m/s^2", -push, push), "steering": ("rad", -swing, swing)}, frame="body"
        )

    @classmethod
    def top_speed(cls, spec: Any) -> float:
        """The greatest speed it may have, ahead or back [m/s]."""
        return float(max(abs(spec.min_speed), spec.max_speed))

    def start_speed(self, speed: Array, where: Any) -> Array:
        """At most the greatest speed."""
        return self.xp.clip(speed, self.limit_at(self._min_speed, where), self.limit_at(self._max_speed, where))

    def coast_values(self) -> Array:
        """No acceleration, wheels straight."""
        return self.xp.zeros((2, *self.block.shape[1:]), dtype=self.xp.float64)

    def stop_values(self) -> Array:
        """The acceleration that ends the motion within this tick, limited when carried out; wheels straight."""
        return self.xp.stack([self.memory[0] * (-1.0 / self.tick), self.memory[0] * 0.0])

    def drive(self, values: Array) -> tuple[Array, Array, Array, Array]:
        """Accelerate until a limit of speed is reached; the wheels swing first, then hold their angle for the tick."""
        xp, dt, present = self.xp, self.tick, self.memory[0]
        push = xp.clip(values[0], -self._max_acceleration, self._max_acceleration)
        speed = xp.clip(present + push * dt, self._min_speed, self._max_speed)
        change = speed - present
        # Until the speed is reached, half of the change is not yet there.
        reached = xp.clip(xp.abs(change) / xp.clip(xp.abs(push), 1e-12, None), None, dt)
        way = speed * dt - 0.5 * change * reached
        swing = xp.clip(values[1], -self._max_steering, self._max_steering)
        if self._swing_limited:
            wheels = self.memory[1]
            swing = xp.clip(swing, wheels - self._max_swing, wheels + self._max_swing)
        self.memory[0] = speed
        self.memory[1] = swing
        curvature = xp.tan(swing) * self._inverse_wheelbase
        return way, way * curvature, speed, speed * curvature
