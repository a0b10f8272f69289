"""What hovers: a point that moves in any direction whatever its heading, and turns on the spot."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Annotated, Any, ClassVar

from pydantic import Field

from pe_sim.actions import ActionSpec, continuous
from pe_sim.arrays import Array, Vector
from pe_sim.quantities import AngularRate, Speed
from pe_sim.worlds.base import DynamicsSpec
from pe_sim.worlds.dynamics.base import KinematicDynamicsSpec
from pe_sim.worlds.dynamics.level import Level
from pe_sim.worlds.dynamics.turning import double, sinc_cos, turn


class PlatformSpec(KinematicDynamicsSpec):
    """Limits of what hovers.

    Attributes:
        max_speed: greatest speed [m/s].
        max_yaw_rate: greatest yaw rate [rad/s].
    """

    max_speed: Annotated[Speed, Field(gt=0.0)]
    max_yaw_rate: Annotated[AngularRate, Field(gt=0.0)] = math.pi


class Platform(Level):
    """Action: velocity (x, y, z) [m/s; world], yaw rate [rad/s]. The attitude is a level platform's: yaw only.

    Memory: velocity through the air [m/s; world], sine and cosine of the yaw.
    """

    Parameters: ClassVar[type[DynamicsSpec]] = PlatformSpec
    memory_size: ClassVar[int] = 5
    drawable: ClassVar[tuple[str, ...]] = ("max_speed", "max_yaw_rate")
    full_command: ClassVar[dict[str, str]] = {
        "x": "max_speed", "y": "max_speed", "z": "max_speed", "yaw_rate": "max_yaw_rate",
    }

    def prepare(self) -> None:
        """Work out the limits of each agent."""
        self._max_yaw_rate = self.each(lambda spec: spec.max_yaw_rate)
        self._greatest_turn = 0.5 * self.tick * self.greatest(lambda spec: spec.max_yaw_rate)
        self._velocity = self.memory[: self.dimensions]

    @classmethod
    def action_spec(cls, spec: Any, dimensions: int) -> ActionSpec:
        """Velocity [m/s; world], one value per dimension, and yaw rate."""
        top, yaw = spec.max_speed, spec.max_yaw_rate
        limits = dict.fromkeys("xyz"[:dimensions], ("m/s", -top, top))
        return continuous("velocity", {**limits, "yaw_rate": ("rad/s", -yaw, yaw)})

    @classmethod
    def top_speed(cls, spec: Any) -> float:
        """The greatest speed it may have [m/s]."""
        return float(spec.max_speed)

    @abstractmethod
    def follow(self, wish: Array) -> Array:
        """Change the velocity under a commanded one [m/s], (d, n, B), and return the way gone in the tick [m]."""

    def reset(self, heading: Array, speed: Array, where: Any) -> None:
        """Begin with a velocity along the heading."""
        xp = self.xp
        half_sine, half_cosine = xp.sin(0.5 * heading) + 0.0, xp.cos(0.5 * heading)
        sine, cosine = double(half_sine, half_cosine)  # as _turn has them, so that a turn by 0 changes not a bit
        for i, part in enumerate((speed * cosine, speed * sine, speed * 0.0, sine, cosine)):
            self.memory[i][:, where] = part
        for i, part in enumerate((0.0, 0.0, half_sine, half_cosine, speed, 0.0, 0.0, 0.0, 0.0, 0.0), start=3):
            self.block[i][:, where] = part

    def coast_values(self) -> Array:
        """Keep the velocity."""
        values = self.xp.zeros((self.dimensions + 1, *self.block.shape[1:]), dtype=self.xp.float64)
        values[: self.dimensions] = self._velocity
        return values

    def stop_values(self) -> Array:
        """No velocity, no turn."""
        return self.xp.zeros((self.dimensions + 1, *self.block.shape[1:]), dtype=self.xp.float64)

    def step(self, values: Array) -> None:
        """Follow the commanded velocity as the model does, turn at the commanded rate."""
        xp, block, d = self.xp, self.block, self.dimensions
        block[:d] += self.follow(values[:d])
        rate = xp.clip(values[d], -self._max_yaw_rate, self._max_yaw_rate)
        block[12] = rate
        if xp.any(rate != 0.0):
            self._turn(rate)
        vx, vy, sine, cosine = self.memory[0], self.memory[1], self.memory[3], self.memory[4]
        block[7] = cosine * vx + sine * vy
        block[8] = cosine * vy - sine * vx
        if d == 3:
            block[9] = self.memory[2]
        if self.drift is not None:
            self._blow()

    def _turn(self, rate: Array) -> None:
        """Turn the attitude; where the rate is 0 not a bit changes, so that a row alone may skip this."""
        block, memory = self.block, self.memory
        half = rate * (0.5 * self.tick)
        sinc, cosine = sinc_cos(self.xp, half, self._greatest_turn)
        block[5], block[6] = turn(block[5], block[6], half * sinc, cosine)
        memory[3], memory[4] = double(block[5], block[6])

    def heading(self, at: Array) -> tuple[Array, Array]:
        """Return sine and cosine of the headings of some agents, (M,)."""
        return self.flat_memory[3].take(at), self.flat_memory[4].take(at)

    def ground_velocity(self, at: Array) -> Vector:
        """Return the velocity over ground of some agents [m/s; world], (M,)."""
        if self.drift is not None:
            return super().ground_velocity(at)
        return (self.flat_memory[0].take(at), self.flat_memory[1].take(at), self.flat_memory[2].take(at))

    def remember(self, at: Array, velocity: Vector) -> None:
        """Note the velocity."""
        for i, part in enumerate(velocity):
            self.flat_memory[i][at] = part
