"""Nodes in a context and ROS domain of their own, and the executor under test."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.node import Node
from rclpy.qos import QoSProfile

from pe_ros.executor import EventExecutor

PATIENCE = 20.0  # [s]; only a failing test waits so long
ALL = QoSProfile(depth=1000)


class Graph:
    """Nodes in a context and ROS domain of their own, and an executor that serves them."""

    def __init__(self, domain: int) -> None:
        self.context = Context()
        rclpy.init(context=self.context, domain_id=domain)
        self.executor = EventExecutor(context=self.context)
        self._nodes: list[Node] = []
        self._executors = [self.executor]

    def node(self, name: str, *, served: bool = True, kind: type[Node] = Node, **arguments: Any) -> Node:
        node = kind(name, context=self.context, **arguments)
        self._nodes.append(node)
        if served:
            self.executor.add_node(node)
        return node

    def another_executor(self) -> EventExecutor:
        self._executors.append(EventExecutor(context=self.context))
        return self._executors[-1]

    def spin_until(self, condition: Callable[[], bool], executor: EventExecutor | None = None) -> None:
        """Spin, by `spin` and by `spin_once` in turns, until the condition holds; fail where it never does."""
        executor = executor or self.executor
        end = time.monotonic() + PATIENCE
        alarm = threading.Timer(PATIENCE, executor.wake)
        alarm.start()
        try:
            executor.spin_once(timeout_sec=0)
            executor.spin_while(lambda: not condition() and time.monotonic() < end)
        finally:
            alarm.cancel()
        assert condition(), "the executor did not do it"

    def close(self) -> None:
        for executor in self._executors:
            executor.shutdown()
        for node in self._nodes:
            node.destroy_node()
        rclpy.try_shutdown(context=self.context)


def later(action: Callable[[], Any]) -> threading.Thread:
    """Do something in another thread once the spinning thread has had time to fall asleep."""

    def act() -> None:
        time.sleep(0.1)
        action()

    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    return thread
