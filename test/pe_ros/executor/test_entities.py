"""Entities come and go while the executor spins."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: install pe-ros[ros]")

import rclpy
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.waitable import NumberOfEntities, Waitable
from std_msgs.msg import Int64

from pe_ros.executor import EventExecutor

from .graph import ALL, PATIENCE, Graph, later

pytestmark = pytest.mark.ros


class TestEntities:
    def test_created_while_spinning_are_served(self, graph: Graph) -> None:
        node = graph.node("creator")
        heard: list[Int64] = []
        publisher = node.create_publisher(Int64, "topic", ALL)

        def create() -> None:
            node.create_subscription(Int64, "topic", heard.append, ALL)
            publisher.publish(Int64())

        later(create)
        graph.spin_until(lambda: bool(heard))

    def test_created_by_a_callback_are_served(self, graph: Graph) -> None:
        node = graph.node("creator")
        heard: list[Int64] = []
        publisher = node.create_publisher(Int64, "second", ALL)

        def create(_: Int64) -> None:
            node.create_subscription(Int64, "second", heard.append, ALL)
            publisher.publish(Int64())

        node.create_subscription(Int64, "first", create, ALL)
        node.create_publisher(Int64, "first", ALL).publish(Int64())
        graph.spin_until(lambda: bool(heard))

    def test_destroyed_by_their_own_callback_are_served_no_more(self, graph: Graph) -> None:
        node = graph.node("suicide")
        heard: list[int] = []
        marks: list[Int64] = []

        def last(message: Int64) -> None:
            heard.append(message.data)
            node.destroy_subscription(subscription)

        subscription = node.create_subscription(Int64, "topic", last, ALL)
        node.create_subscription(Int64, "mark", marks.append, ALL)
        publisher = node.create_publisher(Int64, "topic", ALL)
        for value in range(3):
            publisher.publish(Int64(data=value))
        node.create_publisher(Int64, "mark", ALL).publish(Int64())
        graph.spin_until(lambda: bool(marks))
        assert heard == [0]

    def test_of_a_removed_node_go_to_another_executor(self, graph: Graph) -> None:
        node = graph.node("moved")
        heard: list[int] = []
        node.create_subscription(Int64, "topic", lambda message: heard.append(message.data), ALL)
        publisher = node.create_publisher(Int64, "topic", ALL)
        publisher.publish(Int64(data=0))
        graph.spin_until(lambda: heard == [0])
        second = graph.another_executor()
        publisher.publish(Int64(data=1))  # announced to the first, to be taken by the second
        graph.executor.remove_node(node)
        second.add_node(node)
        graph.spin_until(lambda: heard == [0, 1], second)
        second.spin_once(timeout_sec=0.05)  # finds nothing more, and then depends on announcements
        graph.executor.spin_once(timeout_sec=0.05)  # takes no announcement away from the second
        publisher.publish(Int64(data=2))
        graph.executor.spin_once(timeout_sec=0.05)
        assert heard == [0, 1]
        graph.spin_until(lambda: heard == [0, 1, 2], second)

    def test_of_a_node_destroyed_while_spinning_do_no_harm(self, graph: Graph) -> None:
        doomed = graph.node("doomed")
        doomed.create_timer(0.001, lambda: None)
        doomed.create_subscription(Int64, "topic", lambda _: None, ALL)
        survivor = graph.node("survivor")
        heard: list[Int64] = []
        survivor.create_subscription(Int64, "topic", heard.append, ALL)
        publisher = survivor.create_publisher(Int64, "topic", ALL)

        def destroy() -> None:
            doomed.destroy_node()
            publisher.publish(Int64())

        later(destroy)
        graph.spin_until(lambda: bool(heard))

    def test_leave_no_file_descriptors_or_threads_behind(self, graph: Graph) -> None:
        def cycle() -> None:
            node = graph.node("cycle", served=False)
            executor = graph.another_executor()
            executor.add_node(node)
            node.create_timer(1.0, lambda: None)
            node.create_guard_condition(lambda: None)
            for index in range(5):
                node.create_subscription(Int64, f"topic_{index}", lambda _: None, ALL)
            executor.spin_once(timeout_sec=0)
            node.destroy_node()
            executor.shutdown()

        def held() -> tuple[int, int]:
            gc.collect()
            return len(list(Path("/proc/self/fd").iterdir())), threading.active_count()

        cycle()
        before = held()
        for _ in range(5):
            cycle()
        assert held() == before

    def test_of_a_forgotten_executor_are_let_go(self, graph: Graph) -> None:
        node = graph.node("forgotten", served=False)
        node.create_subscription(Int64, "topic", lambda _: None, ALL)
        node.create_guard_condition(lambda: None)  # served by a thread
        node.create_timer(1.0, lambda: None)  # on the node's clock, which reports its jumps
        publisher = node.create_publisher(Int64, "topic", ALL)

        def held() -> tuple[int, int]:
            gc.collect()
            return len(list(Path("/proc/self/fd").iterdir())), threading.active_count()

        before = held()
        executor = EventExecutor(context=graph.context)
        executor.add_node(node)
        executor.spin_once(timeout_sec=0)
        forgotten = weakref.ref(executor)
        gc.disable()
        try:
            del executor
            assert forgotten() is None  # at once: it is part of no cycle
        finally:
            gc.enable()
        assert held() == before
        publisher.publish(Int64())  # writes to no descriptor that now is someone else's

    @pytest.mark.parametrize(("hard", "end"), [(4096, "all heard"), (256, "see ulimit -n")])
    def test_may_be_more_than_the_soft_limit_of_open_files(self, ros_domain: int, hard: int, end: str) -> None:
        script = f"""
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (256, {hard}))
import rclpy
from std_msgs.msg import Int64
from pe_ros.executor import EventExecutor
from pe_sim.errors import RosError
rclpy.init()
node = rclpy.create_node("many")
heard = []
kept = [node.create_subscription(Int64, "topic", lambda message, index=index: heard.append(index), 1)
        for index in range(300)]
executor = EventExecutor()
executor.add_node(node)
node.create_publisher(Int64, "topic", 1).publish(Int64())
try:
    executor.spin_while(lambda: len(heard) < 300)
    print("all heard")
except RosError as error:
    print(error)
"""
        command = [sys.executable, "-c", script]
        process = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=PATIENCE, check=False)
        assert end in process.stdout
        assert process.returncode == 0


class TestOtherWaitables:
    def test_guard_conditions_run_once_per_trigger(self, graph: Graph) -> None:
        node = graph.node("guard")
        calls: list[int] = []
        guard = node.create_guard_condition(lambda: calls.append(1))
        for count in range(1, 4):
            later(guard.trigger)
            graph.spin_until(lambda count=count: len(calls) == count)
        graph.executor.spin_once(timeout_sec=0.05)
        assert len(calls) == 3

    def test_custom_waitables_are_executed(self, graph: Graph) -> None:
        node = graph.node("waitable")
        waitable = GuardWaitable(node)
        node.add_waitable(waitable)
        for count in range(1, 4):
            later(waitable.guard.trigger)
            graph.spin_until(lambda count=count: waitable.executed == count)
        node.remove_waitable(waitable)

    def test_events_of_quality_of_service_are_reported(self, graph: Graph) -> None:
        node = graph.node("events")
        incompatible: list[Any] = []
        matched: list[Any] = []
        node.create_subscription(
            Int64,
            "topic",
            lambda _: None,
            QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE),
            event_callbacks=SubscriptionEventCallbacks(incompatible_qos=incompatible.append, matched=matched.append),
        )
        node.create_publisher(Int64, "topic", QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT))
        graph.spin_until(lambda: len(incompatible) == 1)
        assert incompatible[0].total_count == 1
        assert not matched
        node.create_publisher(Int64, "topic", ALL)
        graph.spin_until(lambda: len(matched) == 1)
        assert matched[0].current_count == 1


class GuardWaitable(Waitable):
    """The least waitable: one guard condition, ready until its data are taken."""

    def __init__(self, node: Node) -> None:
        super().__init__(ReentrantCallbackGroup())
        self.guard = rclpy.guard_condition.GuardCondition(None, None, context=node.context)
        self.executed = 0
        self._index = -1

    def __enter__(self) -> None:
        self.guard.handle.__enter__()

    def __exit__(self, *error: object) -> None:
        self.guard.handle.__exit__(*error)

    def is_ready(self, wait_set: Any) -> bool:
        return bool(wait_set.is_ready("guard_condition", self._index))

    def take_data(self) -> str:
        return "data"

    async def execute(self, taken_data: str) -> None:
        assert taken_data == "data"
        self.executed += 1

    def get_num_entities(self) -> NumberOfEntities:
        return NumberOfEntities(num_gcs=1)

    def add_to_wait_set(self, wait_set: Any) -> None:
        self._index = wait_set.add_guard_condition(self.guard.handle)
