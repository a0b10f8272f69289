"""The trained hunter that comes with the package flies on ROS as in the environment, at its own rate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: install pe-ros[ros]")
pytest.importorskip("jsbsim", reason="needs JSBSim: install pe_ros[fixed_wing]")
pytest.importorskip("safetensors", reason="needs safetensors: install pe_ros[train]")

from pe_ros.composition import Composition
from pe_ros.specs import Options
from pe_sim.engagement import load
from pe_sim.evaluation.rollout import rollout

FILE = Path(__file__).resolve().parents[2] / "config" / "engagements" / "fixed_wing_1v1.yaml"
HUNTER = {
    "rules.time_limit": "6 s",
    "roles.hunter.policy": {"use": "policies/fixed_wing_1v1_hunter", "rate": "5 Hz"},
}
pytestmark = pytest.mark.ros


def test_the_shipped_hunter_flies_the_same_trajectory_on_ros_as_in_the_env(ros_domain):
    ends = []
    options = Options(str(FILE), pace="lockstep", episodes=2, seed=11, overrides=json.dumps(HUNTER))
    run = Composition(options, lambda _, view: ends.append((view.sha256, view.ticks)))
    try:
        run.run()
    finally:
        run.close()
    assert ends == [(one.trajectory_sha256, one.ticks) for one in rollout(load(FILE, HUNTER), 2, 11)]
