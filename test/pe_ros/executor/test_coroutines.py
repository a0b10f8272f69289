"""Services, tasks and callbacks that await something."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: install pe-ros[ros]")

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.srv import GetParameters
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.lifecycle import LifecycleNode
from rclpy.parameter import Parameter
from rclpy.task import Future
from std_msgs.msg import Int64
from std_srvs.srv import Trigger

from .graph import ALL, PATIENCE, Graph, later

pytestmark = pytest.mark.ros


class TestServices:
    def test_of_parameters_answer(self, graph: Graph) -> None:
        server = graph.node("server", parameter_overrides=[Parameter("use_sim_time", value=False)])
        server.declare_parameter("speed", 3.5)
        client = graph.node("client").create_client(GetParameters, "/server/get_parameters")
        future = client.call_async(GetParameters.Request(names=["speed"]))
        graph.executor.spin_until_future_complete(future, timeout_sec=PATIENCE)
        assert future.result().values[0].double_value == 3.5

    def test_of_lifecycle_nodes_answer(self, graph: Graph) -> None:
        graph.node("managed", kind=LifecycleNode)
        client = graph.node("manager").create_client(ChangeState, "/managed/change_state")
        transition = Transition(id=Transition.TRANSITION_CONFIGURE)
        future = client.call_async(ChangeState.Request(transition=transition))
        graph.executor.spin_until_future_complete(future, timeout_sec=PATIENCE)
        assert future.result().success

    def test_called_in_bursts_are_all_answered(self, graph: Graph) -> None:
        node = graph.node("burst")
        calls: list[int] = []

        def count(_: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            calls.append(1)
            response.message = str(len(calls))
            return response

        node.create_service(Trigger, "count", count, qos_profile=ALL)
        client = node.create_client(Trigger, "count", qos_profile=ALL)
        futures = [client.call_async(Trigger.Request()) for _ in range(50)]
        graph.spin_until(lambda: all(future.done() for future in futures))
        assert [future.result().message for future in futures] == [str(number) for number in range(1, 51)]

    def test_may_call_services_in_a_coroutine(self, graph: Graph) -> None:
        node = graph.node("relay")
        group = ReentrantCallbackGroup()
        inner = node.create_client(Trigger, "inner", callback_group=group)

        async def outer(_: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            response.message = "outer of " + (await inner.call_async(Trigger.Request())).message
            return response

        def answer(_: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            response.message = "inner"
            return response

        node.create_service(Trigger, "inner", answer, callback_group=group)
        node.create_service(Trigger, "outer", outer, callback_group=group)
        future = node.create_client(Trigger, "outer", callback_group=group).call_async(Trigger.Request())
        graph.executor.spin_until_future_complete(future, timeout_sec=PATIENCE)
        assert future.result().message == "outer of inner"


class TestCallbackGroups:
    @pytest.mark.parametrize(
        ("group", "overlaps"), [(MutuallyExclusiveCallbackGroup, False), (ReentrantCallbackGroup, True)]
    )
    def test_decide_whether_a_suspended_callback_keeps_others_out(
        self, graph: Graph, group: Callable[[], Any], overlaps: bool
    ) -> None:
        node = graph.node("groups")
        shared = group()
        gate: Future = Future()
        story: list[str] = []

        async def suspended(_: Int64) -> None:
            story.append("begin")
            await gate
            story.append("end")

        node.create_subscription(Int64, "slow", suspended, ALL, callback_group=shared)
        node.create_subscription(Int64, "other", lambda _: story.append("other"), ALL, callback_group=shared)
        node.create_subscription(
            Int64, "free", lambda _: story.append("free"), ALL, callback_group=MutuallyExclusiveCallbackGroup()
        )
        slow, other, free = (node.create_publisher(Int64, topic, ALL) for topic in ("slow", "other", "free"))
        slow.publish(Int64())
        graph.spin_until(lambda: "begin" in story)
        other.publish(Int64())
        other.publish(Int64())
        graph.executor.spin_once(timeout_sec=0.05)
        free.publish(Int64())
        graph.spin_until(lambda: "free" in story)
        graph.executor.spin_once(timeout_sec=0.05)
        assert ("other" in story) == overlaps
        gate.set_result(None)
        graph.spin_until(lambda: story.count("other") == 2 and "end" in story)
        if not overlaps:
            assert story.index("end") < story.index("other")


class TestTasks:
    def test_run_functions_and_coroutines_from_any_thread(self, graph: Graph) -> None:
        graph.node("tasks")
        results: list[Any] = []

        async def coroutine(value: int) -> int:
            return value + 1

        def create() -> None:
            results.append(graph.executor.create_task(lambda value: value + 1, 1))
            results.append(graph.executor.create_task(coroutine, 2))

        later(create)
        graph.spin_until(lambda: len(results) == 2 and all(task.done() for task in results))
        assert [task.result() for task in results] == [2, 3]

    def test_awaiting_a_future_of_another_thread_go_on_when_it_is_done(self, graph: Graph) -> None:
        graph.node("waiting")
        gate: Future = Future()

        async def wait() -> Any:
            return await gate

        task = graph.executor.create_task(wait)
        later(lambda: gate.set_result("done"))
        graph.executor.spin_until_future_complete(task, timeout_sec=PATIENCE)
        assert task.result() == "done"

    def test_done_callbacks_run(self, graph: Graph) -> None:
        graph.node("callbacks")
        heard: list[Any] = []
        task = graph.executor.create_task(lambda: 5)
        task.add_done_callback(lambda future: heard.append(future.result()))
        graph.spin_until(lambda: heard == [5])
