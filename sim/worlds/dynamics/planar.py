"""What rolls: it moves where it points, in a plane; told a speed or an acceleration, and how to turn."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from pydantic import Field

from pe_sim.arrays import Array, Vector, dot
from pe_sim.quantities import Ratio
from pe_sim.worlds.dynamics.base import KinematicDynamicsSpec
from pe_sim.worlds.dynamics.level import Level
from pe_sim.worlds.dynamics.turning import double, half_of, sinc_cos, turn


class PlanarSpec(KinematicDynamicsSpec):
    """Limits of what rolls.

    Attributes:
        wind: part of the wind that carries the agent along; wheels hold against it.
    """

    wind: Ratio = Field(default=0.0, ge=0.0, le=1.0)


class Planar(Level):
    """Moves along its heading at a constant height; the heading is the attitude.

    Memory: speed along the heading through the air [m/s], and what a model adds.
    """

    memory_size: ClassVar[int] = 1
    planar: ClassVar[bool] = True
    driven: ClassVar[bool] = True

    def prepare(self) -> None:
        """Work out the limits of each agent."""
        self._greatest_quarter = 0.25 * self.greatest(self.turn_in_tick)

    def turn_in_tick(self, spec: Any) -> float:
        """Return the greatest angle that an agent turns in a tick [rad]."""
        return float(spec.max_turn_rate * self.tick)

    @abstractmethod
    def drive(self, values: Array) -> tuple[Array, Array, Array, Array]:
        """Return what the tick brings: way along the path [m], angle turned [rad]; speed and turn rate at its end."""

    @abstractmethod
    def start_speed(self, speed: Array, where: Any) -> Array:
        """Return the speed that agents begin with where the file asks for ``speed`` [m/s], (n, R), in ``where``."""

    def reset(self, heading: Array, speed: Array, where: Any) -> None:
        """Begin along the heading."""
        xp = self.xp
        half = 0.5 * heading
        speed = self.start_speed(speed, where)
        self.memory[:, :, where] = 0.0
        self.memory[0][:, where] = speed
        for i, part in enumerate((0.0, 0.0, xp.sin(half) + 0.0, xp.cos(half), speed, 0.0, 0.0, 0.0, 0.0, 0.0), start=3):
            self.block[i][:, where] = part

    def step(self, values: Array) -> None:
        """An arc of constant curvature: its chord is way * sin(a/2) / (a/2), along the heading midway; exact."""
        block = self.block
        way, angle, speed, rate = self.drive(values)
        quarter = 0.25 * angle
        sinc, cosine = sinc_cos(self.xp, quarter, self._greatest_quarter)
        sine = quarter * sinc
        middle = turn(block[5], block[6], sine, cosine)
        east, north = double(*middle)[::-1]
        way = way * (sinc * cosine)
        block[0] += way * east
        block[1] += way * north
        block[5], block[6] = turn(*middle, sine, cosine)
        block[7] = speed
        block[8] = 0.0
        block[12] = rate
        if self.drift is not None:
            block[9] = 0.0
            self._blow()

    def remember(self, at: Array, velocity: Vector) -> None:
        """Note the part of a velocity along the heading."""
        sine, cosine = self.heading(at)
        self.flat_memory[0][at] = cosine * velocity[0] + sine * velocity[1]

    def impact(self, at: Array, normal: Vector, restitution: float) -> None:
        """Slide along the surface, the heading kept; or, where speed comes back, turn as light does at a mirror."""
        if restitution > 0.0:
            sine, cosine = self.heading(at)
            inward = dot(self.ground_velocity(at), normal) < 0.0
            across = 2.0 * self.xp.where(inward, cosine * normal[0] + sine * normal[1], 0.0)
            velocity = self.ground_velocity(at)
            half = half_of(self.xp, cosine - across * normal[0], sine - across * normal[1])
            self.flat[5][at], self.flat[6][at] = half
            self.set_ground_velocity(at, velocity)
        super().impact(at, normal, restitution)
