"""Matrix games, many at once: the value and the optimal mixed strategies of two players who choose simultaneously."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]

TOLERANCE = 1e-11
BLAND_AFTER = 60
"""Pivots after which the rule is used that cannot cycle (Bland, 1977)."""

MOST_PIVOTS = 2000


@dataclass(frozen=True)
class MatrixSolution:
    """Solutions of S games.

    Attributes:
        value: what the row player, who wants it small, pays on average, (S,).
        rows: optimal probabilities of the rows, (S, R).
        columns: optimal probabilities of the columns, (S, C).
    """

    value: Reals
    rows: Reals
    columns: Reals


def solve_matrix_games(payoff: Reals) -> MatrixSolution:
    """Return the solutions of S matrix games, payoffs (S, R, C) from the row player to the column player.

    Where a pure saddle point exists it is taken. Elsewhere the linear program of Dantzig (1951) is solved by the
    simplex method, all games at once: with payoffs made positive, maximise sum(x) over x >= 0 with
    payoff' x <= 1; then 1 / sum(x) is the value and x, scaled to sum to 1, the row player's strategy.
    """
    games, rows, columns = payoff.shape
    value, x, y = np.empty(games), np.zeros((games, rows)), np.zeros((games, columns))
    worst, best = payoff.max(axis=2), payoff.min(axis=1)
    low, high = best.max(axis=1), worst.min(axis=1)
    pure = high - low <= TOLERANCE
    at = np.nonzero(pure)[0]
    value[at] = high[at]
    x[at, worst[at].argmin(axis=1)] = 1.0
    y[at, best[at].argmax(axis=1)] = 1.0
    mixed = np.nonzero(~pure)[0]
    if len(mixed):
        part = payoff[mixed]
        shift = 1.0 - part.min(axis=(1, 2))
        reach = (part.max(axis=(1, 2)) + shift)[:, None, None]
        solved = _simplex((part + shift[:, None, None]) / reach)
        value[mixed] = solved.value * reach[:, 0, 0] - shift
        x[mixed], y[mixed] = solved.rows, solved.columns
    return MatrixSolution(value, x, y)


def _simplex(payoff: Reals) -> MatrixSolution:
    """Solve games with payoffs in (0, 1]."""
    games, rows, columns = payoff.shape
    width = rows + columns
    table = np.zeros((games, columns + 1, width + 1))
    table[:, :columns, :rows] = payoff.transpose(0, 2, 1)
    table[:, :columns, rows:width] = np.eye(columns)
    table[:, :columns, width] = 1.0
    table[:, columns, :rows] = -1.0
    basis = np.tile(np.arange(rows, width), (games, 1))
    active = np.arange(games)
    for pivot in range(MOST_PIVOTS):
        costs = table[active, columns, :width]
        gains = costs < -TOLERANCE
        going = gains.any(axis=1)
        active, costs, gains = active[going], costs[going], gains[going]
        if len(active) == 0:
            break
        entering = costs.argmin(axis=1) if pivot < BLAND_AFTER else gains.argmax(axis=1)
        _pivot(table, basis, active, entering, columns)
    total = table[:, columns, width]
    x = np.zeros((games, width))
    np.put_along_axis(x, basis, table[:, :columns, width], axis=1)
    share = 1.0 / total
    return MatrixSolution(
        share, np.clip(x[:, :rows] * share[:, None], 0.0, 1.0),
        np.clip(table[:, columns, rows:width] * share[:, None], 0.0, 1.0),
    )


def _pivot(table: Reals, basis: NDArray[np.int64], active: NDArray[np.int64], entering: NDArray[np.int64], columns: int
) -> None:
    """Bring a variable into the basis of every active game."""
    part = table[active]
    each = np.arange(len(active))
    column = part[each, :, entering]
    able = column[:, :columns] > TOLERANCE
    ratio = np.where(able, part[:, :columns, -1] / np.where(able, column[:, :columns], 1.0), np.inf)
    least = ratio.min(axis=1, keepdims=True)
    # Among equal ratios the variable of the lowest number leaves: with Bland's rule nothing cycles.
    tied = ratio <= least + TOLERANCE * (1.0 + np.abs(least))
    leaving = np.where(tied, basis[active], np.iinfo(np.int64).max).argmin(axis=1)
    row = part[each, leaving] / column[each, leaving][:, None]
    part -= column[:, :, None] * row[:, None, :]
    part[each, leaving] = row
    table[active] = part
    basis[active, leaving] = entering
