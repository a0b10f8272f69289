"""A bundle flies in the ROS graph as it does in the environment: to the last bit."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: install pe-ros[ros]")
pytest.importorskip("safetensors", reason="needs safetensors: install pe_ros[train]")

from pe_sim.engagement import load
from pe_sim.policies.bundle import write
from pe_sim.policies.describe import describe, random_weights
from pe_sim.policies.networks import NetworkSpec

from .test_parity import CONFIG, SHORT, run_in_env, run_on_ros

pytestmark = pytest.mark.ros

NETWORKS = {"mlp": NetworkSpec(hidden=(32, 16)), "gru": NetworkSpec(hidden=(16,), recurrent="gru", memory=8)}


@pytest.mark.parametrize("kind", NETWORKS)
@pytest.mark.parametrize("deterministic", [True, False])
def test_a_bundle_flies_the_same_on_ros_as_in_the_env(ros_domain, tmp_path, kind, deterministic):
    path = CONFIG / "kinematic_3v1.yaml"
    overrides = {**SHORT, "roles.pursuer.observe": {"actions": 1}}
    description = describe(load(path, overrides), "pursuer", NETWORKS[kind], deterministic=deterministic)
    write(tmp_path / "bundle", description, random_weights(description, 3))
    flown = {**overrides, "roles.pursuer.policy.use": str(tmp_path / "bundle")}
    on_ros = run_on_ros(path, 2, 4, flown)
    assert on_ros == run_in_env(path, 2, 4, flown)
    assert on_ros != run_in_env(path, 2, 4, overrides)
