"""Messages reach callbacks: all of them, in order, in the form asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: install pe-ros[ros]")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from std_msgs.msg import Int64

from .graph import ALL, PATIENCE, Graph

pytestmark = pytest.mark.ros


class TestMessages:
    @settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        bursts=st.lists(
            st.lists(st.tuples(st.integers(0, 2), st.integers(-(2**63), 2**63 - 1)), max_size=50),
            min_size=1,
            max_size=5,
        ),
        once=st.booleans(),
    )
    def test_none_is_lost_and_each_topic_keeps_its_order(
        self, graph: Graph, bursts: list[list[tuple[int, int]]], once: bool
    ) -> None:
        node = graph.node("order")
        heard: list[list[int]] = [[], [], []]
        publishers, subscriptions = [], []
        for topic in range(3):
            publishers.append(node.create_publisher(Int64, f"topic_{topic}", ALL))
            subscriptions.append(
                node.create_subscription(
                    Int64, f"topic_{topic}", lambda message, topic=topic: heard[topic].append(message.data), ALL
                )
            )
        sent: list[list[int]] = [[], [], []]
        for burst in bursts:
            for topic, value in burst:
                publishers[topic].publish(Int64(data=value))
                sent[topic].append(value)
            if once:
                for _ in burst:
                    graph.executor.spin_once(timeout_sec=PATIENCE)
                assert heard == sent  # one callback per call, neither more nor less
            else:
                graph.spin_until(lambda: heard == sent)
        node.destroy_node()

    def test_pass_through_a_chain_of_nodes(self, graph: Graph) -> None:
        hops = 15
        heard: list[int] = []
        nodes = [graph.node(f"hop_{hop}") for hop in range(hops)]
        for hop, node in enumerate(nodes[:-1]):
            onward = node.create_publisher(Int64, f"hop_{hop + 1}", ALL)
            node.create_subscription(Int64, f"hop_{hop}", onward.publish, ALL)
        nodes[-1].create_subscription(Int64, f"hop_{hops - 1}", lambda message: heard.append(message.data), ALL)
        first = nodes[-1].create_publisher(Int64, "hop_0", ALL)
        for value in range(100):
            first.publish(Int64(data=value))
        graph.spin_until(lambda: len(heard) == 100)
        assert heard == list(range(100))

    def test_come_with_message_info_where_the_callback_takes_two_arguments(self, graph: Graph) -> None:
        node = graph.node("info")
        heard: list[tuple[int, Any]] = []
        node.create_subscription(Int64, "topic", lambda message, info: heard.append((message.data, info)), ALL)
        node.create_publisher(Int64, "topic", ALL).publish(Int64(data=7))
        graph.spin_until(lambda: bool(heard))
        value, info = heard[0]
        assert value == 7
        assert info["source_timestamp"] > 0

    def test_come_serialised_to_raw_subscriptions(self, graph: Graph) -> None:
        node = graph.node("raw")
        heard: list[bytes] = []
        node.create_subscription(Int64, "topic", heard.append, ALL, raw=True)
        node.create_publisher(Int64, "topic", ALL).publish(Int64(data=7))
        graph.spin_until(lambda: bool(heard))
        assert deserialize_message(heard[0], Int64).data == 7

    def test_that_arrived_before_the_node_was_added_are_not_lost(self, graph: Graph) -> None:
        node = graph.node("early", served=False)
        heard: list[int] = []
        node.create_subscription(Int64, "topic", lambda message: heard.append(message.data), ALL)
        publisher = node.create_publisher(Int64, "topic", ALL)
        for value in range(3):
            publisher.publish(Int64(data=value))
        graph.executor.add_node(node)
        graph.spin_until(lambda: heard == [0, 1, 2])

    def test_go_to_a_callback_that_was_replaced(self, graph: Graph) -> None:
        node = graph.node("replaced")
        first: list[Int64] = []
        second: list[Int64] = []
        subscription = node.create_subscription(Int64, "topic", first.append, ALL)
        publisher = node.create_publisher(Int64, "topic", ALL)
        publisher.publish(Int64())
        graph.spin_until(lambda: len(first) == 1)
        subscription.callback = lambda message, info: second.append(message)
        publisher.publish(Int64())
        graph.spin_until(lambda: len(second) == 1)
        assert len(first) == 1

    def test_of_a_busy_topic_do_not_keep_out_those_of_another(self, graph: Graph) -> None:
        node = graph.node("fair")
        again = node.create_publisher(Int64, "busy", ALL)
        busy = quiet = 0

        def endless(_: Int64) -> None:
            nonlocal busy
            busy += 1
            again.publish(Int64())

        def count(_: Int64) -> None:
            nonlocal quiet
            quiet += 1

        node.create_subscription(Int64, "busy", endless, ALL)
        node.create_subscription(Int64, "quiet", count, ALL)
        for _ in range(100):
            again.publish(Int64())
        graph.spin_until(lambda: busy > 1000)
        node.create_publisher(Int64, "quiet", ALL).publish(Int64())
        graph.spin_until(lambda: quiet == 1)

    def test_another_process_loses_none_and_of_a_short_history_the_newest_arrives(self, graph: Graph) -> None:
        node = graph.node("reader")
        every: list[int] = []
        newest: list[int] = []
        node.create_subscription(Int64, "every", lambda message: every.append(message.data), QoSProfile(depth=5000))
        short = QoSProfile(depth=2, reliability=ReliabilityPolicy.RELIABLE)
        node.create_subscription(Int64, "newest", lambda message: newest.append(message.data), short)
        count = 3000
        environment = os.environ | {"ROS_DOMAIN_ID": str(graph.context.get_domain_id())}
        writer = subprocess.Popen([sys.executable, "-c", BURSTS, str(count)], env=environment)
        try:
            graph.spin_until(lambda: len(every) == count and newest[-1:] == [count - 1])
        finally:
            writer.kill()
            writer.wait()
        assert every == list(range(count))
        assert newest == sorted(newest)


BURSTS = """
import random, sys, time
import rclpy
from rclpy.node import Node
from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import Int64

rclpy.init()
node, draw = Node("writer"), random.Random(5)
reliable = ReliabilityPolicy.RELIABLE
every = node.create_publisher(Int64, "every", QoSProfile(history=HistoryPolicy.KEEP_ALL, depth=1, reliability=reliable))
newest = node.create_publisher(Int64, "newest", QoSProfile(depth=2, reliability=reliable))
while not (every.get_subscription_count() and newest.get_subscription_count()):
    time.sleep(0.01)
for value in range(int(sys.argv[1])):
    every.publish(Int64(data=value))
    newest.publish(Int64(data=value))
    if draw.random() < 0.05:
        time.sleep(draw.random() * 0.002)
time.sleep(60)  # a writer that ends takes its history with it
"""
