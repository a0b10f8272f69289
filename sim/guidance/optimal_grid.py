"""Optimal grid play: the exact game against the nearest opponent, solved beforehand."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from pe_sim.arrays import Array
from pe_sim.errors import ContractError
from pe_sim.guidance.base import Guidance, GuidanceSpec
from pe_sim.guidance.greedy_grid import moves_of_action
from pe_sim.guidance.grid_game import MAX_CELLS, GridGame, solve
from pe_sim.guidance.own import PositionReader
from pe_sim.guidance.tracks import TrackReader, nearest_track
from pe_sim.policies.base import PolicyContext, Views
from pe_sim.worlds.grid import GridSpec


class OptimalGridSpec(GuidanceSpec):
    """Which side to play, and against what.

    Attributes:
        intent: 'chase' to catch as soon as possible, 'flee' to hold out as long as possible.
        opponent_moves: the opponent's directions.
        opponent_stay: whether the opponent may stay.
        radius: caught when nearer than this [cells].
    """

    intent: Literal["chase", "flee"]
    opponent_moves: Literal[4, 8] = 8
    opponent_stay: bool = True
    radius: Annotated[float, Field(gt=0.0)] = 1.5


class OptimalGrid(Guidance):
    """The move that makes sure of the game's value whatever the opponent does at the same time (pure strategies)."""

    name: ClassVar[str] = "optimal_grid"
    formula: ClassVar[str] = "V = 1 + min max V(next), 0 where caught"
    needs: ClassVar[str] = "relative or range and direction of the opponents, position"
    Parameters: ClassVar[type[GuidanceSpec]] = OptimalGridSpec
    parameters: OptimalGridSpec

    def __init__(self, context: PolicyContext, parameters: OptimalGridSpec) -> None:
        super().__init__(context, parameters)
        own = moves_of_action(context, self.name)
        world = context.world
        if not isinstance(world, GridSpec) or world.size * world.size > MAX_CELLS:
            raise ContractError(
                f"guidance/{self.name}", f"solves grids of at most {MAX_CELLS} cells", getattr(world, "size", None)
            )
        self._size = world.size
        self._tracks = TrackReader(context, self.name)
        self._place = PositionReader(context, self.name)
        me = (len(own) - len(own) % 2, len(own) % 2 == 1)
        opponent = (parameters.opponent_moves, parameters.opponent_stay)
        chases = parameters.intent == "chase"
        solution = solve(GridGame(
            world.size, me if chases else opponent, opponent if chases else me, parameters.radius,
            frozenset(world.obstacles), world.wall, world.diagonal,
        ))
        table = solution.pursuer_move if chases else solution.evader_move.T
        self._table = self.xp.asarray(table.copy().ravel())

    def law(self, views: Views, now: Array, due: Array) -> tuple[Array, Array | None]:
        """Look the move up."""
        xp, cells = self.xp, self._size * self._size
        place, known = self._place.read(views)
        track, seen = nearest_track(xp, self._tracks.read(views))
        mine = self._cell(place[0], place[1])
        other = self._cell(place[0] + track.sight[0], place[1] + track.sight[1])
        flat = xp.reshape(mine * cells + other, (-1,))
        choice = xp.reshape(xp.take(self._table, flat), mine.shape)
        return xp.astype(choice, xp.float32)[None], seen & known

    def _cell(self, x: Array, y: Array) -> Array:
        """Return the number of the cell nearest to a place."""
        xp, top = self.xp, self._size - 1.0
        i, j = xp.clip(xp.round(x), 0.0, top), xp.clip(xp.round(y), 0.0, top)
        return xp.astype(i * float(self._size) + j, xp.int64)
