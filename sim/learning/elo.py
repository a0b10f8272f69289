"""Ratings of players that meet in pairs (Elo, 1978): from one game to the next, or of all games at once.

A difference of 400 points means odds of ten to one. Pursuers and evaders are rated on one scale: that of a pursuer
minus that of an evader tells how often the one catches the other.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

SCALE = 400.0 / math.log(10.0)
"""Rating points of odds that are e times as high."""

START = 1000.0
"""Rating of a player that nothing is known of."""


def expected_score(rating: float, opponent: float) -> float:
    """Return the share of games that a player is expected to win: 1 / (1 + 10^((opponent - rating) / 400))."""
    return 1.0 / (1.0 + math.exp(min(700.0, (opponent - rating) / SCALE)))


def updated(rating: float, games: list[tuple[float, float, float]], step: float = 32.0) -> float:
    """Return a rating after some games.

    Args:
        rating: before.
        games: of each opponent its rating, how many games, and the sum of the scores in them (1 a win, 0 a loss).
        step: points by which a player moves that won everything it was sure to lose.
    """
    played = sum(count for _, count, _ in games)
    if played == 0:
        return rating
    surprise = sum(score - count * expected_score(rating, opponent) for opponent, count, score in games)
    return rating + step * surprise / played


def fitted(
    scores: NDArray[np.float64], games: NDArray[np.float64], *, prior: float = 1.0, anchor: float = START
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ratings under which the scores of a tournament of rows against columns are most likely.

    The model is that of Bradley and Terry (1952), its likelihood made greatest by Newton's method. Each player has
    besides ``prior`` drawn games against somebody of the mean rating: who has won everything stays finite.

    Args:
        scores: sum of the scores of row i against column j, (R, C).
        games: how many there were, (R, C).
        prior: weight of the drawn games.
        anchor: mean of all ratings.

    Returns:
        Ratings of the rows (R,), and of the columns (C,).
    """
    rows, columns = scores.shape
    strength = np.zeros(rows + columns)
    for _ in range(200):
        chance = 1.0 / (1.0 + np.exp(-(strength[:rows, None] - strength[None, rows:])))
        pull = 1.0 / (1.0 + np.exp(-strength))
        surprise, information = scores - games * chance, games * chance * (1.0 - chance)
        gradient = np.concatenate([surprise.sum(axis=1), -surprise.sum(axis=0)]) + prior * (0.5 - pull)
        hessian = np.diag(
            np.concatenate([information.sum(axis=1), information.sum(axis=0)]) + prior * pull * (1.0 - pull)
        )
        hessian[:rows, rows:] -= information
        hessian[rows:, :rows] -= information.T
        move = np.linalg.solve(hessian, gradient)
        strength += move / max(1.0, float(np.abs(move).max()))
        if float(np.abs(move).max()) < 1e-10:
            break
    ratings = anchor + SCALE * (strength - strength.mean())
    return ratings[:rows], ratings[rows:]
