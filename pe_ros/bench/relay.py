"""The floor: a chain of bare rclpy relays with the messages of one decision, on rclpy's own executor."""

from __future__ import annotations

import time
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.utilities import try_shutdown

from pe_ros.msg import Action, Observation

QOS = QoSProfile(depth=1)


def messages(width: int, size: int) -> tuple[Observation, Action]:
    """Return an observation of ``width`` values and an action of ``size`` values, with texts as long as usual."""
    observation = Observation(agent="pursuer_0", sensor="radar", layout_sha256="0" * 64)
    observation.header.frame_id = "pursuer_0/base_link"
    observation.values, observation.valid = [0.0] * width, [True] * width
    action = Action(agent="pursuer_0", kind="velocity", policy_sha256="0" * 64, sensors=["own_motion", "radar"])
    action.header.frame_id = "world"
    action.values = [0.0] * size
    action.observation_sequences = [0, 0]
    return observation, action


def relay_latencies(count: int, rate: float, width: int = 4, size: int = 4) -> list[float]:
    """Return latencies [ms] of observation -> relay -> action -> relay -> command, three hops in one process."""
    context = Context()
    rclpy.init(context=context)
    nodes = [Node(f"relay_{i}", context=context) for i in range(4)]
    executor = SingleThreadedExecutor(context=context)
    for node in nodes:
        executor.add_node(node)
    observation, action = messages(width, size)
    arrived: list[float] = []
    first = nodes[0].create_publisher(Observation, "relay/observation", QOS)
    second = nodes[1].create_publisher(Action, "relay/action", QOS)
    third = nodes[2].create_publisher(Action, "relay/command", QOS)
    nodes[1].create_subscription(Observation, "relay/observation", lambda _: second.publish(action), QOS)
    nodes[2].create_subscription(Action, "relay/action", third.publish, QOS)
    nodes[3].create_subscription(Action, "relay/command", lambda _: arrived.append(time.perf_counter()), QOS)
    try:
        return _run(executor, first, observation, arrived, count, rate)
    finally:
        executor.shutdown()
        for node in nodes:
            node.destroy_node()
        try_shutdown(context=context)


def _run(executor: Any, publisher: Any, message: Any, arrived: list[float], count: int, rate: float) -> list[float]:
    """Send one message at a time at a rate and return its latency."""
    latencies = []
    for i in range(count + 20):
        wait_until = time.monotonic() + 1.0 / rate
        arrived.clear()
        sent = time.perf_counter()
        publisher.publish(message)
        while not arrived and time.monotonic() < wait_until + 0.5:
            executor.spin_once(timeout_sec=0.1)
        if i >= 20 and arrived:  # the first ones find the way
            latencies.append((arrived[0] - sent) * 1e3)
        while time.monotonic() < wait_until:
            executor.spin_once(timeout_sec=max(0.0, wait_until - time.monotonic()))
    return latencies
