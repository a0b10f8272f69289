"""How spinning ends, fails, sleeps and falls back."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: install pe-ros[ros]")

import rclpy
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.task import Future
from std_msgs.msg import Int64
from std_srvs.srv import Trigger

from pe_ros.executor import EventExecutor, event_executor, make_executor

from .graph import ALL, PATIENCE, Graph, later

pytestmark = pytest.mark.ros


class TestErrors:
    def test_in_a_callback_leave_spin_and_lose_no_message(self, graph: Graph) -> None:
        node = graph.node("faulty")
        heard: list[int] = []

        def faulty(message: Int64) -> None:
            heard.append(message.data)
            if message.data == 1:
                raise ValueError("one")

        node.create_subscription(Int64, "topic", faulty, ALL)
        publisher = node.create_publisher(Int64, "topic", ALL)
        for value in range(4):
            publisher.publish(Int64(data=value))
        with pytest.raises(ValueError, match="one"):
            graph.spin_until(lambda: False)
        assert heard == [0, 1]
        graph.spin_until(lambda: heard == [0, 1, 2, 3])

    def test_in_timers_services_tasks_and_resumed_coroutines_leave_spin(self, graph: Graph) -> None:
        node = graph.node("faulty")

        def fail(*_: Any) -> Any:
            raise ValueError("fault")

        timer = node.create_timer(0.01, fail)
        with pytest.raises(ValueError, match="fault"):
            graph.spin_until(lambda: False)
        timer.cancel()

        node.create_service(Trigger, "service", fail)
        node.create_client(Trigger, "service").call_async(Trigger.Request())
        with pytest.raises(ValueError, match="fault"):
            graph.spin_until(lambda: False)

        graph.executor.create_task(fail)
        with pytest.raises(ValueError, match="fault"):
            graph.spin_until(lambda: False)

        gate: Future = Future()

        async def fail_later(_: Int64) -> None:
            await gate
            fail()

        node.create_subscription(Int64, "topic", fail_later, ALL)
        node.create_publisher(Int64, "topic", ALL).publish(Int64())
        graph.executor.spin_once(timeout_sec=PATIENCE)
        gate.set_result(None)
        with pytest.raises(ValueError, match="fault"):
            graph.spin_until(lambda: False)

    def test_of_nested_spinning_are_named(self, graph: Graph) -> None:
        node = graph.node("nested")
        node.create_timer(0.01, lambda: graph.executor.spin_once(timeout_sec=0))
        with pytest.raises(RuntimeError, match="must not spin its own executor"):
            graph.spin_until(lambda: False)


class TestSpinning:
    def test_ends_when_a_callback_shuts_down(self, graph: Graph) -> None:
        node = graph.node("ending")
        calls: list[int] = []

        def end() -> None:
            calls.append(1)
            graph.executor.shutdown()

        node.create_timer(0.01, end)
        graph.executor.spin()
        assert calls == [1]
        assert graph.executor.get_nodes() == []

    def test_ends_when_another_thread_shuts_down(self, graph: Graph) -> None:
        graph.node("ending")
        ended: list[bool] = []
        thread = later(lambda: ended.append(graph.executor.shutdown(timeout_sec=PATIENCE)))
        graph.executor.spin()
        thread.join(PATIENCE)
        assert ended == [True]

    def test_ends_with_the_context(self, graph: Graph) -> None:
        graph.node("ending")
        later(lambda: rclpy.shutdown(context=graph.context))
        with pytest.raises(ExternalShutdownException):
            graph.executor.spin()

    def test_once_returns_without_work(self, graph: Graph) -> None:
        graph.node("idle")
        graph.executor.spin_once(timeout_sec=0)
        graph.executor.spin_once(timeout_sec=0.01)

    def test_gives_up_on_a_future_when_the_time_is_over(self, graph: Graph) -> None:
        graph.node("idle")
        future: Future = Future()
        graph.executor.spin_until_future_complete(future, timeout_sec=0.05)
        assert not future.done()

    @pytest.mark.parametrize("load", ["nothing", "cancelled timer", "paused clock", "parked timer"])
    def test_sleeps_while_nothing_happens(self, graph: Graph, monkeypatch: pytest.MonkeyPatch, load: str) -> None:
        node = graph.node("idle", parameter_overrides=[Parameter("use_sim_time", value=load == "paused clock")])
        allowed = 5
        if load == "cancelled timer":
            node.create_timer(0.001, lambda: None).cancel()
        if load == "paused clock":
            node.create_timer(0.001, lambda: None)
        if load == "parked timer":
            allowed = 60  # a suspended coroutine is looked at every 10 ms

            async def suspended() -> None:
                await Future()

            group = MutuallyExclusiveCallbackGroup()
            node.create_timer(0.001, suspended, callback_group=group)
            node.create_timer(0.001, lambda: None, callback_group=group)
        settled = time.monotonic() + 0.5
        while time.monotonic() < settled:
            graph.executor.spin_once(timeout_sec=0.1)
        turns: list[int] = []
        collect = graph.executor._collect
        monkeypatch.setattr(graph.executor, "_collect", lambda *a: (turns.append(1), collect(*a)))
        later(lambda: (time.sleep(0.4), turns.append(0), graph.executor.wake()))
        graph.executor.spin_while(lambda: 0 not in turns)
        assert len(turns) <= allowed

    @pytest.mark.parametrize(("number", "end"), [(signal.SIGTERM, "shut down"), (signal.SIGINT, "interrupted")])
    def test_ends_by_the_signal_handlers_of_rclpy(self, ros_domain: int, number: signal.Signals, end: str) -> None:
        script = """
import rclpy
from rclpy.executors import ExternalShutdownException
from pe_ros.executor import EventExecutor
rclpy.init()
executor = EventExecutor()
executor.add_node(rclpy.create_node("signalled"))
executor.create_task(print, "spinning", flush=True)
try:
    executor.spin()
except ExternalShutdownException:
    print("shut down")
except KeyboardInterrupt:
    print("interrupted")
"""
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "spinning\n"
            process.send_signal(number)
            output, _ = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
        assert end in output


class TestFallback:
    def test_is_the_stock_executor(
        self, graph: Graph, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(event_executor, "unsupported_reason", lambda: "no announcements on this machine")
        executor = make_executor(graph.context)
        try:
            assert type(executor) is SingleThreadedExecutor
        finally:
            executor.shutdown()
        assert "no announcements on this machine" in capfd.readouterr().err

    def test_is_not_needed_here(self, graph: Graph) -> None:
        executor = make_executor(graph.context)
        try:
            assert isinstance(executor, EventExecutor)
        finally:
            executor.shutdown()
