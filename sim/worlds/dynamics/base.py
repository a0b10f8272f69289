"""The contract of a dynamics model of the kinematic world: one tick of motion for the agents of one role."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from pe_sim.actions import ActionSpec, Mode
from pe_sim.arrays import Array, Vector, add, dot, scale
from pe_sim.worlds.base import Command, DynamicsSpec


class Dynamics(ABC):
    """Motion of the n agents of one role in B engagements.

    A model integrates exactly over a tick for a command held constant where a closed form exists, else says how.

    Args:
        spec: its section of the engagement file.
        block: the role's part of the canonical state, a view (13, n, B) that :meth:`step` writes.
        dimensions: 2 or 3; in 2 the height never changes.
        tick: length of a tick [s].
        xp: array namespace.
    """

    name: ClassVar[str]
    world: ClassVar[str] = "kinematic"
    Parameters: ClassVar[type[DynamicsSpec]] = DynamicsSpec

    def __init__(self, spec: DynamicsSpec, block: Array, dimensions: int, tick: float, xp: Any) -> None:
        self.spec = spec
        self.block = block
        self.dimensions = dimensions
        self.tick = tick
        self.xp = xp

    @abstractmethod
    def action_spec(self) -> ActionSpec:
        """Return what the agents can do."""

    @abstractmethod
    def reset(self, heading: Array, speed: Array, where: Any) -> None:
        """Begin with a heading [rad] and a speed along it [m/s], each (n, R), in the engagements ``where``."""

    @abstractmethod
    def step(self, values: Array, active: Array | None) -> None:
        """Advance one tick under action values, float64 (A, n, B); agents not active keep their state."""

    @abstractmethod
    def coast_values(self) -> Array:
        """Return the action that lets the agents go on without control, float64 (A, n, B)."""

    @abstractmethod
    def stop_values(self) -> Array:
        """Return the action that brings the agents to rest, or as near as the model can, float64 (A, n, B)."""

    @abstractmethod
    def velocity(self) -> Vector:
        """Return the velocity over ground [m/s; world], (n, B)."""

    @abstractmethod
    def set_velocity(self, velocity: Vector, where: Array) -> None:
        """Change the velocity over ground [m/s; world] where told, bool (n, B): after an impact."""

    def impact(self, normal: Vector, where: Array, restitution: float) -> None:
        """Take the velocity into a surface away (restitution 0) or reverse it (1).

        Args:
            normal: outward unit normal of the surface [world], (n, B).
            where: agents in contact, bool (n, B).
            restitution: part of the normal speed that comes back.
        """
        velocity = self.velocity()
        inward = dot(velocity, normal)
        where = where & (inward < 0.0)
        self.set_velocity(add(velocity, scale(normal, -(1.0 + restitution) * inward)), where)

    def commanded(self, command: Command) -> Array:
        """Return the action values in effect as float64, with coast and stop put in where they apply."""
        xp = self.xp
        values = xp.astype(command.values, xp.float64)
        if command.mode is None:
            return values
        values = xp.where(command.mode == int(Mode.COAST), self.coast_values(), values)
        return xp.where(command.mode == int(Mode.STOP), self.stop_values(), values)

    def write(self, first: int, parts: Vector | tuple[Array, ...], active: Array | None) -> None:
        """Write components of the state from ``first`` on, for active agents only."""
        for i, part in enumerate(parts, start=first):
            self.block[i] = part if active is None else self.xp.where(active, part, self.block[i])
