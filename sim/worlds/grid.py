"""Grid world: N x N cells, obstacles, four or eight ways and stay, all agents moving at once.

The cell (i, j) is the position (i, j, 0) [cells = m; world]: i to the east, j to the north, from (0, 0).

Moves are simultaneous: where an agent goes depends on its own cell and move only, never on the others or on the order
of the commands. Agents may share a cell and may swap cells; whether they met is for the rules to say. With a capture
radius above 1 m no pursuer can swap with its evader unnoticed, because neighbours are already that near.
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
from pe_sim.worlds.placement import StartPlaces

if TYPE_CHECKING:
    from pe_sim.engagement import Engagement

MOVES = ((0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1))
"""Stay, east, north, west, south, then the diagonals counter-clockwise from north-east."""


class GridMoverSpec(DynamicsSpec):
    """How an agent moves on the grid; its speed is ``steps / every`` cells a tick.

    Attributes:
        moves: 4 or 8 directions.
        stay: whether staying is a choice (always choice 0 then).
        every: it moves at every so many-th tick, first at tick 0, and stays at the others, whatever it is told.
        steps: so many cells at a time, one after the other: it jumps over nothing.
    """

    moves: Literal[4, 8] = 8
    stay: bool = True
    every: Annotated[int, Field(ge=1, le=1000)] = 1
    steps: Annotated[int, Field(ge=1, le=1000)] = 1


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
        wall: what a move into a wall or obstacle does: clip (stay put; along a wall a diagonal move keeps the part
            that is free), crash (stay put and end), or bounce (go the opposite way, or stay put if that is not free).
        diagonal: when a diagonal move may pass the corner of blocked cells: always, one_free (if at least one of the
            two cells beside it is free), or both_free. Otherwise it counts as a move into an obstacle.
    """

    size: Annotated[int, Field(ge=2, le=10_000)] = 10
    obstacles: tuple[tuple[int, int], ...] = ()
    wall: Literal["clip", "crash", "bounce"] = "clip"
    diagonal: Literal["always", "one_free", "both_free"] = "always"


class GridWorld(World):
    """Simultaneous moves on a grid."""

    name: ClassVar[str] = "grid"
    Parameters: ClassVar[type[WorldSpec]] = GridSpec

    def __init__(self, engagement: Engagement, batch: int, xp: Any) -> None:
        super().__init__(engagement, batch, xp)
        spec = engagement.world
        assert isinstance(spec, GridSpec)
        self._spec = spec
        self._top = spec.size - 1.0
        self._speed = 1.0 / seconds(spec.tick)
        self._blocked: Array | None = None
        if spec.obstacles:
            blocked = np.zeros((spec.size, spec.size), dtype=bool)
            for i, j in spec.obstacles:
                blocked[i, j] = True
            self._blocked = xp.asarray(blocked.ravel())
        agents = len(engagement.agents)
        if spec.wall == "crash":
            self.failed = xp.zeros((agents, batch), dtype=xp.bool)
        self._east = xp.asarray([float(i) for i, _ in MOVES], dtype=xp.float64)
        self._north = xp.asarray([float(j) for _, j in MOVES], dtype=xp.float64)
        self._choice = xp.zeros((agents, batch), dtype=xp.int64)
        movers = [_mover(engagement, engagement.role_of(agent)) for agent in engagement.agents]
        first = [0 if mover.stay else 1 for mover in movers]
        self._first = xp.asarray(first, dtype=xp.int64)[:, None] if any(first) else None
        self._steps = xp.asarray([mover.steps for mover in movers], dtype=xp.int64)[:, None]
        self._most_steps = max(mover.steps for mover in movers)
        every = [mover.every for mover in movers]
        self._every = xp.asarray(every, dtype=xp.int64)[:, None] if max(every) > 1 else None
        self._tick = xp.zeros((batch,), dtype=xp.int64)
        self._start = self._start_box(engagement)
        self._starts = StartPlaces(engagement, xp, self._propose)

    @classmethod
    def check(cls, engagement: Engagement) -> None:
        """Refuse obstacles outside the grid, start points that are not free cells and start boxes without a cell."""
        spec = engagement.world
        assert isinstance(spec, GridSpec)
        for cell in spec.obstacles:
            if not all(0 <= c < spec.size for c in cell):
                raise PydanticCustomError("grid", "world.obstacles: {cell} is outside the grid", {"cell": str(cell)})
        for name, role in engagement.roles.items():
            low, high = role.start.low or (0.0, 0.0), role.start.high or (spec.size, spec.size)
            sides = zip(low[:2], high[:2], strict=True)
            if any(np.ceil(max(a, 0.0)) > np.floor(min(b, spec.size - 1.0)) for a, b in sides):
                raise PydanticCustomError("grid", "roles.{role}.start: no cell lies in this box", {"role": name})
            for point in role.start.points or ():
                inside = all(c == int(c) and 0 <= c < spec.size for c in point[:2]) and point[2] == 0
                if not inside or (int(point[0]), int(point[1])) in spec.obstacles:
                    raise PydanticCustomError(
                        "grid", "roles.{role}.start.points: {point} is no free cell",
                        {"role": name, "point": str(point)},
                    )

    def action_spec(self, role: str) -> ActionSpec:
        """One choice out of MOVES, the first left out where the role cannot stay; kind 'grid_move<choices>'."""
        mover = _mover(self.engagement, role)
        choices = mover.moves + mover.stay
        return discrete(f"grid_move{choices}", choices)

    def reset(self, keys: Array, rows: Array | None) -> None:
        """Draw distinct free cells."""
        places = self._starts.draw(keys)
        where = slice(None) if rows is None else rows
        block = self.state.block
        for axis in range(2):
            block[axis][:, where] = places[axis]
            block[7 + axis][:, where] = 0.0
        self._tick[where] = 0
        if self.failed is not None:
            self.failed[:, where] = False

    def _start_box(self, engagement: Engagement) -> tuple[Array, Array]:
        """Return the least cell of each agent's start box and its number of cells per side, float64 (2, N, 1)."""
        low, count = [], []
        for role in engagement.roles.values():
            for number in range(role.count):
                first, last = role.start.low or (0.0, 0.0), role.start.high or (self._top, self._top)
                if role.start.points is not None:
                    first = last = role.start.points[number]
                least = [max(0.0, float(np.ceil(c))) for c in first[:2]]
                low.append(least)
                count.append([min(self._top, float(np.floor(c))) - a + 1.0 for c, a in zip(last, least, strict=False)])
        xp = self.xp
        return xp.asarray(np.asarray(low).T[:, :, None].copy()), xp.asarray(np.asarray(count).T[:, :, None].copy())

    def _propose(self, agents: slice, keys: Array, attempt: Any) -> Vector:
        xp, (low, count) = self.xp, self._start
        x, y = (
            low[axis, agents] + xp.floor(streams.uniform(xp, keys, attempt, axis) * count[axis, agents])
            for axis in range(2)
        )
        if self._blocked is None:
            return (x, y, x * 0.0)
        return (xp.where(self._is_blocked(x, y), xp.nan, x), y, x * 0.0)

    def step(self, commands: dict[str, Command], active: Array | None) -> None:
        """Move every agent at once."""
        xp, block = self.xp, self.state.block
        choice = self._moves_chosen(commands, active)
        dx, dy = self._east.take(choice), self._north.take(choice)
        x, y = block[0], block[1]
        nx, ny = self._advance(x, y, dx, dy)
        for step in range(1, self._most_steps):
            further = self._steps > step
            dx *= further
            dy *= further
            nx, ny = self._advance(nx, ny, dx, dy)
        vx, vy = (nx - x) * self._speed, (ny - y) * self._speed
        if active is not None:
            vx, vy = xp.where(active, vx, block[7]), xp.where(active, vy, block[8])
        block[0], block[1], block[7], block[8] = nx, ny, vx, vy
        self._tick += 1

    def _moves_chosen(self, commands: dict[str, Command], active: Array | None) -> Array:
        """Return the index into MOVES of what every agent does in this tick, (N, B)."""
        xp, choice = self.xp, self._choice
        for role, command in commands.items():
            first, last = self.engagement.role_ranges[role]
            choice[first:last] = command.values[0]
        if self._first is not None:
            choice += self._first
        for role, command in commands.items():
            if command.mode is not None:  # to coast and to stop is to stay; to hold is to go on
                first, last = self.engagement.role_ranges[role]
                stays = (command.mode == int(Mode.COAST)) | (command.mode == int(Mode.STOP))
                choice[first:last] = xp.where(stays, 0, choice[first:last])
        if active is not None:
            choice *= active
        if self._every is not None:
            choice *= self._tick % self._every == 0
        return choice

    def _advance(self, x: Array, y: Array, dx: Array, dy: Array) -> tuple[Array, Array]:
        """Return the cells reached by one step of one cell; a step that bounces turns ``dx`` and ``dy`` around."""
        xp, wall = self.xp, self._spec.wall
        nx, ny = x + dx, y + dy
        if wall == "clip":
            # Clipping each axis by itself lets a diagonal move slide along the wall.
            nx, ny = xp.clip(nx, 0.0, self._top), xp.clip(ny, 0.0, self._top)
            if self._blocked is None:
                return nx, ny
        closed = self._closed(x, y, nx, ny)
        if xp.any(closed):
            self._turn_back(xp.nonzero(closed.reshape(-1))[0], (x, y), (nx, ny), (dx, dy))
        return nx, ny

    def _turn_back(self, at: Array, old: tuple[Array, ...], new: tuple[Array, ...], way: tuple[Array, ...]) -> None:
        """Correct the steps, at places of the flat axis N * B, that a wall or an obstacle has closed."""
        x, y = (part.take(at) for part in old)
        if self.failed is not None:
            self.failed.reshape(-1)[at] = True
        if self._spec.wall == "bounce":
            dx, dy = (part.take(at) for part in way)
            free = ~self._closed(x, y, x - dx, y - dy)
            for part, step in zip(way, (dx, dy), strict=True):
                part.reshape(-1)[at] = self.xp.where(free, -step, step)
            x, y = x - dx * free, y - dy * free
        for part, place in zip(new, (x, y), strict=True):
            part.reshape(-1)[at] = place

    def _closed(self, x: Array, y: Array, nx: Array, ny: Array) -> Array:
        """Return whether the way from cells (x, y) to neighbours (nx, ny) is closed by a wall or an obstacle."""
        xp = self.xp
        inside_x, inside_y = xp.clip(nx, 0.0, self._top), xp.clip(ny, 0.0, self._top)
        closed = (inside_x != nx) | (inside_y != ny)
        if self._blocked is None:
            return closed
        closed = closed | self._is_blocked(inside_x, inside_y)
        if self._spec.diagonal == "always":
            return closed
        # Of a straight move one side cell is the start, the other the goal: the rule changes nothing there.
        beside_x, beside_y = self._is_blocked(inside_x, y), self._is_blocked(x, inside_y)
        cut = beside_x | beside_y if self._spec.diagonal == "both_free" else beside_x & beside_y
        return closed | cut

    def _is_blocked(self, x: Array, y: Array) -> Array:
        """Return whether cells inside the grid hold an obstacle."""
        assert self._blocked is not None
        cell = self.xp.astype(x * float(self._spec.size) + y, self.xp.int64)
        return self._blocked.take(cell)


def _mover(engagement: Engagement, role: str) -> GridMoverSpec:
    spec = engagement.roles[role].dynamics
    assert isinstance(spec, GridMoverSpec)
    return spec
