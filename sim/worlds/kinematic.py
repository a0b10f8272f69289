"""Kinematic world: agents of mixed dynamics in two or three dimensions, in an arena with obstacles and wind."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, SerializeAsAny, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from pe_sim import streams
from pe_sim.actions import ActionSpec
from pe_sim.arrays import Array, Vector, namespace
from pe_sim.errors import EngagementError
from pe_sim.timing import seconds
from pe_sim.worlds.arena import Arena, Reaction
from pe_sim.worlds.base import Command, World, WorldSpec
from pe_sim.worlds.collisions import CollisionKind, Collisions
from pe_sim.worlds.contact import Solids
from pe_sim.worlds.dynamics.base import Setting
from pe_sim.worlds.dynamics.limits import Limits, draws_of, extremes
from pe_sim.worlds.edges import Edges
from pe_sim.worlds.fleet import Body, Fleet
from pe_sim.worlds.group import Group, model_of, neighbours
from pe_sim.worlds.kinematic_check import check_kinematic, check_kinematic_draws, narrowest
from pe_sim.worlds.moved import DrawnArena, drawn_obstacles
from pe_sim.worlds.obstacles import Obstacle, read_obstacles
from pe_sim.worlds.placement import StartPlaces, agent_keys, agent_names
from pe_sim.worlds.wind import Wind, WindField

if TYPE_CHECKING:
    from pe_sim.engagement import Engagement


TRIALS = 32
"""Starts that are tried before a file that draws its starts is taken."""


class KinematicSpec(WorldSpec):
    """Settings of the kinematic world.

    Attributes:
        dimensions: 2 (motion at constant height) or 3.
        arena: the box that agents stay in.
        obstacles: solids in it; in 2 dimensions they are seen from above, of unlimited height.
        obstacle_contact: what touching an obstacle does: clip, bounce or crash; default what the arena's edge does,
            'open' counting as 'clip'.
        collisions: what agents do that meet, by the radii of their dynamics: nothing (off), bounce, or crash.
        wind: how the air moves; default not at all.
    """

    dimensions: Literal[2, 3] = 3
    arena: Arena
    obstacles: Annotated[tuple[SerializeAsAny[Obstacle], ...], Field(max_length=1000)] = ()
    obstacle_contact: Reaction | None = None
    collisions: CollisionKind = "off"
    wind: Wind | None = None

    @field_validator("obstacles", mode="before")
    @classmethod
    def _read_obstacles(cls, value: Any, info: ValidationInfo) -> Any:
        obstacles = read_obstacles(value)
        return tuple(o.flat() for o in obstacles) if info.data.get("dimensions") == 2 else obstacles

    @property
    def reaction(self) -> Reaction:
        """What touching an obstacle does."""
        if self.obstacle_contact is not None:
            return self.obstacle_contact
        return "clip" if self.arena.edge == "open" else self.arena.edge


class KinematicWorld(World):
    """Integrates agents by their dynamics, all that move alike at once, then keeps them out of what is solid.

    Within a tick: the wind of the tick is drawn, every agent moves, agents that meet collide, then arena edges, then
    obstacles are answered. Inactive agents keep their state to the last bit and take no part.
    """

    name: ClassVar[str] = "kinematic"
    Parameters: ClassVar[type[WorldSpec]] = KinematicSpec
    movable: ClassVar[bool] = True

    def __init__(self, engagement: Engagement, batch: int, xp: Any) -> None:
        super().__init__(engagement, batch, xp)
        spec = engagement.world
        assert isinstance(spec, KinematicSpec)
        self._spec = spec
        self._setting = Setting(spec.dimensions, seconds(spec.tick), batch, xp)
        agents = len(engagement.agents)
        models = [model_of(role.dynamics) for role in engagement.roles.values()]
        self._limits: list[Limits] = []
        self._memory = xp.zeros((max(model.memory_size for model in models), agents, batch), dtype=xp.float64)
        self._groups = [self._group(roles) for roles in neighbours(engagement)]
        self._bodies = self._make_bodies()
        if "crash" in (spec.arena.edge, spec.collisions) or (spec.obstacles and spec.reaction == "crash"):
            self.failed = xp.zeros((agents, batch), dtype=xp.bool)
        movers = [(group.first, group.last, group.model) for group in self._groups]
        fleet = Fleet(self._bodies, movers, self.state.block, self.failed, xp)
        self._fleet = fleet
        self._arena: DrawnArena | None = None
        if "world.arena" in engagement.randomise:
            self._arena = DrawnArena(engagement, spec.arena, spec.dimensions, batch, xp)
        self._moved = drawn_obstacles(engagement, spec.obstacles, batch, xp)
        self._edges = None if spec.arena.edge == "open" else Edges(spec.arena, spec.dimensions, fleet, self._arena)
        self._solids: Solids | None = None
        if spec.obstacles:
            self._solids = Solids(spec.obstacles, spec.reaction, spec.dimensions, fleet, self._edges, self._moved)
        self._collisions: Collisions | None = None
        radii: list[float] | None = None
        if spec.collisions != "off":
            radii = [body.radius for body in self._bodies]
            self._collisions = Collisions(spec.collisions, radii, self._setting.tick, fleet)
        self._start_limits = self._start_boxes()
        low, high = (xp.asarray(np.asarray(corner)[:, None, None]) for corner in (spec.arena.low, spec.arena.high))
        self._start = self._start_in(low, high, slice(None))
        self._start_motion = self._start_motions()
        self._fresh: Array = xp.arange(batch, dtype=xp.int64)
        self._starts = StartPlaces(engagement, xp, self._propose, radii)
        self._names = agent_names(engagement, xp)
        self._radius = xp.asarray([body.radius for body in self._bodies], dtype=xp.float64)[:, None]
        self._wind = None
        if spec.wind is not None:
            self._wind = WindField(spec.wind, spec.dimensions, self._setting.tick, batch, xp)

    @classmethod
    def check(cls, engagement: Engagement) -> None:
        """Refuse what no motion can come of, e.g. a start outside the arena or obstacles too thin for the tick."""
        check_kinematic(engagement)

    @classmethod
    def check_draws(cls, engagement: Engagement) -> None:
        """Refuse arenas and obstacles that may leave no room to start in."""
        check_kinematic_draws(engagement)
        worst = narrowest(engagement)
        if worst is None:
            return
        try:
            keys = streams.episode_keys(*np.asarray([[0] * TRIALS, range(TRIALS)], np.int64))
            cls(worst, TRIALS, namespace()).reset(keys, None)
        except EngagementError as fault:
            raise PydanticCustomError(
                "draw", "at the ends of what is drawn there may be no place to start: {rule}",
                {"rule": fault.rule, "at": "randomise.world"},
            ) from fault

    def action_spec(self, role: str) -> ActionSpec:
        """Return the action of the role's dynamics."""
        dynamics = self.engagement.roles[role].dynamics
        return model_of(dynamics).action_spec(dynamics, self._spec.dimensions)

    def reset(self, keys: Array, rows: Array | None) -> None:
        """Draw start positions clear of obstacles, headings and speeds."""
        xp = self.xp
        where = slice(None) if rows is None else rows
        for drawn in (*self._limits, self._arena, self._moved):
            if drawn is not None:
                drawn.redraw(keys, rows)
        self._fresh = xp.arange(self.batch, dtype=xp.int64) if rows is None else rows
        places = self._starts.draw(keys)
        for axis in range(3):
            self.state.block[axis][:, where] = places[axis]
        motion = agent_keys(keys, "start_motion", self._names)
        (heading_low, heading_span), (speed_low, speed_span) = self._start_motion
        heading = heading_low + heading_span * streams.uniform(xp, motion, 0, 0)
        speed = speed_low + speed_span * streams.uniform(xp, motion, 0, 1)
        for group in self._groups:
            own = slice(group.first, group.last)
            group.model.reset(heading[own], speed[own], where)
        if self.failed is not None:
            self.failed[:, where] = False
        if self._wind is not None:
            self._wind.reset(keys, rows)
        if self._collisions is not None:
            self._collisions.reset(rows)
        for surfaces in (self._edges, self._solids):
            if surfaces is not None:
                surfaces.watch.reset(rows)

    def step(self, commands: dict[str, Command], active: Array | None) -> None:
        """Advance one tick under one command for every role."""
        fleet, edges, solids, collisions = self._fleet, self._edges, self._solids, self._collisions
        near_edge = None if edges is None else edges.watch.near(active)
        near_solid = None if solids is None else solids.watch.near(active)
        start = None if near_solid is None else fleet.places(near_solid)
        pairs = None if collisions is None else collisions.before(active)
        wind = None if self._wind is None else self._wind.blow()
        idle = None if active is None else self.xp.nonzero(~active.reshape(-1))[0]
        kept = None if idle is None else self._save(idle)
        for group in self._groups:
            group.step(commands, wind)
        if idle is not None and kept is not None:
            self._restore(idle, kept)
        if collisions is not None and pairs is not None:
            collisions.after(*pairs)
        if edges is not None and near_edge is not None:
            edges.keep_in(near_edge)
        if solids is not None and near_solid is not None and start is not None:
            solids.keep_out(near_solid, start)

    def _group(self, roles: list[str]) -> Group:
        engagement, xp = self.engagement, self.xp
        spans = {role: engagement.role_ranges[role] for role in roles}
        first, last = spans[roles[0]][0], spans[roles[-1]][1]
        specs = [engagement.roles[role].dynamics for role in roles for _ in range(engagement.roles[role].count)]
        exposure = [spec.wind for spec in specs]  # type: ignore[attr-defined]
        drift = None
        if self._spec.wind is not None and any(exposure):
            drift = xp.zeros((3, last - first, self.batch), dtype=xp.float64)
        setting = self._setting
        if any(draws_of(engagement, role, xp) for role in roles):
            self._limits.append(Limits(engagement, roles, self.batch, xp))
            setting = replace(setting, limits=self._limits[-1])
        model = model_of(specs[0])(specs, self.state.block[:, first:last], self._memory[:, first:last], drift, setting)
        return Group(spans, model, exposure, setting)

    def _make_bodies(self) -> list[Body]:
        air = 0.0 if self._spec.wind is None else self._spec.wind.greatest
        bodies = []
        for name, role in self.engagement.roles.items():
            spec: Any = role.dynamics
            model = model_of(spec)
            top = max(model.top_speed(end) for end in extremes(spec, draws_of(self.engagement, name, self.xp)))
            # A hair more than the greatest way, so that rounding never makes an agent arrive unseen.
            step = (top + spec.wind * air) * self._setting.tick * (1.0 + 1e-9) + 1e-9
            bodies += [Body(spec.radius, step, model.planar)] * role.count
        return bodies

    def _start_boxes(self) -> tuple[Array, Array, Array]:
        """Return the file's own limits of the box that each agent starts in, and its distance from the arena's faces.

        All are in metres, float64 (3, N, 1); a limit that the file does not give is infinite.
        """
        xp, low, high, margin = self.xp, [], [], []
        for agent, name in enumerate(self.engagement.agents):
            role = self.engagement.role_of(name)
            start = self.engagement.roles[role].start
            point = None if start.points is None else start.points[agent - self.engagement.role_ranges[role][0]]
            least, most = [start.low, point], [start.high, point]
            low.append([max([-math.inf, *(corner[axis] for corner in least if corner)]) for axis in range(3)])
            high.append([min([math.inf, *(corner[axis] for corner in most if corner)]) for axis in range(3)])
            radius = 0.0 if point else self._bodies[agent].radius
            margin.append([radius if axis < self._spec.dimensions else 0.0 for axis in range(3)])
        first, last, gap = (xp.asarray(np.asarray(part).T[:, :, None].copy()) for part in (low, high, margin))
        return first, last, gap

    def _start_in(self, low: Array, high: Array, agents: slice) -> tuple[Array, Array]:
        """Return lower corner and extent of the boxes that agents start in [m], for arenas with corners (3, 1, R)."""
        least, most, margin = (part[:, agents] for part in self._start_limits)
        first = self.xp.maximum(low + margin, least)
        return first, self.xp.minimum(high - margin, most) - first

    def _start_motions(self) -> list[tuple[Array, Array]]:
        """Return least value and range of the headings [rad] and of the speeds [m/s] at the start, (N, 1)."""
        starts = [self.engagement.roles[self.engagement.role_of(name)].start for name in self.engagement.agents]
        out = []
        for limits in ([start.heading for start in starts], [start.speed for start in starts]):
            low, high = (self.xp.asarray(side, dtype=self.xp.float64)[:, None] for side in zip(*limits, strict=True))
            out.append((low, high - low))
        return out

    def _propose(self, agents: slice, keys: Array, attempt: Any) -> Vector:
        xp, spec = self.xp, self._spec
        low, span = (part[:, agents] for part in self._start)
        rows: Array | None = None
        if self._arena is not None or self._moved is not None:
            rows = self._fresh if self._starts.rows is None else self._fresh.take(self._starts.rows)
        if self._arena is not None:
            corners = xp.take(self._arena.corners, rows, axis=1)[:, None]
            low, span = self._start_in(corners[:3], corners[3:], agents)
        x, y, z = (low[axis] + span[axis] * streams.uniform(xp, keys, attempt, axis) for axis in range(3))
        for number, said in enumerate(spec.obstacles):
            obstacle = said if self._moved is None else self._moved.of(number, rows)
            # The clearance may be too small beside a corner: a place there is not drawn, which harms nobody.
            x = xp.where(obstacle.clearance(xp, (x, y, z)) > self._radius[agents], x, xp.nan)
        return (x, y, z)

    def _save(self, places: Array) -> list[Array]:
        """Return copies of state and memory of agents in the flat axis N * B."""
        return [self.xp.take(part.reshape(len(part), -1), places, axis=1) for part in (self.state.block, self._memory)]

    def _restore(self, places: Array, kept: list[Array]) -> None:
        """Put back what was saved."""
        for part, values in zip((self.state.block, self._memory), kept, strict=True):
            part.reshape(len(part), -1)[:, places] = values
