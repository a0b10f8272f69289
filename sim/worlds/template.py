"""The smallest world: points on a line. Copy this file to write your own.

Then register it by entry points::

    [project.entry-points."pe_sim.worlds"]
    my_world = "my_package.my_world:MyWorld"
    [project.entry-points."pe_sim.dynamics"]
    my_mover = "my_package.my_world:MyMover"

and hold it to the contract by inheriting :class:`pe_sim.worlds.contract.WorldContract` in your tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field

from pe_sim import streams
from pe_sim.actions import ActionSpec, Mode, continuous
from pe_sim.arrays import Array, Vector
from pe_sim.quantities import Length, Speed
from pe_sim.timing import seconds
from pe_sim.worlds.base import Command, DynamicsSpec, World, WorldSpec
from pe_sim.worlds.placement import StartPlaces

if TYPE_CHECKING:
    from pe_sim.engagement import Engagement


class TemplateMoverSpec(DynamicsSpec):
    """How an agent moves: its section ``dynamics`` in the engagement file.

    Attributes:
        max_speed: greatest speed [m/s].
    """

    max_speed: Annotated[Speed, Field(gt=0.0)] = 1.0


class TemplateMover:
    """Names the model and the world it belongs to."""

    name: ClassVar[str] = "template_mover"
    world: ClassVar[str] = "template"
    Parameters: ClassVar[type[DynamicsSpec]] = TemplateMoverSpec


class TemplateSpec(WorldSpec):
    """The section ``world`` of the engagement file.

    Attributes:
        length: agents stay between 0 and this [m].
    """

    length: Annotated[Length, Field(gt=0.0)] = 10.0


class TemplateWorld(World):
    """Points that move along x at the speed they are told."""

    name: ClassVar[str] = "template"
    Parameters: ClassVar[type[WorldSpec]] = TemplateSpec

    def __init__(self, engagement: Engagement, batch: int, xp: Any) -> None:
        super().__init__(engagement, batch, xp)
        assert isinstance(engagement.world, TemplateSpec)
        self._length = engagement.world.length
        self._tick = seconds(engagement.world.tick)
        self._starts = StartPlaces(engagement, xp, self._propose)

    def action_spec(self, role: str) -> ActionSpec:
        """Speed along x [m/s]."""
        dynamics = self.engagement.roles[role].dynamics
        assert isinstance(dynamics, TemplateMoverSpec)
        return continuous("line_speed", {"speed": ("m/s", -dynamics.max_speed, dynamics.max_speed)})

    def reset(self, keys: Array, rows: Array | None) -> None:
        """Put every agent somewhere on the line. Draw from ``keys`` only: that makes a row of a batch reproducible."""
        where = slice(None) if rows is None else rows
        self.state.block[0][:, where] = self._starts.draw(keys)[0]
        self.state.block[7][:, where] = 0.0

    def _propose(self, _: slice, keys: Array, attempt: Any) -> Vector:
        x = self._length * streams.uniform(self.xp, keys, attempt)
        return (x, x * 0.0, x * 0.0)

    def step(self, commands: dict[str, Command], active: Array | None) -> None:
        """Advance one tick. Write the canonical state in place; leave agents that are not active alone."""
        for role, command in commands.items():
            first, last = self.engagement.role_ranges[role]
            x = self.state.block[0, first:last]
            speed = self.xp.astype(command.values[0], self.xp.float64)
            if command.mode is not None:  # to coast and to stop is to stand still here; to hold is to go on
                stands = (command.mode == int(Mode.COAST)) | (command.mode == int(Mode.STOP))
                speed = self.xp.where(stands, 0.0, speed)
            new = self.xp.clip(x + speed * self._tick, 0.0, self._length)
            velocity = (new - x) / self._tick
            if active is not None:
                velocity = self.xp.where(active[first:last], velocity, self.state.block[7, first:last])
                new = self.xp.where(active[first:last], new, x)
            self.state.block[7, first:last] = velocity
            self.state.block[0, first:last] = new
