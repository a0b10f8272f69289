"""Multirotor under a velocity controller: follows a velocity command with a first-order lag and limits."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar

from pydantic import Field

from pe_sim.actions import ActionSpec, continuous
from pe_sim.arrays import Array, Vector, from_yaw, limit, rotate_back
from pe_sim.quantities import Acceleration, Angle, AngularRate, Duration, Speed
from pe_sim.timing import seconds
from pe_sim.worlds.base import DynamicsSpec
from pe_sim.worlds.dynamics.base import Dynamics

GRAVITY = 9.80665
"""Standard gravity [m/s^2]."""


class MultirotorSpec(DynamicsSpec):
    """Limits of a multirotor and of its velocity controller.

    Attributes:
        max_speed: greatest speed [m/s].
        time_constant: lag of the velocity controller [s].
        max_acceleration: greatest magnitude of the acceleration [m/s^2].
        max_tilt: greatest tilt [rad]: horizontal acceleration at most g tan(tilt).
        max_yaw_rate: greatest yaw rate [rad/s].
    """

    max_speed: Annotated[Speed, Field(gt=0.0)]
    time_constant: Annotated[Duration, Field(gt=0)] = 200_000_000
    max_acceleration: Annotated[Acceleration, Field(gt=0.0)] = 1e6
    max_tilt: Annotated[Angle, Field(gt=0.0, lt=math.pi / 2)] = math.radians(60.0)
    max_yaw_rate: Annotated[AngularRate, Field(gt=0.0)] = math.pi


class Multirotor(Dynamics):
    """Action: velocity (x, y, z) [m/s; world], yaw rate [rad/s]. Sensors ride on a levelled platform: yaw only."""

    name: ClassVar[str] = "multirotor"
    Parameters: ClassVar[type[DynamicsSpec]] = MultirotorSpec
    spec: MultirotorSpec

    def __init__(self, spec: DynamicsSpec, block: Array, dimensions: int, tick: float, xp: Any) -> None:
        super().__init__(spec, block, dimensions, tick, xp)
        shape = block.shape[1:]
        self._yaw = xp.zeros(shape, dtype=xp.float64)
        self._velocity: Vector = tuple(xp.zeros(shape, dtype=xp.float64) for _ in range(3))
        self._follow = 1.0 - math.exp(-tick / seconds(self.spec.time_constant))
        self._max_horizontal = GRAVITY * math.tan(self.spec.max_tilt)

    def action_spec(self) -> ActionSpec:
        """Velocity [m/s; world], one value per dimension, and yaw rate."""
        top, yaw = self.spec.max_speed, self.spec.max_yaw_rate
        limits = {axis: ("m/s", -top, top) for axis in "xyz"[: self.dimensions]}
        return continuous("velocity", {**limits, "yaw_rate": ("rad/s", -yaw, yaw)})

    def reset(self, heading: Array, speed: Array, where: Any) -> None:
        """Begin with a velocity along the heading."""
        xp = self.xp
        self._yaw[:, where] = heading
        for part, value in zip(
            self._velocity, (speed * xp.cos(heading), speed * xp.sin(heading), speed * 0.0), strict=True
        ):
            part[:, where] = value
        self.block[7, :, where] = speed
        self.block[8:13, :, where] = 0.0
        for i, part in enumerate(from_yaw(xp, heading), start=3):
            self.block[i, :, where] = part

    def velocity(self) -> Vector:
        """Return the velocity [m/s; world]."""
        return self._velocity

    def set_velocity(self, velocity: Vector, where: Array) -> None:
        """Change the velocity [m/s; world]."""
        xp = self.xp
        self._velocity = tuple(xp.where(where, new, old) for new, old in zip(velocity, self._velocity, strict=True))
        self._write_body_velocity(None)

    def _write_body_velocity(self, active: Array | None) -> None:
        attitude = (self.block[3], self.block[4], self.block[5], self.block[6])
        self.write(7, rotate_back(attitude, self._velocity), active)

    def coast_values(self) -> Array:
        """Keep the velocity."""
        still = self._velocity[0] * 0.0
        return self.xp.stack([*(v + 0.0 for v in self._velocity[: self.dimensions]), still])

    def stop_values(self) -> Array:
        """No velocity, no turn."""
        return self.xp.zeros((self.dimensions + 1, *self.block.shape[1:]), dtype=self.xp.float64)

    def step(self, values: Array, active: Array | None) -> None:
        """Follow the command: v' = v + (1 - exp(-dt/tau)) (u - v), its change limited; p += (v + v') dt / 2."""
        xp, dt, spec = self.xp, self.tick, self.spec
        old = self._velocity
        zero = old[2] * 0.0
        wish = limit(xp, (values[0], values[1], values[2] if self.dimensions == 3 else zero), spec.max_speed)
        change = tuple(self._follow * (w - v) for w, v in zip(wish, old, strict=True))
        level = limit(xp, (change[0], change[1], zero), self._max_horizontal * dt)
        change = limit(xp, (level[0], level[1], change[2]), spec.max_acceleration * dt)
        new = tuple(v + c for v, c in zip(old, change, strict=True))
        rate = xp.clip(values[self.dimensions], -spec.max_yaw_rate, spec.max_yaw_rate)
        yaw = self._yaw + rate * dt
        self.write(0, tuple(self.block[i] + 0.5 * dt * (old[i] + new[i]) for i in range(self.dimensions)), active)
        self.write(3, from_yaw(xp, yaw), active)
        self.write(12, (rate,), active)
        if active is not None:
            new = tuple(xp.where(active, n, o) for n, o in zip(new, old, strict=True))
            yaw = xp.where(active, yaw, self._yaw)
        self._velocity, self._yaw = new, yaw
        self._write_body_velocity(active)


