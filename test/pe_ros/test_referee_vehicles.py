"""The referee with vehicles: it judges their odometry itself, by the same rules."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: install pe-ros[ros]")

import rclpy
from nav_msgs.msg import Odometry
from rclpy.context import Context
from rclpy.parameter import Parameter

from pe_ros.msg import EngagementState
from pe_ros.referee_node import RefereeNode
from pe_sim.engagement import load
from pe_sim.rules import CAPTURE, STOPPED, TIMEOUT
from pe_sim.shared_files import engagement_file

pytestmark = pytest.mark.ros


@pytest.fixture
def referee(ros_domain):
    context = Context()
    rclpy.init(context=context)
    engagement = load(engagement_file("kinematic_3v1"), {"rules.time_limit": "2 s"})
    parameters = [Parameter("pace", value="wall"), Parameter("episodes", value=0), Parameter("begin", value=False)]
    node = RefereeNode(
        engagement=engagement, context=context, use_global_arguments=False, parameter_overrides=parameters
    )
    yield node
    node.destroy_node()
    rclpy.shutdown(context=context)


def place(node, *positions):
    for index, (x, y, z) in enumerate(positions):
        message = Odometry()
        message.pose.pose.position.x, message.pose.pose.position.y, message.pose.pose.position.z = x, y, z
        message.pose.pose.orientation.w = 1.0
        node.vehicles.hear(index, message)


def run_for(node, seconds):
    """Judge at an instant of engagement time."""
    node.start = node.time.now() - round(seconds * 1e9)
    node._judge_vehicles()


FAR = [(0.0, 0.0, 5.0), (5.0, 0.0, 5.0), (10.0, 0.0, 5.0), (20.0, 0.0, 5.0)]


def start(node):
    node.begin()
    node._go()
    assert node.phase == EngagementState.PHASE_RUNNING


def test_vehicles_that_come_near_capture(referee):
    ends = []
    referee.on_end = lambda _, view: ends.append(view)
    start(referee)
    place(referee, *FAR)
    run_for(referee, 0.5)
    assert referee.phase == EngagementState.PHASE_RUNNING
    assert referee.view.distances == [20.0, 15.0, 10.0]
    place(referee, *FAR[:3], (11.0, 0.0, 5.0))
    run_for(referee, 1.0)
    (view,) = ends
    assert view.outcome == CAPTURE
    assert view.rewards[0] > 0 > view.rewards[3]
    assert view.alive == [True, True, True, False]


def test_time_runs_out_for_vehicles_too(referee):
    ends = []
    referee.on_end = lambda episode, view: ends.append((episode, view.outcome))
    start(referee)
    place(referee, *FAR)
    run_for(referee, 2.5)
    assert ends == [(0, TIMEOUT)]


def test_nothing_is_judged_before_every_vehicle_is_heard(referee):
    start(referee)
    place(referee, *FAR[:3])
    run_for(referee, 5.0)
    assert referee.phase == EngagementState.PHASE_RUNNING


def test_a_stop_ends_the_episode(referee):
    start(referee)
    outcome = []
    referee.on_end = lambda _, view: outcome.append(view.outcome)
    referee.stop_motion()
    assert outcome == [STOPPED]
    assert referee.phase == EngagementState.PHASE_STOPPED
