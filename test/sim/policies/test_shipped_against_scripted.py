"""The bundles that come with the package against what they were trained to beat, in episodes that they never saw."""

from __future__ import annotations

import pytest

pytest.importorskip("safetensors", reason="needs safetensors: install pe_ros[train]")

from pe_sim.evaluation.evaluate import evaluate
from pe_sim.evaluation.exact_game import solve_exactly, start_states
from pe_sim.evaluation.grid_policy import exact_figures, game_of
from pe_sim.policies.bundle import read
from pe_sim.policies.loader import bundle_directory

from ..files import shipped  # noqa: TID252 - shared by one room

SEED = 90_210
"""Of a run that no training and no record of a bundle was made with."""

LAWS = ("lead_pursuit", "pure_pursuit", "apollonius_intercept", "constant_bearing")
"""The best of the scripted teams with their default parameters; the others are slower still."""


def flown(engagement, use, episodes):
    changed = shipped(engagement, roles__pursuer__policy__use=use, roles__pursuer__policy__parameters={})
    found = evaluate(changed, episodes, SEED, batch=episodes)
    return found.capture_rate, found.mean_time_to_capture


@pytest.mark.slow
def test_the_team_is_faster_than_every_scripted_one():
    rate, time = flown("kinematic_team_3v1", "policies/kinematic_team_3v1_pursuer", 300)
    scripted = [flown("kinematic_team_3v1", f"guidance/{law}", 300)[1] for law in LAWS]
    assert rate >= 0.95
    assert time <= 0.9 * min(scripted)


def test_the_grid_pursuer_is_near_the_value_of_the_game():
    engagement = shipped("grid_four_way_1v1", roles__pursuer__policy__use="policies/grid_four_way_1v1_pursuer",
                         roles__pursuer__policy__parameters={})
    figures = exact_figures(engagement)
    game = game_of(engagement)
    exact = solve_exactly(game).value[start_states(game, engagement.world.min_start_distance)].mean()
    assert figures["exact_value"] == pytest.approx(exact)
    assert exact <= figures["pursuer_against_best_response"] <= 1.15 * exact
    # What the bundle says of itself is what is found.
    told = read(bundle_directory("policies/grid_four_way_1v1_pursuer")).description.evaluation["exact"]
    assert told["pursuer_against_best_response"] == pytest.approx(figures["pursuer_against_best_response"], rel=1e-4)
