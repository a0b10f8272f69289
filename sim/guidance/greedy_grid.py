"""Greedy grid play: the move that brings the nearest opponent nearer, or farther away."""

from __future__ import annotations

from typing import ClassVar, Literal

from pe_sim.arrays import Array
from pe_sim.errors import ContractError
from pe_sim.guidance.base import Guidance, GuidanceSpec
from pe_sim.guidance.tracks import TrackReader, nearest_track
from pe_sim.policies.base import PolicyContext, Views
from pe_sim.worlds.grid import MOVES


def moves_of_action(context: PolicyContext, law: str) -> tuple[tuple[int, int], ...]:
    """Return what each choice of the agents' action does on the grid.

    Raises:
        ContractError: if they do not move on a grid.
    """
    if not context.action.kind.startswith("grid_move"):
        raise ContractError(f"guidance/{law}", "plays on the grid only", context.action.kind)
    stays = context.action.choices % 2
    return MOVES[1 - stays : 1 - stays + context.action.choices]


class GreedyGridSpec(GuidanceSpec):
    """Which way to play.

    Attributes:
        intent: 'chase' to come nearer, 'flee' to get away.
    """

    intent: Literal["chase", "flee"]


class GreedyGrid(Guidance):
    """Looks one own move ahead, the opponent standing still; ties go to the first move of the list."""

    name: ClassVar[str] = "greedy_grid"
    formula: ClassVar[str] = "min or max of abs(r - move)^2"
    needs: ClassVar[str] = "direction and range of the opponents"
    Parameters: ClassVar[type[GuidanceSpec]] = GreedyGridSpec
    parameters: GreedyGridSpec

    def __init__(self, context: PolicyContext, parameters: GuidanceSpec) -> None:
        super().__init__(context, parameters)
        self._moves = moves_of_action(context, self.name)
        self._tracks = TrackReader(context, self.name)

    def law(self, views: Views, now: Array, due: Array) -> tuple[Array, Array | None]:
        """Score each move by the squared distance after it."""
        del now, due
        xp = self.xp
        track, seen = nearest_track(xp, self._tracks.read(views))
        sign = 1.0 if self.parameters.intent == "chase" else -1.0
        scores = []
        for dx, dy in self._moves:
            x, y = track.sight[0] - dx, track.sight[1] - dy
            scores.append(sign * (x * x + y * y))
        choice = xp.argmin(xp.stack(scores), axis=0)
        return xp.astype(choice, xp.float32)[None], seen
