"""One agent under the upstream `ros2 launch`, on vehicles whose odometry comes on topics of their own."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: install pe-ros[ros]")

from nav_msgs.msg import Odometry

from pe_ros import qos
from pe_ros.launch_arguments import AGENT
from pe_ros.msg import Action, EngagementState
from test.pe_ros.processes import Ear, Listener, Processes, is_stop, listening

from .conftest import Ros2

pytestmark = [pytest.mark.ros, pytest.mark.timeout(240)]

LAUNCH = ("launch", "pe_ros", "agent.launch.py")
PERIOD = 0.02


@contextmanager
def vehicles(
    listener: Listener, odometry: dict[str, str], commands: dict[str, Ear], places: dict[str, list[float]]
) -> Iterator[None]:
    """Fly vehicles that follow velocity commands at once, and publish their odometry on topics of their own."""
    publishers = {
        agent: listener.node.create_publisher(Odometry, topic, qos.odom("wall")) for agent, topic in odometry.items()
    }
    over = threading.Event()

    def fly() -> None:
        while not over.wait(PERIOD):
            for agent, publisher in publishers.items():
                newest = commands[agent].messages[-1:]
                moving = bool(newest) and newest[0].mode == Action.MODE_EXECUTE
                velocity = list(newest[0].values[:3]) if moving else [0.0] * 3
                places[agent] = [p + v * PERIOD for p, v in zip(places[agent], velocity, strict=True)]
                message = Odometry()
                message.header.stamp = listener.node.get_clock().now().to_msg()
                position, linear = message.pose.pose.position, message.twist.twist.linear
                position.x, position.y, position.z = places[agent]
                linear.x, linear.y, linear.z = map(float, velocity)
                message.pose.pose.orientation.w = 1.0
                publisher.publish(message)

    thread = threading.Thread(target=fly)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_arguments_are_shown(ros2: Ros2) -> None:
    shown = ros2(*LAUNCH, "--show-args")
    assert shown.returncode == 0, shown.stdout
    for one in AGENT:
        assert f"'{one.name}':\n        {one.description}" in shown.stdout


def test_missing_arguments_are_named(ros2: Ros2) -> None:
    refused = ros2(*LAUNCH, "agent:=pursuer_0")
    assert refused.returncode == 1
    assert "'engagement'" in refused.stdout


def test_agents_fly_vehicles_by_remapped_odometry_in_a_namespace(start: Processes) -> None:
    places = {"pursuer_0": [0.0, 0.0, 10.0], "evader_0": [30.0, 0.0, 10.0]}
    odometry = {"pursuer_0": "/drone1/odom", "evader_0": "/target/odom"}
    overrides = "{roles.pursuer.count: 1}"
    common = ["engagement:=kinematic_3v1", f"overrides:={overrides}", "namespace:=arena"]
    with listening("wall", namespace="arena") as listener:
        states = listener.states()
        commands = {agent: listener.commands(agent) for agent in places}
        actions = listener.actions("pursuer_0")
        launches = []
        for agent, other, composed in (("pursuer_0", "evader_0", "true"), ("evader_0", "pursuer_0", "false")):
            remap = f"{{{other}/odom: {odometry[other]}}}"
            given = [f"agent:={agent}", f"odom:={odometry[agent]}", f"remap:={remap}", f"composed:={composed}"]
            launches.append(start.run(["ros2", *LAUNCH, *common, *given]))
        given = ["engagement:=kinematic_3v1", "pace:=wall", "overrides:='{\"roles.pursuer.count\": 1}'"]
        parameters = [part for parameter in given for part in ("-p", parameter)]
        remappings = [f"{agent}/odom:={topic}" for agent, topic in odometry.items()]
        renames = [part for rule in ["__ns:=/arena", *remappings] for part in ("-r", rule)]
        start.run(["ros2", "run", "pe_ros", "referee_node", "--ros-args", *parameters, *renames])
        with vehicles(listener, odometry, commands, places):
            states.wait(lambda state: state.phase == EngagementState.PHASE_RUNNING)
            first = states.wait(lambda state: state.distances).distances[0]
            states.wait(lambda state: state.distances and state.distances[0] < first - 3.0, "a chase that closes")
            decided = actions.messages[-1]
            assert min(decided.observation_sequences) >= 0
            ended = time.monotonic()
            for launch in launches:
                launch.popen.send_signal(2)
            for launch, agent in zip(launches, places, strict=True):
                assert launch.wait() == 0, launch.output
                assert "Traceback" not in launch.output
                assert is_stop(commands[agent].messages[-1])
            assert time.monotonic() - ended < 10.0
