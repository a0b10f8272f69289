"""/<agent>/applied tells which decision took effect, and when."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

rclpy = pytest.importorskip("rclpy", reason="needs ROS 2: install pe-ros[ros]")

from rclpy.node import Node  # noqa: E402

from pe_ros import qos, topics  # noqa: E402
from pe_ros.composition import Composition  # noqa: E402
from pe_ros.conversions import nanoseconds  # noqa: E402
from pe_ros.msg import Action  # noqa: E402
from pe_ros.specs import Options  # noqa: E402

pytestmark = pytest.mark.ros

FILE = Path(__file__).resolve().parents[2] / "config" / "engagements" / "kinematic_3v1.yaml"


@pytest.mark.parametrize("latency", [0, 10, 120])
def test_what_took_effect_is_the_decision_taken_a_latency_before(ros_domain, latency):
    changes = {
        "rules.time_limit": "1 s", "roles.pursuer.action.latency": f"{latency} ms",
        "roles.pursuer.action.valid_for": "300 ms", "rules.capture.radius": 0.001,
    }
    run = Composition(Options(str(FILE), pace="lockstep", seed=3, overrides=json.dumps(changes)))
    heard: list[Action] = []
    try:
        node = Node("listener", context=run._context)
        node.create_subscription(Action, topics.applied("pursuer_0"), heard.append, qos.applied("lockstep"))
        run._add([node])
        run.run()
        rclpy.spin_once(node, executor=run._executor, timeout_sec=0.2)
    finally:
        run.close()
    assert len(heard) >= 15
    assert [one.sequence for one in heard] == sorted({one.sequence for one in heard})
    for one in heard:
        decided, effective = nanoseconds(one.header.stamp), nanoseconds(one.effective)
        # the first tick (10 ms) at or after the instant of effect
        assert effective == -(-(decided + latency * 1_000_000) // 10_000_000) * 10_000_000
