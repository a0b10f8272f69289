"""A team against rivals that are tuned first, then fly the same episodes."""

from __future__ import annotations

import numpy as np
import pytest
import yaml

from pe_sim.engagement import load, parse
from pe_sim.errors import EngagementError
from pe_sim.evaluation.compare import RivalSpec, RivalsSpec, compare, flown_by, load_rivals, saved, times
from pe_sim.evaluation.evaluate import fly

from ..files import ENGAGEMENTS, plane_file  # noqa: TID252 - shared by one room

CHASE = plane_file(rules={"time_limit": "6 s"}, roles={"evader": {"dynamics": {"max_speed": 3}}})


def test_every_combination_is_tried():
    rival = RivalSpec(use="x", parameters={"a": [1, 2], "b": [3, None]})
    assert rival.settings == [{"a": 1, "b": 3}, {"a": 1, "b": None}, {"a": 2, "b": 3}, {"a": 2, "b": None}]
    assert RivalSpec(use="x").settings == [{}]


def test_an_episode_without_capture_counts_as_the_time_limit():
    engagement = parse(CHASE)
    flights = fly(flown_by(engagement, "pursuer", "guidance/hold_still", {}), 12, 5)
    assert not flights.captured.all()
    counted = times(flights, 6.0)
    assert (counted[~flights.captured] == 6.0).all()
    assert (counted[flights.captured] == flights.durations[flights.captured]).all()


def test_a_rival_flies_the_setting_that_was_fastest_in_tuning():
    engagement = parse(CHASE)
    rivals = RivalsSpec(role="pursuer", rivals=[
        RivalSpec(use="guidance/lead_pursuit", parameters={"time": ["20 s", "0.2 s", "10 s"]}),
        RivalSpec(use="guidance/hold_still"),
    ])
    found = compare(engagement, "guidance/pure_pursuit", rivals, 20, 7, tuning_episodes=20, tuning_seed=8)
    assert [one.use for one in found.rivals] == ["guidance/lead_pursuit", "guidance/hold_still"]  # fastest first
    best = min(found.tuning, key=lambda one: one["mean_time"])
    assert found.rivals[0].parameters == best["parameters"] == {"time": "0.2 s"}
    assert [one["parameters"]["time"] for one in found.tuning] == ["20 s", "0.2 s", "10 s"]
    alone = fly(flown_by(engagement, "pursuer", "guidance/lead_pursuit", {"time": "0.2 s"}), 20, 7)
    assert found.rivals[0].mean_time == pytest.approx(times(alone, 6.0).mean())
    assert found.team.saved is None
    for rival in found.rivals:
        assert rival.saved == pytest.approx(1.0 - found.team.mean_time / rival.mean_time)


def test_against_itself_nothing_is_saved_and_that_is_certain():
    rivals = RivalsSpec(role="pursuer", rivals=[RivalSpec(use="guidance/pure_pursuit")])
    found = compare(parse(CHASE), "guidance/pure_pursuit", rivals, 10, 7, tuning_episodes=1, tuning_seed=8)
    assert found.rivals[0].saved == 0.0
    assert found.rivals[0].saved_interval == (0.0, 0.0)


def test_the_interval_of_what_is_saved_covers_it():
    rng, inside = np.random.default_rng(3), 0
    for _ in range(400):
        easy = rng.gamma(4.0, 2.0, 200)
        team, rival = easy * rng.uniform(0.7, 1.1, 200), easy * rng.uniform(0.9, 1.1, 200)
        _, (low, high) = saved(team, rival)
        inside += low <= 0.1 <= high
    assert 0.92 <= inside / 400 <= 0.98


@pytest.mark.parametrize("data", [
    {"role": "pursuers", "rivals": [{"use": "guidance/pure_pursuit"}]},
    {"role": "pursuer", "rivals": []},
    {"role": "pursuer", "rivals": [{"use": "guidance/lead_pursuit", "parameters": {"time": []}}]},
    {"role": "pursuer", "rivals": [{"law": "guidance/lead_pursuit"}]},
])
def test_a_file_of_rivals_that_says_nothing_sensible_is_refused(tmp_path, data):
    path = tmp_path / "rivals.yaml"
    path.write_text(yaml.safe_dump(data))
    with pytest.raises(EngagementError):
        load_rivals(path, parse(CHASE))


@pytest.mark.parametrize("path", sorted((ENGAGEMENTS.parent / "rivals").glob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_rivals_can_fly(path):
    engagement = load(ENGAGEMENTS / path.name)
    rivals = load_rivals(path, engagement)
    for rival in rivals.rivals:
        for setting in rival.settings:
            fly(flown_by(engagement.model_copy(), rivals.role, rival.use, setting).model_copy(
                update={"rules": engagement.rules.model_copy(update={"max_step": 12})}), 1, 1)
