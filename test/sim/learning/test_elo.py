"""Ratings against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pe_sim.learning.elo import START, expected_score, fitted, updated


@pytest.mark.parametrize(
    ("difference", "odds"), [(0, 1), (400, 10), (-400, 0.1), (800, 100), (400 * np.log10(3), 3)]
)
def test_a_difference_of_ratings_means_these_odds(difference, odds):
    assert expected_score(1000 + difference, 1000) == pytest.approx(odds / (1 + odds))


@given(st.floats(-1e5, 1e5), st.floats(-1e5, 1e5))
def test_what_one_is_expected_to_win_the_other_is_expected_to_lose(a, b):
    assert expected_score(a, b) + expected_score(b, a) == pytest.approx(1.0)


def test_one_game_moves_a_rating_by_the_step_times_the_surprise():
    assert updated(1000, [(1000, 1, 1.0)], step=32) == pytest.approx(1016)
    assert updated(1000, [(1400, 1, 0.0)], step=32) == pytest.approx(1000 - 32 / 11)
    assert updated(1000, []) == 1000
    # What is expected moves nobody, however many games it were.
    assert updated(1400, [(1000, 110, 100.0), (1400, 10, 5.0)]) == pytest.approx(1400)


def test_ratings_of_one_pair_tell_their_score():
    row, column = fitted(np.asarray([[75.0]]), np.asarray([[100.0]]), prior=1e-9)
    assert row[0] - column[0] == pytest.approx(400 * np.log10(3), abs=1e-3)
    assert row[0] + column[0] == pytest.approx(2 * START)


def test_a_tournament_under_known_ratings_gives_them_back():
    rng = np.random.default_rng(0)
    rows, columns = rng.normal(1000, 200, 5), rng.normal(1000, 200, 4)
    games = rng.integers(1, 50, (5, 4)).astype(float)
    scores = games * [[expected_score(a, b) for b in columns] for a in rows]
    found = fitted(scores, games, prior=1e-9)
    shift = np.mean([*rows, *columns]) - START
    assert found[0] + shift == pytest.approx(rows, abs=0.01)
    assert found[1] + shift == pytest.approx(columns, abs=0.01)


def test_who_has_won_everything_has_a_finite_rating_above_all_others():
    scores = np.asarray([[20.0, 20.0], [0.0, 10.0]])
    rows, columns = fitted(scores, np.full((2, 2), 20.0))
    assert np.isfinite([*rows, *columns]).all()
    assert rows[0] > max(rows[1], *columns)
    assert columns[0] > columns[1]
