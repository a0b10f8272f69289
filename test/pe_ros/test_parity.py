"""The parity promise: same file, seed and policies give the same trajectory in the env and in the ROS graph."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: install pe-ros[ros]")

from pe_ros.composition import Composition
from pe_ros.specs import Options
from pe_sim.engagement import load
from pe_sim.evaluation.rollout import rollout

CONFIG = Path(__file__).resolve().parents[2] / "config" / "engagements"
pytestmark = pytest.mark.ros


def run_on_ros(path: Path, episodes: int, seed: int, overrides: dict | None = None) -> list[tuple]:
    """Return (trajectory hash, ticks, rewards, least distance) of each episode in lockstep."""
    ends = []
    options = Options(
        str(path), pace="lockstep", episodes=episodes, seed=seed, overrides=json.dumps(overrides) if overrides else ""
    )
    run = Composition(options, lambda _, view: ends.append((view.sha256, view.ticks, view.rewards, view.min_distance)))
    try:
        run.run()
    finally:
        run.close()
    return ends


def run_in_env(path: Path, episodes: int, seed: int, overrides: dict | None = None) -> list[tuple]:
    results = list(rollout(load(path, overrides), episodes, seed))
    return [(one.trajectory_sha256, one.ticks, [*one.rewards.values()], one.min_distance) for one in results]


SHORT = {"rules.time_limit": "2 s"}
"""Keeps a test short; what is tested does not depend on how an episode ends."""


@pytest.mark.parametrize("seed", [1, 20260])
def test_grid_trajectories_on_ros_equal_those_in_the_env(ros_domain, seed):
    path = CONFIG / "grid_1v1.yaml"
    assert run_on_ros(path, 5, seed) == run_in_env(path, 5, seed)


@pytest.mark.parametrize(("name", "seed"), [("kinematic_3v1", 1), ("kinematic_3v1", 20260), ("multirate_2v2", 7)])
def test_trajectories_on_ros_equal_those_in_the_env(ros_domain, name, seed):
    path = CONFIG / f"{name}.yaml"
    assert run_on_ros(path, 2, seed, SHORT) == run_in_env(path, 2, seed, SHORT)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["grid_1v1", "kinematic_3v1", "multirate_2v2"])
def test_whole_engagements_on_ros_equal_those_in_the_env(ros_domain, name):
    path = CONFIG / f"{name}.yaml"
    assert run_on_ros(path, 20, 1) == run_in_env(path, 20, 1)


def test_the_least_distance_may_be_that_of_the_start(ros_domain):
    path = CONFIG / "kinematic_3v1.yaml"
    away = SHORT | {"roles.pursuer.dynamics.max_speed": 1}
    assert run_on_ros(path, 2, 3, away) == run_in_env(path, 2, 3, away)


def test_an_episode_repeats_itself_on_ros(ros_domain):
    path = CONFIG / "multirate_2v2.yaml"
    assert run_on_ros(path, 1, 5, SHORT) == run_on_ros(path, 1, 5, SHORT)


def test_other_seeds_give_other_trajectories(ros_domain):
    path = CONFIG / "grid_1v1.yaml"
    hashes = {sha for sha, *_ in run_on_ros(path, 4, 1) + run_on_ros(path, 4, 2)}
    assert len(hashes) == 8


@pytest.mark.parametrize(
    "overrides",
    [
        {"roles.pursuer.action.latency": "70 ms"},  # longer than a decision period: several actions under way
        {"roles.pursuer.action.valid_for": "20 ms", "roles.evader.action.on_expiry": "hold"},  # expires every time
        {"roles.pursuer.sensors.radar.dropout": 0.9, "roles.pursuer.sensors.radar.jitter": "120 ms"},
        {"roles.evader.policy": {"use": "guidance/random", "rate": "30000/1001 Hz", "phase": "3 ms"}},
        {"roles.evader.policy": {"use": "guidance/flee", "decide_on": "tracker"}},
        {"roles.evader.sensors": {"tracker": {"kind": "relative", "rate": "0.7 Hz", "phase": "0.9 s"}}},
        {
            "roles.evader.count": 2,
            "rules.capture.ends": "all",
            "rules.capture.radius": 6,
        },  # one is out before the other
        {"world.tick": "7 ms", "rules.time_limit": "1.5 s"},
    ],
    ids=["long_latency", "expiry", "lossy", "ntsc_rate", "on_sensor", "blind_at_first", "one_out", "odd_tick"],
)
def test_parity_holds_at_the_edges_of_timing(ros_domain, overrides):
    overrides = {"rules.time_limit": "2 s", **overrides}
    path = CONFIG / "kinematic_3v1.yaml"
    assert run_on_ros(path, 1, 3, overrides) == run_in_env(path, 1, 3, overrides)


RANDOMISED = {
    "roles.pursuer.dynamics.max_speed": {"low": 8, "high": 12},
    "roles.evader.dynamics.time_constant": {"low": "50 ms", "high": "200 ms"},
    "roles.pursuer.sensors.radar.latency": {"low": 0, "high": "40 ms", "per": "agent"},
    "roles.pursuer.sensors.radar.dropout": {"choices": [0, 0.3]},
    "roles.pursuer.sensors.radar.noise": {"scale": [0.5, 2]},
    "roles.pursuer.action.latency": {"low": 0, "high": "60 ms"},
    "roles.evader.sensors.tracker.jitter": {"low": 0, "high": "30 ms"},
    "world.arena": {"scale": [0.8, 1.2]},
    "world.min_start_distance": {"low": 15, "high": 30},
    "world.obstacles.shift": {"low": -3, "high": 3},
    "world.obstacles.size": {"scale": [0.7, 1.3]},
}
"""A bit of everything that can be drawn for an episode."""


def test_parity_holds_where_the_engagement_is_drawn_for_every_episode(ros_domain):
    overrides = {**SHORT, "randomise": RANDOMISED, "roles.pursuer.sensors.radar.occlusion": True}
    path = CONFIG / "kinematic_3v1.yaml"
    ends = run_on_ros(path, 3, 4, overrides)
    assert ends == run_in_env(path, 3, 4, overrides)
    assert ends != run_in_env(path, 3, 4, SHORT)
