"""Unicycle: moves where it points; told its speed and its turn rate."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from pe_sim.actions import ActionSpec, continuous
from pe_sim.arrays import Array, Vector, from_yaw
from pe_sim.quantities import Acceleration, AngularRate, Speed
from pe_sim.worlds.base import DynamicsSpec
from pe_sim.worlds.dynamics.base import Dynamics


class UnicycleSpec(DynamicsSpec):
    """Limits of a unicycle.

    Attributes:
        max_speed: greatest speed [m/s].
        min_speed: least speed [m/s]; negative to allow reversing.
        max_acceleration: greatest change of speed [m/s^2].
        max_turn_rate: greatest turn rate [rad/s].
    """

    max_speed: Annotated[Speed, Field(gt=0.0)]
    min_speed: Speed = 0.0
    max_acceleration: Annotated[Acceleration, Field(gt=0.0)] = 1e6
    max_turn_rate: Annotated[AngularRate, Field(gt=0.0)]


class Unicycle(Dynamics):
    """Action: speed [m/s; along the heading], turn rate [rad/s; counter-clockwise]. Planar, at a constant height."""

    name: ClassVar[str] = "unicycle"
    Parameters: ClassVar[type[DynamicsSpec]] = UnicycleSpec
    spec: UnicycleSpec

    def __init__(self, spec: DynamicsSpec, block: Array, dimensions: int, tick: float, xp: Any) -> None:
        super().__init__(spec, block, dimensions, tick, xp)
        self._heading = xp.zeros(block.shape[1:], dtype=xp.float64)

    def action_spec(self) -> ActionSpec:
        """Speed and turn rate."""
        spec = self.spec
        turn = spec.max_turn_rate
        return continuous(
            "turn",
            {"speed": ("m/s", spec.min_speed, spec.max_speed), "turn_rate": ("rad/s", -turn, turn)},
            frame="body",
        )

    def reset(self, heading: Array, speed: Array, where: Array) -> None:
        """Begin along the heading."""
        self._heading[:, where] = heading
        self.block[7, :, where] = speed
        self.block[8:13, :, where] = 0.0
        for i, part in enumerate(from_yaw(self.xp, heading), start=3):
            self.block[i, :, where] = part

    def velocity(self) -> Vector:
        """Return the velocity [m/s; world]."""
        speed = self.block[7]
        return (speed * self.xp.cos(self._heading), speed * self.xp.sin(self._heading), self.block[9])

    def set_velocity(self, velocity: Vector, where: Array) -> None:
        """Point along a velocity [m/s; world]; at rest the heading stays."""
        xp = self.xp
        speed = xp.sqrt(velocity[0] * velocity[0] + velocity[1] * velocity[1])
        heading = xp.where(where & (speed > 0.0), xp.atan2(velocity[1], velocity[0]), self._heading)
        self._heading = heading
        self.write(3, from_yaw(xp, heading), where)
        self.write(7, (speed,), where)

    def coast_values(self) -> Array:
        """Keep the speed, go straight."""
        return self.xp.stack([self.block[7] + 0.0, self.block[7] * 0.0])

    def stop_values(self) -> Array:
        """No speed (or the least it can have), no turn."""
        still = self.block[7] * 0.0
        return self.xp.stack([still + max(0.0, self.spec.min_speed), still])

    def step(self, values: Array, active: Array | None) -> None:
        """Arc of constant speed and turn rate: chord 2 (v/w) sin(w dt/2) along the mean heading, exact."""
        xp, dt, spec = self.xp, self.tick, self.spec
        change = spec.max_acceleration * dt
        speed = xp.clip(values[0], self.block[7] - change, self.block[7] + change)
        speed = xp.clip(speed, spec.min_speed, spec.max_speed)
        turn = xp.clip(values[1], -spec.max_turn_rate, spec.max_turn_rate)
        half = 0.5 * dt * turn
        # sin(h)/h by its series where h is tiny: exact to the last bit below 1e-4.
        small = xp.abs(half) < 1e-4
        ratio = xp.where(small, 1.0 - half * half / 6.0, xp.sin(half) / xp.where(small, 1.0, half))
        middle = self._heading + half
        chord = speed * dt * ratio
        heading = self._heading + turn * dt
        self.write(0, (self.block[0] + chord * xp.cos(middle), self.block[1] + chord * xp.sin(middle)), active)
        self.write(3, from_yaw(xp, heading), active)
        self.write(7, (speed,), active)
        self.write(12, (turn,), active)
        self._heading = heading if active is None else xp.where(active, heading, self._heading)
