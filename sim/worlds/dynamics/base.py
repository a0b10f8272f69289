"""The contract of a dynamics model of the kinematic world: one tick of motion for agents that move alike.

One model object moves all agents of neighbouring roles of its kind at once; their limits may differ. Its memory, if
it needs any beside the canonical state, is part of one array that the world owns, so that the world can keep, restore
and reset any agent without knowing its model.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import Field

from pe_sim.actions import ActionSpec
from pe_sim.arrays import Array, Vector, dot, rotate, rotate_back
from pe_sim.quantities import Length, Ratio
from pe_sim.worlds.base import DynamicsSpec
from pe_sim.worlds.dynamics.limits import Limits

UNLIMITED = 1e6
"""A limit at or above this is no limit, and is not computed."""


class KinematicDynamicsSpec(DynamicsSpec):
    """What every dynamics model of the kinematic world has.

    Attributes:
        radius: of the body, a ball that touches obstacles, arena edges and other bodies [m]; 0 for a point.
        wind: part of the wind that carries the agent along, 0 to 1.
    """

    radius: Annotated[Length, Field(ge=0.0)] = 0.0
    wind: Annotated[Ratio, Field(ge=0.0, le=1.0)] = 1.0


@dataclass(frozen=True)
class Setting:
    """Where a model's agents move.

    Attributes:
        dimensions: 2 or 3; in 2 the height never changes.
        tick: length of a tick [s].
        batch: number of engagements B.
        xp: array namespace.
        limits: limits of the agents that are drawn for every episode; None where the file draws none.
    """

    dimensions: int
    tick: float
    batch: int
    xp: Any
    limits: Limits | None = None


class Dynamics(ABC):
    """Motion of n agents in B engagements.

    A model integrates exactly over a tick for a command held constant where a closed form exists, else says how.

    Args:
        specs: the section of the engagement file of each agent, n of them.
        block: the agents' part of the canonical state, a view (13, n, B) that :meth:`step` writes.
        memory: the agents' part of the models' own memory, a view (>= memory_size, n, B).
        drift: what the wind adds to each agent's velocity in this tick [m/s; world], (3, n, B); None without wind.
        setting: where they move.

    Attributes:
        extremes: sections of the file between whose limits those of all agents lie.
        stretch: (places of action values, drawn limit over the file's, (n, B), None for 1); empty where none is drawn.
    """

    name: ClassVar[str]
    world: ClassVar[str] = "kinematic"
    Parameters: ClassVar[type[DynamicsSpec]] = KinematicDynamicsSpec
    memory_size: ClassVar[int] = 0
    planar: ClassVar[bool] = False
    """Whether the agents keep their height in three dimensions too."""
    driven: ClassVar[bool] = False
    """Whether a speed along the heading is what the agents remember of their velocity."""
    drawable: ClassVar[tuple[str, ...]] = ()
    """Keys of the section that can be drawn for every episode: those that reach the motion through :meth:`each`."""
    full_command: ClassVar[dict[str, str]] = {}
    """Action value -> key of the section that bounds it. What can be commanded stays what the file says; where the key
    is drawn, full command is the drawn limit."""

    def __init__(
        self, specs: Sequence[Any], block: Array, memory: Array, drift: Array | None, setting: Setting
    ) -> None:
        self.specs = tuple(specs)
        self.block = block
        self.memory = memory
        self.drift = drift
        self.dimensions = setting.dimensions
        self.tick = setting.tick
        self.xp = setting.xp
        self.flat = _flat(block)
        self._flat_drift = None if drift is None else _flat(drift)
        self.flat_memory = _flat(memory)
        self._limits = setting.limits
        self.extremes = self.specs if self._limits is None else self._limits.extremes
        self.stretch = self._stretch()
        self.prepare()

    @abstractmethod
    def prepare(self) -> None:
        """Work out the limits of each agent, once."""

    @classmethod
    @abstractmethod
    def action_spec(cls, spec: Any, dimensions: int) -> ActionSpec:
        """Return what agents with these parameters can do."""

    @classmethod
    @abstractmethod
    def top_speed(cls, spec: Any) -> float:
        """Return the greatest speed through the air or over ground that the model ever reaches [m/s]."""

    @classmethod
    def check(cls, spec: Any, dimensions: int) -> str | None:
        """Return why these parameters cannot be used in so many dimensions, or None where they can."""
        del spec, dimensions
        return None

    @abstractmethod
    def reset(self, heading: Array, speed: Array, where: Any) -> None:
        """Begin with a heading [rad] and a speed along it [m/s], each (n, R), in the engagements ``where``."""

    @abstractmethod
    def step(self, values: Array) -> None:
        """Advance one tick under action values, float64 (A, n, B); they are the model's to overwrite."""

    @abstractmethod
    def coast_values(self) -> Array:
        """Return the action that lets the agents go on without control, float64 (A, n, B)."""

    @abstractmethod
    def stop_values(self) -> Array:
        """Return the action that brings the agents to rest, or as near as the model can, float64 (A, n, B)."""

    @abstractmethod
    def remember(self, at: Array, velocity: Vector) -> None:
        """Take note that agents now have a velocity through the air [m/s; world]; the state is already written.

        Args:
            at: places of the agents in the flat axis n * B, (M,).
            velocity: components (M,).
        """

    def each(self, limit: Callable[[Any], float]) -> Any:
        """Return a limit of each agent: a float where all have the same, else float64 (n, 1); (n, B) where drawn."""
        drawn = None if self._limits is None else self._limits.each(limit)
        if drawn is not None:
            return drawn
        values = [float(limit(spec)) for spec in self.specs]
        if len(set(values)) == 1:
            return values[0]
        return self.xp.asarray(values, dtype=self.xp.float64)[:, None]

    def greatest(self, limit: Callable[[Any], float]) -> float:
        """Return the greatest limit of any agent."""
        return max(float(limit(spec)) for spec in self.extremes)

    def limit_at(self, limit: Any, where: Any) -> Any:
        """Return a limit (see :meth:`each`) in the engagements ``where``."""
        return limit[:, where] if not isinstance(limit, float) and limit.shape[1] > 1 else limit

    def _stretch(self) -> list[tuple[slice, Array | None]]:
        """Return (places of action values, drawn limit over the file's or None for 1); empty where none is drawn."""
        if self._limits is None or not self._limits.drawn & set(self.full_command.values()):
            return []
        names = self.action_spec(self.specs[0], self.dimensions).names
        ratios = {
            key: self._limits.each(_ratio(key), self.xp.float32)  # in the precision of commands
            for key in dict.fromkeys(self.full_command.values())
            if key in self._limits.drawn
        }
        out: list[tuple[slice, Array | None]] = []
        for place, name in enumerate(names):
            ratio = ratios.get(self.full_command.get(name, ""))
            start = out.pop()[0].start if out and out[-1][1] is ratio else place
            out.append((slice(start, place + 1), ratio))
        return out

    def ground_velocity(self, at: Array) -> Vector:
        """Return the velocity over ground of some agents [m/s; world], (M,)."""
        q, v = self._taken(3, 4, at), self._taken(7, 3, at)
        return rotate((q[0], q[1], q[2], q[3]), (v[0], v[1], v[2]))

    def show_ground_velocity(self, at: Array, velocity: Vector) -> None:
        """Write the velocity over ground of some agents [m/s; world] into the state; their attitude stays."""
        q = self._taken(3, 4, at)
        for i, part in enumerate(rotate_back((q[0], q[1], q[2], q[3]), velocity), start=7):
            self.flat[i][at] = part

    def set_ground_velocity(self, at: Array, velocity: Vector) -> None:
        """Change the velocity over ground of some agents [m/s; world], from which their motion then goes on."""
        self.show_ground_velocity(at, velocity)
        self.remember(at, self.air_velocity(at, velocity))

    def air_velocity(self, at: Array, velocity: Vector) -> Vector:
        """Return the velocity through the air of some agents from that over ground [m/s; world]."""
        if self._flat_drift is None:
            return velocity
        x, y, z = (part.take(at) for part in self._flat_drift)
        return (velocity[0] - x, velocity[1] - y, velocity[2] - z)

    def impact(self, at: Array, normal: Vector, restitution: float) -> None:
        """Take the velocity into a surface away (restitution 0) or reverse it (1).

        A driven agent (:attr:`driven`) that loses it slides along the surface, its engine at the speed it had.

        Args:
            at: places of the agents in the flat axis n * B, (M,), each at most once.
            normal: outward unit normal of the surface [world], (M,).
            restitution: part of the normal speed that comes back.
        """
        velocity = self.ground_velocity(at)
        inward = dot(velocity, normal)
        back = -(1.0 + restitution) * self.xp.where(inward < 0.0, inward, 0.0)
        velocity = (velocity[0] + back * normal[0], velocity[1] + back * normal[1], velocity[2] + back * normal[2])
        if self.driven and restitution == 0.0:
            self.show_ground_velocity(at, velocity)
        else:
            self.set_ground_velocity(at, velocity)

    def halt(self, at: Array) -> None:
        """End the motion of some agents at once: a crash, or no way out."""
        zero = self.xp.zeros(at.shape, dtype=self.xp.float64)
        self.set_ground_velocity(at, (zero, zero, zero))
        for i in range(10, 13):
            self.flat[i][at] = 0.0

    def _taken(self, first: int, count: int, at: Array) -> list[Array]:
        return [self.flat[i].take(at) for i in range(first, first + count)]

    def _blow(self) -> None:
        """Let the wind of this tick carry the agents on, and show their velocity over ground in the state."""
        assert self.drift is not None
        block, drift, d = self.block, self.drift, self.dimensions
        block[:d] += drift[:d] * self.tick
        carried = rotate_back((block[3], block[4], block[5], block[6]), (drift[0], drift[1], drift[2]))
        for i, part in enumerate(carried, start=7):
            block[i] += part


def _ratio(key: str) -> Callable[[Any], float]:
    """Return what gives a drawn limit over the file's."""
    return lambda spec: getattr(spec, key) / getattr(spec.said, key)


def _flat(x: Array) -> Array:
    """Return the view (K, n * B) of an array (K, n, B) whose agents and engagements lie in one piece."""
    return x.reshape(x.shape[0], -1)


def shorten(xp: Any, vector: Array, maximum: Any) -> None:
    """Shorten vectors (d, n, B) in place to at most ``maximum``, directions kept.

    Where a vector is short enough the factor is exactly 1: the root of a square gives back the number.
    """
    square = vector * vector
    size = square[0] + square[1]
    if len(vector) == 3:
        size += square[2]
    vector *= maximum / xp.sqrt(xp.clip(size, maximum * maximum, None))
