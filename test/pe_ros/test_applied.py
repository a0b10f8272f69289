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
from pe_sim.rules import OUTCOMES  # noqa: E402

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


@pytest.mark.parametrize(
    ("file", "values", "told"),
    [
        ("kinematic_3v1", [1.0], "needs 4 values (x, y, z, yaw_rate)"),
        ("kinematic_3v1", [float("nan")] * 4, "must be finite"),
        ("kinematic_3v1", [1.0] * 9, "needs 4 values (x, y, z, yaw_rate)"),
        ("grid_1v1", [99.0], "must be one of 0 to "),
        ("grid_1v1", [0.5], "must be one of 0 to "),
    ],
)
def test_a_command_that_no_gate_would_let_through_is_ignored_and_told(ros_domain, capfd, file, values, told):
    changes = {"rules.time_limit": "1 s", "rules.capture.radius": 0.001}
    engagement = FILE.parent / f"{file}.yaml"
    run = Composition(Options(str(engagement), pace="realtime", seed=3, overrides=json.dumps(changes)))
    publishers = []
    try:
        intruder = Node("intruder", context=run._context)

        def intrude(message: Action) -> None:
            if not publishers:  # it appears in the course of the episode: with two from the start none would begin
                where = topics.command("pursuer_0")
                publishers.append(intruder.create_publisher(Action, where, qos.command("realtime")))
            message.values = values
            publishers[0].publish(message)

        intruder.create_subscription(Action, topics.action("pursuer_0"), intrude, qos.action("realtime"))
        run._add([intruder])
        run.run()
        outcome = OUTCOMES[run.referee.view.outcome]
        assert outcome in ("timeout", "capture")  # it went on to its end
    finally:
        run.close()
    assert told in capfd.readouterr().err
