"""Double integrator: a point mass that is told its acceleration."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from pe_sim.actions import ActionSpec, continuous
from pe_sim.arrays import Array, Vector
from pe_sim.quantities import Acceleration, Speed
from pe_sim.worlds.base import DynamicsSpec
from pe_sim.worlds.dynamics.base import UNLIMITED, Dynamics, KinematicDynamicsSpec, shorten


class DoubleIntegratorSpec(KinematicDynamicsSpec):
    """Limits of a double integrator.

    Attributes:
        max_speed: greatest speed [m/s].
        max_acceleration: greatest magnitude of the acceleration [m/s^2].
    """

    max_speed: Annotated[Speed, Field(gt=0.0)]
    max_acceleration: Annotated[Acceleration, Field(gt=0.0)]


class DoubleIntegrator(Dynamics):
    """Action: acceleration (x, y, z) [m/s^2; world]. A point mass has no heading: its body axes are the world's.

    Memory: velocity through the air [m/s; world], kept in the state itself while there is no wind.
    """

    name: ClassVar[str] = "double_integrator"
    Parameters: ClassVar[type[DynamicsSpec]] = DoubleIntegratorSpec
    memory_size: ClassVar[int] = 3
    drawable: ClassVar[tuple[str, ...]] = ("max_speed", "max_acceleration")
    full_command: ClassVar[dict[str, str]] = dict.fromkeys("xyz", "max_acceleration")

    def prepare(self) -> None:
        """Work out the limits of each agent."""
        self._max_speed = self.each(lambda spec: spec.max_speed)
        self._max_acceleration = self.each(lambda spec: spec.max_acceleration)
        self._limited = any(spec.max_acceleration < UNLIMITED for spec in self.extremes)
        self._velocity = (self.block[7:10] if self.drift is None else self.memory)[: self.dimensions]

    @classmethod
    def action_spec(cls, spec: Any, dimensions: int) -> ActionSpec:
        """Acceleration [m/s^2; world], one value per dimension."""
        top = spec.max_acceleration
        return continuous("acceleration", dict.fromkeys("xyz"[:dimensions], ("m/s^2", -top, top)))

    @classmethod
    def top_speed(cls, spec: Any) -> float:
        """The greatest speed it may have [m/s]."""
        return float(spec.max_speed)

    def reset(self, heading: Array, speed: Array, where: Any) -> None:
        """Begin with a velocity along the heading."""
        xp = self.xp
        for i, part in enumerate((speed * xp.cos(heading), speed * xp.sin(heading), speed * 0.0)):
            self.memory[i][:, where] = part
            self.block[7 + i][:, where] = part

    def coast_values(self) -> Array:
        """No acceleration."""
        return self.xp.zeros((self.dimensions, *self.block.shape[1:]), dtype=self.xp.float64)

    def stop_values(self) -> Array:
        """The acceleration that ends the motion within this tick, limited when carried out."""
        return self._velocity * (-1.0 / self.tick)

    def step(self, values: Array) -> None:
        """Limit acceleration and final speed, then p += (v + v') dt / 2: exact for a constant acceleration."""
        xp, block, d, velocity = self.xp, self.block, self.dimensions, self._velocity
        if self._limited:
            shorten(xp, values, self._max_acceleration)
        values *= self.tick
        values += velocity
        shorten(xp, values, self._max_speed)
        velocity += values
        velocity *= 0.5 * self.tick
        block[:d] += velocity
        velocity[...] = values
        if self.drift is not None:
            block[7 : 7 + d] = values
            self._blow()

    def ground_velocity(self, at: Array) -> Vector:
        """Return the velocity over ground of some agents [m/s; world], (M,): body and world axes are the same."""
        return (self.flat[7].take(at), self.flat[8].take(at), self.flat[9].take(at))

    def show_ground_velocity(self, at: Array, velocity: Vector) -> None:
        """Write the velocity over ground of some agents [m/s; world] into the state."""
        for i, part in enumerate(velocity, start=7):
            self.flat[i][at] = part

    def remember(self, at: Array, velocity: Vector) -> None:
        """Note the velocity, where the state itself is not the memory."""
        if self.drift is None:
            return
        for i, part in enumerate(velocity):
            self.flat_memory[i][at] = part
