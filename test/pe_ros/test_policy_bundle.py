"""A bundle flies in the ROS graph as it does in the environment: to the last bit."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: install pe-ros[ros]")
pytest.importorskip("safetensors", reason="needs safetensors: install pe_ros[train]")

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter

from pe_ros import qos, topics
from pe_ros.msg import PolicyMetadata
from pe_ros.policy_node import PolicyNode
from pe_sim.engagement import load
from pe_sim.policies.bundle import write
from pe_sim.policies.describe import describe, random_weights
from pe_sim.policies.networks import NetworkSpec

from .test_parity import CONFIG, SHORT, run_in_env, run_on_ros

pytestmark = pytest.mark.ros

NETWORKS = {
    "mlp": NetworkSpec(hidden=(32, 16)),
    "gru": NetworkSpec(hidden=(16,), recurrent="gru", memory=8),
    "lstm": NetworkSpec(hidden=(16,), recurrent="lstm", memory=8),
}


@pytest.mark.parametrize("kind", NETWORKS)
@pytest.mark.parametrize(
    ("deterministic", "compute"), [(True, "arrays"), (False, "arrays"), (True, "torch"), (False, "torch")]
)
def test_a_bundle_flies_the_same_on_ros_as_in_the_env(ros_domain, tmp_path, kind, deterministic, compute):
    if compute == "torch":
        pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")
    path = CONFIG / "kinematic_3v1.yaml"
    overrides = {**SHORT, "roles.pursuer.observe": {"actions": 1}}
    description = describe(load(path, overrides), "pursuer", NETWORKS[kind], deterministic=deterministic)
    write(tmp_path / "bundle", description, random_weights(description, 3))
    flown = {
        **overrides, "roles.pursuer.policy.use": str(tmp_path / "bundle"),
        "roles.pursuer.policy.parameters": {"compute": compute},
    }
    on_ros = run_on_ros(path, 2, 4, flown)
    assert on_ros == run_in_env(path, 2, 4, flown)
    assert on_ros != run_in_env(path, 2, 4, overrides)


def metadata_of(**parameters: object) -> PolicyMetadata:
    """What a policy node publishes about its policy."""
    context = Context()
    rclpy.init(context=context)
    try:
        node = PolicyNode(
            engagement=load(CONFIG / "kinematic_3v1.yaml"), context=context, use_global_arguments=False,
            parameter_overrides=[Parameter(name, value=value) for name, value in parameters.items()],
        )
        heard: list[PolicyMetadata] = []
        node.create_subscription(PolicyMetadata, topics.metadata(node.agent), heard.append, qos.metadata(node.pace))
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        for _ in range(100):
            if not heard:
                executor.spin_once(timeout_sec=0.1)
        executor.remove_node(node)
        node.destroy_node()
        return heard[0]
    finally:
        rclpy.shutdown(context=context)


@pytest.mark.parametrize("network", ["mlp", "lstm"])
@pytest.mark.parametrize("deterministic", [True, False])
@pytest.mark.parametrize("asked", [None, True, False])
def test_the_metadata_tells_whether_actions_are_drawn_and_whether_there_is_memory(
    ros_domain, tmp_path, network, deterministic, asked
):
    engagement = load(CONFIG / "kinematic_3v1.yaml")
    description = describe(engagement, "pursuer", NETWORKS[network], deterministic=deterministic)
    bundle = write(tmp_path / "bundle", description, random_weights(description, 3))
    given = {} if asked is None else {"deterministic": asked}
    message = metadata_of(agent="pursuer_0", policy=str(bundle.path), policy_parameters=json.dumps(given))
    assert message.deterministic == (deterministic if asked is None else asked)
    assert message.recurrent == (network == "lstm")
    assert json.loads(message.parameters) == given
    assert (message.policy_sha256 == bundle.description.sha256) == (message.deterministic == deterministic)


def test_the_metadata_of_guidance_tells_whether_it_draws(ros_domain):
    assert metadata_of(agent="pursuer_0").deterministic
    assert not metadata_of(agent="pursuer_0", policy="guidance/random").deterministic
