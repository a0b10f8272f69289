"""Double integrator: a point mass that is told its acceleration."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from pe_sim.actions import ActionSpec, continuous
from pe_sim.arrays import Array, Vector, limit
from pe_sim.quantities import Acceleration, Speed
from pe_sim.worlds.base import DynamicsSpec
from pe_sim.worlds.dynamics.base import Dynamics


class DoubleIntegratorSpec(DynamicsSpec):
    """Limits of a double integrator.

    Attributes:
        max_speed: greatest speed [m/s].
        max_acceleration: greatest magnitude of the acceleration [m/s^2].
    """

    max_speed: Annotated[Speed, Field(gt=0.0)]
    max_acceleration: Annotated[Acceleration, Field(gt=0.0)]


class DoubleIntegrator(Dynamics):
    """Action: acceleration (x, y, z) [m/s^2; world]. A point mass has no heading: its body axes are the world's."""

    name: ClassVar[str] = "double_integrator"
    Parameters: ClassVar[type[DynamicsSpec]] = DoubleIntegratorSpec
    spec: DoubleIntegratorSpec

    def action_spec(self) -> ActionSpec:
        """Acceleration [m/s^2; world], one value per dimension."""
        top = self.spec.max_acceleration
        return continuous("acceleration", {axis: ("m/s^2", -top, top) for axis in "xyz"[: self.dimensions]})

    def reset(self, heading: Array, speed: Array, where: Array) -> None:
        """Begin with a velocity along the heading."""
        xp = self.xp
        self.block[7, :, where] = speed * xp.cos(heading)
        self.block[8, :, where] = speed * xp.sin(heading)
        self.block[9, :, where] = 0.0

    def velocity(self) -> Vector:
        """Return the velocity [m/s; world]."""
        return (self.block[7], self.block[8], self.block[9])

    def set_velocity(self, velocity: Vector, where: Array) -> None:
        """Change the velocity [m/s; world]."""
        self.write(7, velocity, where)

    def coast_values(self) -> Array:
        """No acceleration."""
        return self.xp.zeros((self.dimensions, *self.block.shape[1:]), dtype=self.xp.float64)

    def stop_values(self) -> Array:
        """The acceleration that ends the motion within this tick, limited when carried out."""
        return self.xp.stack([-v / self.tick for v in self.velocity()[: self.dimensions]])

    def step(self, values: Array, active: Array | None) -> None:
        """Limit acceleration and final speed, then p += (v + v') dt / 2: exact for a constant acceleration."""
        xp, dt = self.xp, self.tick
        flat = self.dimensions == 2
        ax, ay = values[0], values[1]
        az = ax * 0.0 if flat else values[2]
        ax, ay, az = limit(xp, (ax, ay, az), self.spec.max_acceleration)
        old = self.velocity()
        new = limit(xp, (old[0] + ax * dt, old[1] + ay * dt, old[2] + az * dt), self.spec.max_speed)
        place = tuple(self.block[i] + 0.5 * dt * (old[i] + new[i]) for i in range(self.dimensions))
        self.write(0, place, active)
        self.write(7, new[: self.dimensions], active)
