"""The exact game of one pursuer and one evader on a grid, both moving at once.

The value of a pair of cells is the number of steps until capture. It is computed twice: as what the pursuer can make
sure of, choosing first (min over its moves of max over the evader's), and as what the evader can make sure of,
choosing first. Where the two agree, as with eight-way moves on an open grid, pure strategies are optimal for both and
play lasts exactly that long; where they do not, optimal play mixes, and these are the bounds of its value.

Backward induction on V = 0 where captured, else 1 + min max V(next) (R. Isaacs, Differential Games, 1965, chapter 3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pe_sim.worlds.grid import MOVES

NEVER = np.int16(2**14)
"""More steps than any game that ends."""

MAX_CELLS = 1024
"""Cells of the largest grid that is solved: a million pairs."""


@dataclass(frozen=True)
class GridGame:
    """Rules of the game.

    Attributes:
        size: cells along each side.
        pursuer: (directions, may stay) of the pursuer, directions 4 or 8.
        evader: those of the evader.
        radius: caught when nearer than this [cells], after both have moved.
        obstacles: blocked cells (i, j).
        wall: what a move into a wall or obstacle does, as in the grid world; with 'crash' nobody makes one.
        diagonal: when a diagonal move may pass the corner of blocked cells, as in the grid world.
    """

    size: int
    pursuer: tuple[int, bool] = (8, True)
    evader: tuple[int, bool] = (8, True)
    radius: float = 1.5
    obstacles: frozenset[tuple[int, int]] = frozenset()
    wall: Literal["clip", "bounce", "crash"] = "clip"
    diagonal: Literal["always", "one_free", "both_free"] = "always"

    def cell(self, i: int, j: int) -> int:
        """Return the number of a cell."""
        return i * self.size + j

    def free(self, i: int, j: int) -> bool:
        """Return whether a cell can be entered."""
        return 0 <= i < self.size and 0 <= j < self.size and (i, j) not in self.obstacles

    def open_way(self, i: int, j: int, x: int, y: int) -> bool:
        """Return whether the way from cell (i, j) to its neighbour (x, y) is open."""
        if not self.free(x, y):
            return False
        # Of a straight move one side cell is the start, the other the goal: the rule changes nothing there.
        blocked = ((x, j) in self.obstacles) + ((i, y) in self.obstacles)
        return blocked <= {"always": 2, "one_free": 1, "both_free": 0}[self.diagonal]


@dataclass(frozen=True)
class Solution:
    """Values and optimal moves for every pair (pursuer's cell, evader's cell), arrays (cells, cells).

    Attributes:
        pursuer_value: steps within which the pursuer can make sure of capture; NEVER where it cannot.
        evader_value: steps that the evader can make sure to last; NEVER for ever.
        pursuer_move: index of the pursuer's move that makes sure of its value.
        evader_move: index of the evader's move that makes sure of its value.
    """

    pursuer_value: NDArray[np.int16]
    evader_value: NDArray[np.int16]
    pursuer_move: NDArray[np.int64]
    evader_move: NDArray[np.int64]

    @property
    def pure(self) -> NDArray[np.bool_]:
        """Where pure strategies are optimal for both."""
        return np.asarray(self.pursuer_value == self.evader_value)


def moves_of(directions: int, *, stay: bool) -> tuple[tuple[int, int], ...]:
    """Return the moves in the order of the grid world's choices."""
    return MOVES[0 if stay else 1 : directions + 1]


def open_grid_length(size: int, pursuer: tuple[int, int], evader: tuple[int, int]) -> int:
    """Return how long optimal play lasts on an open grid, both eight-way, caught under 1.5: a closed form.

    The maximum over the axes of t: t = 0 if |e - p| <= 1, else |far - p| - 1, far the wall that the evader runs to,
    size - 1 if e > p, else 0.
    """
    length = 0
    for p, e in zip(pursuer, evader, strict=True):
        if abs(e - p) > 1:
            far = size - 1 if e > p else 0
            length = max(length, abs(far - p) - 1)
    return length


@cache
def solve(game: GridGame) -> Solution:
    """Return the values and optimal moves of a game.

    Raises:
        ValueError: if the grid is too large.
    """
    if game.size * game.size > MAX_CELLS:
        raise ValueError(f"a grid of {game.size} x {game.size} cells is too large: at most {MAX_CELLS} cells")
    pursuer, evader = next_cells(game, game.pursuer), next_cells(game, game.evader)
    caught = caught_table(game)
    value = _induction(caught, lambda v: _worst_reply(v, evader)[pursuer].min(axis=0))
    lasting = _induction(caught, lambda v: _best_reply(v, pursuer)[:, evader].max(axis=1))
    choices = _worst_reply(value, evader)[pursuer]
    replies = _best_reply(lasting, pursuer)[:, evader]
    return Solution(value, lasting, choices.argmin(axis=0), replies.argmax(axis=1))


def next_cells(game: GridGame, mover: tuple[int, bool]) -> NDArray[np.int64]:
    """Return the cell reached by each move from each cell, (moves, cells); a forbidden move reaches where others do."""
    moves = moves_of(mover[0], stay=mover[1])
    table = np.zeros((len(moves), game.size * game.size), dtype=np.int64)
    for i in range(game.size):
        for j in range(game.size):
            reached = [_reached(game, i, j, dx, dy) for dx, dy in moves]
            # With nowhere to go at all an agent stays: it cannot be asked to do what ends it.
            fallback = next((cell for cell in reached if cell is not None), game.cell(i, j))
            table[:, game.cell(i, j)] = [fallback if cell is None else cell for cell in reached]
    return table


def _reached(game: GridGame, i: int, j: int, dx: int, dy: int) -> int | None:
    if game.open_way(i, j, i + dx, j + dy):
        return game.cell(i + dx, j + dy)
    if game.wall == "crash":
        return None
    if game.wall == "bounce":
        return game.cell(i - dx, j - dy) if game.open_way(i, j, i - dx, j - dy) else game.cell(i, j)
    # Clipping each axis by itself slides along walls; into an obstacle nothing moves.
    x, y = min(max(i + dx, 0), game.size - 1), min(max(j + dy, 0), game.size - 1)
    return game.cell(x, y) if game.open_way(i, j, x, y) else game.cell(i, j)


def caught_table(game: GridGame) -> NDArray[np.bool_]:
    """Return for every pair (pursuer's cell, evader's cell) whether the evader is caught, (cells, cells)."""
    cells = np.arange(game.size * game.size)
    x, y = np.divmod(cells, game.size)
    square = (x[:, None] - x[None]) ** 2 + (y[:, None] - y[None]) ** 2
    return np.asarray(square < game.radius * game.radius)


def _worst_reply(value: NDArray[np.int16], evader: NDArray[np.int64]) -> NDArray[np.int16]:
    """Return, for each pursuer's next cell and evader's present one, the most the evader can make of it."""
    return np.asarray(np.maximum.reduce([value[:, cells] for cells in evader]))


def _best_reply(value: NDArray[np.int16], pursuer: NDArray[np.int64]) -> NDArray[np.int16]:
    """Return, for each pursuer's present cell and evader's next one, the least the pursuer can make of it."""
    return np.asarray(np.minimum.reduce([value[cells] for cells in pursuer]))


def _induction(
    caught: NDArray[np.bool_], step: Callable[[NDArray[np.int16]], NDArray[np.int16]]
) -> NDArray[np.int16]:
    """Return the fixed point of V = 0 where caught, else 1 + step(V), begun from never."""
    value = np.where(caught, np.int16(0), NEVER)
    while True:
        after = np.where(caught, np.int16(0), np.minimum(step(value) + np.int16(1), NEVER))
        if np.array_equal(after, value):
            return value
        value = after
