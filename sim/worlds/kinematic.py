"""Kinematic world: agents of mixed dynamics in two or three dimensions, in an arena with obstacles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, SerializeAsAny, field_validator, model_validator
from pydantic_core import PydanticCustomError

from pe_sim import registry, streams
from pe_sim.actions import ActionSpec
from pe_sim.arrays import Array, Vector
from pe_sim.quantities import Length
from pe_sim.schema import Strict
from pe_sim.timing import seconds
from pe_sim.worlds.base import Command, World, WorldSpec
from pe_sim.worlds.obstacles import Obstacle, read_obstacles
from pe_sim.worlds.placement import place_agents

if TYPE_CHECKING:
    from pe_sim.engagement import Engagement
    from pe_sim.worlds.dynamics.base import Dynamics

RESTITUTION = {"clip": 0.0, "bounce": 1.0, "crash": 0.0}
"""Part of the normal speed that comes back from a surface."""


class Arena(Strict):
    """The box that agents stay in.

    Attributes:
        low: lower corner (x, y, z) [m; world].
        high: upper corner [m; world].
        edge: what its faces do: stop the normal motion (clip), reflect it (bounce), end the agent (crash), or
            nothing (open).
    """

    low: tuple[Length, Length, Length]
    high: tuple[Length, Length, Length]
    edge: Literal["clip", "bounce", "crash", "open"] = "clip"

    @model_validator(mode="after")
    def _ordered(self) -> Arena:
        if any(a > b for a, b in zip(self.low, self.high, strict=True)) or self.low[:2] == self.high[:2]:
            raise PydanticCustomError("arena", "low must be below high")
        return self


class KinematicSpec(WorldSpec):
    """Settings of the kinematic world.

    Attributes:
        dimensions: 2 (motion at constant height) or 3.
        arena: the box that agents stay in.
        obstacles: solids in it; touching one does what the arena's edge does, 'open' counting as 'clip'.
    """

    dimensions: Literal[2, 3] = 3
    arena: Arena
    obstacles: Annotated[tuple[SerializeAsAny[Obstacle], ...], Field(max_length=1000)] = ()

    @field_validator("obstacles", mode="before")
    @classmethod
    def _read_obstacles(cls, value: Any) -> Any:
        return read_obstacles(value)


class KinematicWorld(World):
    """Integrates each role by its own dynamics, then keeps agents out of what is solid."""

    name: ClassVar[str] = "kinematic"
    Parameters: ClassVar[type[WorldSpec]] = KinematicSpec

    def __init__(self, engagement: Engagement, batch: int, xp: Any) -> None:
        super().__init__(engagement, batch, xp)
        spec = engagement.world
        assert isinstance(spec, KinematicSpec)
        self._spec = spec
        self._tick = seconds(spec.tick)
        self._models: dict[str, Dynamics] = {}
        for name, role in engagement.roles.items():
            first, last = engagement.role_ranges[name]
            model = registry.lookup("pe_sim.dynamics", role.dynamics.model)
            block = self.state.block[:, first:last]
            self._models[name] = model(role.dynamics, block, spec.dimensions, self._tick, xp)
        if spec.arena.edge == "crash":
            self.failed = xp.zeros((len(engagement.agents), batch), dtype=xp.bool)

    @classmethod
    def check(cls, engagement: Engagement) -> None:
        """Refuse start regions outside the arena."""
        spec = engagement.world
        assert isinstance(spec, KinematicSpec)
        for name, role in engagement.roles.items():
            corners = [p for p in (role.start.low, role.start.high, *(role.start.points or ())) if p is not None]
            for corner in corners:
                for value, low, high in zip(corner, spec.arena.low, spec.arena.high, strict=True):
                    if not low <= value <= high:
                        raise PydanticCustomError(
                            "start", "roles.{role}.start: {point} is outside the arena",
                            {"role": name, "point": str(corner)},
                        )

    def action_spec(self, role: str) -> ActionSpec:
        """Return the action of the role's dynamics."""
        return self._models[role].action_spec()

    def reset(self, keys: Array, rows: Array | None) -> None:
        """Draw start positions clear of obstacles, headings and speeds."""
        xp = self.xp
        places = place_agents(self.engagement, xp, keys, self._propose)
        where = slice(None) if rows is None else rows
        for agent, place in enumerate(places):
            for axis in range(3):
                self.state.block[axis, agent, where] = place[axis]
        motion = streams.derive(keys, streams.name_key("start_motion"))
        for name, role in self.engagement.roles.items():
            first, last = self.engagement.role_ranges[name]
            agent_keys = [streams.derive(motion, streams.name_key(a)) for a in self.engagement.agents[first:last]]
            key = xp.stack(agent_keys)
            heading = _between(role.start.heading, streams.uniform(xp, key, 0, 0))
            speed = _between(role.start.speed, streams.uniform(xp, key, 0, 1))
            self._models[name].reset(heading, speed, where)
        if self.failed is not None:
            self.failed[:, where] = False

    def _propose(self, agent: int, key: Array, attempt: int) -> Vector:
        xp, arena = self.xp, self._spec.arena
        role = self.engagement.role_of(self.engagement.agents[agent])
        start = self.engagement.roles[role].start
        zero = xp.zeros(key.shape, dtype=xp.float64)
        if start.points is not None:
            point = start.points[agent - self.engagement.role_ranges[role][0]]
            return (zero + point[0], zero + point[1], zero + point[2])
        low, high = start.low or arena.low, start.high or arena.high
        x, y, z = (_between((low[i], high[i]), streams.uniform(xp, key, attempt, i)) for i in range(3))
        free: Array | None = None
        for obstacle in self._spec.obstacles:
            outside = obstacle.surface(xp, (x, y, z))[0] > 0.0
            free = outside if free is None else free & outside
        return (x if free is None else xp.where(free, x, xp.nan), y, z)

    def step(self, commands: dict[str, Command], active: Array | None) -> None:
        """Integrate every role, then resolve contacts with obstacles and the arena's faces."""
        for name, command in commands.items():
            first, last = self.engagement.role_ranges[name]
            model = self._models[name]
            moving = None if active is None else active[first:last]
            model.step(model.commanded(command), moving)
            for obstacle in self._spec.obstacles:
                self._keep_out(model, obstacle, (first, last))
            if self._spec.arena.edge != "open":
                self._keep_in(model, (first, last))

    def _keep_out(self, model: Dynamics, obstacle: Obstacle, span: tuple[int, int]) -> None:
        """Push agents out of an obstacle along its normal and take the velocity into it away."""
        xp, block = self.xp, model.block
        distance, normal = obstacle.surface(xp, (block[0], block[1], block[2]))
        inside = distance < 0.0
        if not bool(xp.any(inside)):
            return
        for axis in range(self._spec.dimensions):
            block[axis] = xp.where(inside, block[axis] - distance * normal[axis], block[axis])
        self._contact(model, normal, inside, span)

    def _keep_in(self, model: Dynamics, span: tuple[int, int]) -> None:
        """Hold agents inside the arena; bouncing folds the way beyond a face back into it."""
        xp, block, arena = self.xp, model.block, self._spec.arena
        for axis in range(self._spec.dimensions):
            for bound, sign in ((arena.low[axis], 1.0), (arena.high[axis], -1.0)):
                beyond = sign * (block[axis] - bound) < 0.0
                if not bool(xp.any(beyond)):
                    continue
                place = 2.0 * bound - block[axis] if arena.edge == "bounce" else bound
                block[axis] = xp.where(beyond, place, block[axis])
                zero = block[axis] * 0.0
                normal = tuple(zero + (sign if i == axis else 0.0) for i in range(3))
                self._contact(model, normal, beyond, span)
            block[axis] = xp.clip(block[axis], arena.low[axis], arena.high[axis])

    def _contact(self, model: Dynamics, normal: Vector, where: Array, span: tuple[int, int]) -> None:
        edge = self._spec.arena.edge
        if self.failed is not None:
            self.failed[span[0] : span[1]] |= where
        model.impact(normal, where, RESTITUTION.get(edge, 0.0))


def _between(limits: tuple[float, float], fraction: Array) -> Array:
    """Return the point at a fraction of the way between two limits."""
    return limits[0] + (limits[1] - limits[0]) * fraction
