"""Timers on steady and on ROS time."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: install pe-ros[ros]")

import rclpy
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock

from .graph import Graph, later

pytestmark = pytest.mark.ros


class TestTimers:
    def test_run_at_their_period_on_steady_time(self, graph: Graph) -> None:
        node = graph.node("timer")
        fast: list[int] = []
        slow: list[int] = []
        node.create_timer(0.01, lambda: fast.append(1))
        node.create_timer(0.1, lambda: slow.append(len(fast)))
        graph.spin_until(lambda: len(slow) == 3)
        assert len(fast) > 3

    def test_follow_ros_time_exactly(self, graph: Graph) -> None:
        node = graph.node("simulated", parameter_overrides=[Parameter("use_sim_time", value=True)])
        ticks: list[int] = []
        node.create_timer(0.1, lambda: ticks.append(node.get_clock().now().nanoseconds))
        publisher = node.create_publisher(Clock, "/clock", 10)

        def advance(milliseconds: int) -> None:
            message = Clock()
            message.clock.sec, message.clock.nanosec = divmod(milliseconds * 1_000_000, 1_000_000_000)
            publisher.publish(message)
            target = milliseconds * 1_000_000
            graph.spin_until(lambda: node.get_clock().now().nanoseconds == target)
            graph.executor.spin_once(timeout_sec=0.02)

        advance(1000)
        ticks.clear()  # the jump from zero to the first time may be a tick
        for step in range(1, 31):
            advance(1000 + 20 * step)
        assert ticks == [(1000 + 100 * tick) * 1_000_000 for tick in range(1, 7)]

    def test_stand_still_while_ros_time_does(self, graph: Graph) -> None:
        node = graph.node("paused", parameter_overrides=[Parameter("use_sim_time", value=True)])
        ticks: list[int] = []
        steady: list[int] = []
        node.create_timer(0.01, lambda: ticks.append(1))
        node.create_timer(
            0.01, lambda: steady.append(1), clock=rclpy.clock.Clock(clock_type=rclpy.clock.ClockType.STEADY_TIME)
        )
        graph.spin_until(lambda: len(steady) >= 10)
        assert len(ticks) <= 1

    def test_stop_when_cancelled_and_run_again_when_reset_by_another_thread(self, graph: Graph) -> None:
        node = graph.node("cancelled")
        ticks: list[int] = []
        marks: list[int] = []

        def once() -> None:
            ticks.append(1)
            timer.cancel()

        timer = node.create_timer(0.01, once)
        node.create_timer(0.05, lambda: marks.append(1))
        graph.spin_until(lambda: len(marks) == 3)
        assert len(ticks) == 1
        later(timer.reset)
        graph.spin_until(lambda: len(ticks) == 2)

    def test_created_while_waiting_shorten_the_wait(self, graph: Graph) -> None:
        node = graph.node("sleeper")
        ticks: list[int] = []
        node.create_timer(1000.0, lambda: None)
        later(lambda: node.create_timer(0.01, lambda: ticks.append(1)))
        graph.spin_until(lambda: bool(ticks))
