"""Grid world: N x N cells, obstacles, four or eight ways and stay, all agents moving at once.

The cell (i, j) is the position (i, j, 0) [cells = m; world]: i to the east, j to the north, from (0, 0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field
from pydantic_core import PydanticCustomError

from pe_sim import streams
from pe_sim.actions import ActionSpec, Mode, discrete
from pe_sim.arrays import Array, Vector
from pe_sim.timing import seconds
from pe_sim.worlds.base import Command, DynamicsSpec, World, WorldSpec
from pe_sim.worlds.placement import place_agents

if TYPE_CHECKING:
    from pe_sim.engagement import Engagement

MOVES = ((0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1))
"""Stay, east, north, west, south, then the diagonals counter-clockwise from north-east."""


class GridMoverSpec(DynamicsSpec):
    """How an agent moves on the grid.

    Attributes:
        moves: 4 or 8 directions.
        stay: whether staying is a choice (always choice 0 then).
    """

    moves: Literal[4, 8] = 8
    stay: bool = True


class GridMover:
    """The dynamics of the grid: a choice of neighbour cell."""

    name: ClassVar[str] = "grid_mover"
    world: ClassVar[str] = "grid"
    Parameters: ClassVar[type[DynamicsSpec]] = GridMoverSpec


class GridSpec(WorldSpec):
    """Settings of the grid world.

    Attributes:
        size: cells along each side.
        obstacles: blocked cells (i, j).
        wall: what a move into a wall or obstacle does: stay put (clip), end the agent (crash), or go the
            opposite way if that is free (bounce).
    """

    size: Annotated[int, Field(ge=2, le=10_000)] = 10
    obstacles: tuple[tuple[int, int], ...] = ()
    wall: Literal["clip", "crash", "bounce"] = "clip"


class GridWorld(World):
    """Simultaneous moves on a grid; collisions are the rules' business, not the world's."""

    name: ClassVar[str] = "grid"
    Parameters: ClassVar[type[WorldSpec]] = GridSpec

    def __init__(self, engagement: Engagement, batch: int, xp: Any) -> None:
        super().__init__(engagement, batch, xp)
        spec = engagement.world
        assert isinstance(spec, GridSpec)
        self._spec = spec
        self._speed = 1.0 / seconds(spec.tick)
        self._blocked: Array | None = None
        if spec.obstacles:
            blocked = np.zeros((spec.size, spec.size), dtype=bool)
            for i, j in spec.obstacles:
                blocked[i, j] = True
            self._blocked = xp.asarray(blocked.ravel())
        if spec.wall == "crash":
            self.failed = xp.zeros((len(engagement.agents), batch), dtype=xp.bool)
        self._tables = {role: self._move_table(role) for role in engagement.roles}

    @classmethod
    def check(cls, engagement: Engagement) -> None:
        """Refuse obstacles outside the grid and start points that are not cells."""
        spec = engagement.world
        assert isinstance(spec, GridSpec)
        for cell in spec.obstacles:
            if not all(0 <= c < spec.size for c in cell):
                raise PydanticCustomError("grid", "world.obstacles: {cell} is outside the grid", {"cell": str(cell)})
        for name, role in engagement.roles.items():
            for point in role.start.points or ():
                inside = all(c == int(c) and 0 <= c < spec.size for c in point[:2]) and point[2] == 0
                if not inside or (int(point[0]), int(point[1])) in spec.obstacles:
                    raise PydanticCustomError(
                        "grid", "roles.{role}.start.points: {point} is no free cell", {"role": name, "point": str(point)}
                    )

    def _moves(self, role: str) -> tuple[tuple[int, int], ...]:
        spec = self.engagement.roles[role].dynamics
        assert isinstance(spec, GridMoverSpec)
        return MOVES[0 if spec.stay else 1 : spec.moves + 1]

    def _move_table(self, role: str) -> Array:
        return self.xp.asarray(np.asarray(self._moves(role), dtype=np.float64).T.copy())

    def action_spec(self, role: str) -> ActionSpec:
        """One choice out of the role's moves, kind 'grid_move<choices>'."""
        choices = len(self._moves(role))
        return discrete(f"grid_move{choices}", choices)

    def reset(self, keys: Array, rows: Array | None) -> None:
        """Draw distinct free cells."""
        xp = self.xp
        places = place_agents(self.engagement, xp, keys, self._propose)
        where = slice(None) if rows is None else rows
        for agent, place in enumerate(places):
            self.state.block[0, agent, where] = place[0]
            self.state.block[1, agent, where] = place[1]
        self.state.block[7:9, :, where] = 0.0
        if self.failed is not None:
            self.failed[:, where] = False

    def _propose(self, agent: int, key: Array, attempt: int) -> Vector:
        xp, size = self.xp, self._spec.size
        role = self.engagement.role_of(self.engagement.agents[agent])
        start = self.engagement.roles[role].start
        zero = xp.zeros(key.shape, dtype=xp.float64)
        if start.points is not None:
            point = start.points[agent - self.engagement.role_ranges[role][0]]
            return (zero + point[0], zero + point[1], zero)
        place = []
        for axis in range(2):
            low = 0.0 if start.low is None else max(0.0, np.ceil(start.low[axis]))
            high = size - 1.0 if start.high is None else min(size - 1.0, np.floor(start.high[axis]))
            place.append(low + xp.floor(streams.uniform(xp, key, attempt, axis) * (high - low + 1.0)))
        if self._blocked is None:
            return (place[0], place[1], zero)
        free = ~self._is_blocked(place[0], place[1])
        return (xp.where(free, place[0], xp.nan), place[1], zero)

    def _is_blocked(self, x: Array, y: Array) -> Array:
        """Return whether cells inside the grid hold an obstacle."""
        xp = self.xp
        assert self._blocked is not None
        flat = xp.astype(x * float(self._spec.size) + y, xp.int64)
        return xp.reshape(xp.take(self._blocked, xp.reshape(flat, (-1,))), flat.shape)

    def _closed(self, x: Array, y: Array) -> Array:
        """Return whether cells are a wall or an obstacle."""
        xp, top = self.xp, self._spec.size - 1.0
        inside_x, inside_y = xp.clip(x, 0.0, top), xp.clip(y, 0.0, top)
        outside = (inside_x != x) | (inside_y != y)
        return outside if self._blocked is None else outside | self._is_blocked(inside_x, inside_y)

    def step(self, commands: dict[str, Command], active: Array | None) -> None:
        """Move every agent at once."""
        xp, block = self.xp, self.state.block
        for role, command in commands.items():
            first, last = self.engagement.role_ranges[role]
            x, y = block[0, first:last], block[1, first:last]
            dx, dy = self._displacement(role, command, None if active is None else active[first:last])
            nx, ny = x + dx, y + dy
            if self._spec.wall == "clip" and self._blocked is None:
                # Clipping each axis by itself lets a diagonal move slide along the wall, as clipping does.
                top = self._spec.size - 1.0
                nx, ny = xp.clip(nx, 0.0, top), xp.clip(ny, 0.0, top)
            else:
                nx, ny = self._resolve(x, y, dx, dy, (first, last))
            vx, vy = (nx - x) * self._speed, (ny - y) * self._speed
            if active is not None:
                vx = xp.where(active[first:last], vx, block[7, first:last])
                vy = xp.where(active[first:last], vy, block[8, first:last])
            block[7, first:last] = vx
            block[8, first:last] = vy
            block[0, first:last] = nx
            block[1, first:last] = ny

    def _displacement(self, role: str, command: Command, active: Array | None) -> tuple[Array, Array]:
        xp = self.xp
        choice = xp.astype(command.values[0], xp.int64)
        flat = xp.reshape(choice, (-1,))
        dx = xp.reshape(xp.take(self._tables[role][0], flat), choice.shape)
        dy = xp.reshape(xp.take(self._tables[role][1], flat), choice.shape)
        moving = active
        if command.mode is not None:
            executes = command.mode == int(Mode.EXECUTE)
            moving = executes if moving is None else moving & executes
        if moving is not None:
            dx, dy = xp.where(moving, dx, 0.0), xp.where(moving, dy, 0.0)
        return dx, dy

    def _resolve(self, x: Array, y: Array, dx: Array, dy: Array, span: tuple[int, int]) -> tuple[Array, Array]:
        """Return the cells reached, given walls and obstacles."""
        xp, top = self.xp, self._spec.size - 1.0
        nx, ny = x + dx, y + dy
        if self._spec.wall == "clip":
            nx, ny = xp.clip(nx, 0.0, top), xp.clip(ny, 0.0, top)
        closed = self._closed(nx, ny)
        if self._spec.wall == "bounce":
            bx, by = x - dx, y - dy
            back = closed & ~self._closed(bx, by)
            nx, ny = xp.where(back, bx, nx), xp.where(back, by, ny)
            closed = closed & ~back
        if self.failed is not None:
            self.failed[span[0] : span[1]] |= closed
        return xp.where(closed, x, nx), xp.where(closed, y, ny)
