"""Exact games: matrix games against closed forms and their own guarantees, grid games against known values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pe_sim.engagement import parse
from pe_sim.errors import EngagementError
from pe_sim.evaluation.evaluate import evaluate
from pe_sim.evaluation.exact_game import ExactGame, best_response, exploitability, solve_exactly, start_states
from pe_sim.evaluation.grid_policy import exact_figures, game_of, policy_table
from pe_sim.evaluation.matrix_game import solve_matrix_games
from pe_sim.guidance.grid_game import GridGame, open_grid_length, solve

from ..files import grid_file  # noqa: TID252 - shared by one room


def test_matrix_games_with_closed_forms():
    pennies = [[1.0, -1.0], [-1.0, 1.0]]
    # Two by two without a saddle point: (ad - bc) / (a + d - b - c).
    other = [[3.0, 1.0], [0.0, 2.0]]
    found = solve_matrix_games(np.asarray([pennies, other, [[2.0, 3.0], [1.0, 0.0]]]))
    assert found.value == pytest.approx([0.0, 1.5, 1.0])
    assert found.rows[:2] == pytest.approx(np.asarray([[0.5, 0.5], [0.5, 0.5]]))
    assert found.columns[1] == pytest.approx([0.25, 0.75])
    rock = solve_matrix_games(np.asarray([[[0.0, 1, -1], [-1, 0, 1], [1, -1, 0]]]))
    assert rock.value == pytest.approx([0.0])
    assert rock.rows == pytest.approx(np.full((1, 3), 1 / 3))


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 9), st.booleans())
def test_each_player_is_sure_of_the_value(seed, rows, columns, whole):
    rng = np.random.default_rng(seed)
    # Small whole numbers: many ties, where a simplex method may go in circles.
    shape = (20, rows, columns)
    payoff = rng.integers(0, 3, shape).astype(float) if whole else rng.normal(size=shape) * 50
    found = solve_matrix_games(payoff)
    assert found.rows.sum(axis=1) == pytest.approx(np.ones(20))
    assert found.columns.sum(axis=1) == pytest.approx(np.ones(20))
    most = np.einsum("sij,si->sj", payoff, found.rows).max(axis=1)
    least = np.einsum("sij,sj->si", payoff, found.columns).min(axis=1)
    assert most == pytest.approx(found.value, abs=1e-7)
    assert least == pytest.approx(found.value, abs=1e-7)


@pytest.mark.parametrize("size", [5, 7, 10, 15])
def test_the_open_grid_has_its_closed_form(size):
    game = ExactGame(GridGame(size))
    solution = solve_exactly(game)
    i, j = np.divmod(game.places, size)
    expected = [open_grid_length(size, (a, b), (c, d)) for a, c, b, d in zip(*i, *j, strict=True)]
    assert solution.value == pytest.approx(np.asarray(expected, float))


GAMES = {
    "four_way": GridGame(6, pursuer=(4, True)),
    "must_move": GridGame(5, pursuer=(4, False), evader=(4, False)),
    "obstacles": GridGame(6, pursuer=(8, True), evader=(4, True), obstacles=frozenset({(2, 2), (3, 2), (1, 4)})),
    "bounce": GridGame(5, pursuer=(4, True), wall="bounce"),
}


@pytest.mark.parametrize("name", GAMES)
def test_the_value_lies_between_what_each_can_be_sure_of_in_pure_strategies(name):
    grid = GAMES[name]
    value, pure = solve_exactly(ExactGame(grid), most_rounds=400).value, solve(grid)
    finite = pure.pursuer_value.ravel() < 1000
    assert (value[finite] <= pure.pursuer_value.ravel()[finite] + 1e-6).all()
    lasting = pure.evader_value.ravel()
    assert (value >= np.minimum(lasting, 400) - 1e-6).all()


def joint_strategies(solution):
    return solution.strategies(np.arange(solution.game.states))


@pytest.mark.parametrize("name", ["four_way", "obstacles"])
def test_optimal_play_cannot_be_exploited_and_other_play_can(name):
    game = ExactGame(GAMES[name])
    solution = solve_exactly(game, tolerance=1e-9)
    starts = start_states(game, 3)
    pursuer, evader = joint_strategies(solution)
    assert exploitability(solution, pursuer, starts) == pytest.approx(0.0, abs=1e-5)
    assert exploitability(solution, evader, starts, "evader") == pytest.approx(0.0, abs=1e-5)
    still = np.zeros_like(evader)
    still[:, 0] = 1.0
    assert exploitability(solution, still, starts, "evader") > 0.5
    random = np.full_like(pursuer, 1 / pursuer.shape[1])
    assert best_response(game, random, most_rounds=50)[starts].mean() > solution.value[starts].mean() + 1


def test_two_pursuers_are_faster_than_one_and_may_be_exchanged():
    grid = GridGame(4, pursuer=(4, True))
    one, two = solve_exactly(ExactGame(grid)), solve_exactly(ExactGame(grid, 2))
    pair = two.value.reshape(16, 16, 16)
    assert np.array_equal(pair, pair.transpose(1, 0, 2))
    single = one.value.reshape(16, 16)
    assert (pair <= np.minimum(single[:, None], single[None]) + 1e-6).all()
    assert (pair < np.minimum(single[:, None], single[None]) - 0.1).any()
    assert len(start_states(two.game, 2)) == len({*map(int, start_states(two.game, 2))}) > 0


def test_symmetry_changes_nothing():
    game = ExactGame(GridGame(4, pursuer=(4, True), obstacles=frozenset({(0, 0), (3, 3)})))
    whole = solve_exactly(game, tolerance=1e-9).value
    plain = ExactGame(game.grid)
    plain.__dict__["alike"] = np.arange(game.states)
    assert solve_exactly(plain, tolerance=1e-9).value == pytest.approx(whole, abs=1e-7)
    assert len(np.unique(game.alike)) < game.states / 3


def optimal_file(**changes):
    data = grid_file(world={"size": 6}, **changes)
    for role, intent in (("pursuer", "chase"), ("evader", "flee")):
        data["roles"][role]["sensors"]["place"] = {"kind": "position", "rate": 10}
        data["roles"][role]["policy"].update(use="guidance/optimal_grid", parameters={"intent": intent})
    return parse(data)


def test_policies_are_read_out_of_what_flies():
    engagement = optimal_file()
    game = game_of(engagement)
    solution, starts = solve_exactly(game), start_states(game, 3)
    for role, side in (("pursuer", "pursuers"), ("evader", "evader")):
        table = policy_table(engagement, game, role)
        assert table.sum(axis=1) == pytest.approx(np.ones(game.states))
        assert exploitability(solution, table, starts, side) == pytest.approx(0.0, abs=1e-6)


def test_the_exact_value_is_the_mean_time_of_episodes_played_optimally():
    engagement = optimal_file()
    game = game_of(engagement)
    solution = solve_exactly(game)
    found = evaluate(engagement, 200)
    assert found.capture_rate == 1.0
    # Starts are drawn uniformly from the pairs that are far enough apart (none asked for here: not caught).
    starts = start_states(game, engagement.world.min_start_distance)
    expected = solution.value[starts].mean()
    low, high = found.time_interval
    margin = high - low  # twice the interval: 99.99 %
    assert low - margin / 2 < expected * 0.1 < high + margin / 2


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"roles": {"evader": {"dynamics": {"every": 2}}}}, "roles.evader.dynamics.every"),
        ({"roles": {"pursuer": {"dynamics": {"steps": 2}}}}, "roles.pursuer.dynamics.steps"),
        ({"roles": {"pursuer": {"policy": {"rate": 5}}}}, "roles.pursuer.policy.rate"),
        ({"roles": {"evader": {"action": {"latency": 0.1}}}}, "roles.evader.action.latency"),
        ({"roles": {"evader": {"start": {"points": [[0, 0, 0]]}}}}, "roles.evader.start.points"),
        ({"world": {"size": 24}}, "exact game"),
        ({"roles": {"pursuer": {"count": 2}}, "world": {"size": 5}}, "roles"),
        # Around a block an evader as fast as its pursuer runs for ever.
        ({"world": {"size": 6, "obstacles": [[2, 2], [2, 3], [3, 2], [3, 3]]}}, "exact game"),
    ],
)
def test_the_value_of_another_game_is_not_told_as_that_of_this_one(changes, name):
    with pytest.raises(EngagementError) as refused:
        exact_figures(parse(grid_file(**changes)))
    assert refused.value.name == name


def test_who_never_catches_has_infinitely_many_steps():
    data = grid_file(world={"size": 5})
    data["roles"]["pursuer"]["policy"]["use"] = "guidance/hold_still"
    figures = exact_figures(parse(data))
    assert figures["pursuer_against_best_response"] == figures["pursuer_exploitability"] == np.inf
    assert 0 < figures["exact_value"] < 20
