"""Takes the messages of a ROS graph into a record queue, in a thread of its own."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from pe_ros.bag.discovery import RecordedTopic, TopicDiscovery, matching_request, offered_by, to_offered_qos
from pe_ros.bag.log_time import LogTimes
from pe_ros.bag.provenance_collector import ProvenanceCollector
from pe_ros.bag.record_queue import RecordQueue
from pe_ros.bag.taps import TakenMessage, TopicTap, make_tap_node
from pe_sim.errors import BagError

ROUND_PERIOD = 0.01
"""Time between two rounds over all topics [s]; a topic's history in the middleware must last that long."""
SCAN_PERIOD = 0.5
"""Time between two looks at the graph [s]."""
EAGER_SCAN_PERIOD = 0.1
EAGER_TIME = 5.0
"""Time after the start during which the graph is looked at more often [s]: it is still being put together."""
CLOCK_PATIENCE = 5.0
"""Time after which a recorder under simulated time says that no clock has come [s]."""
WARNING_PERIOD = 5.0
"""Shortest time between two warnings of dropped messages [s]."""


class GraphRecorder:
    """Subscribes to topics, takes their messages and puts them into a record queue.

    It needs no executor: neither slow callbacks beside it nor a node that is not spun delay or lose a message.
    """

    def __init__(
        self,
        node: Node,
        queue: RecordQueue,
        log_times: LogTimes,
        collector: ProvenanceCollector,
        topics: Sequence[RecordedTopic],
        discovery: TopicDiscovery | None,
    ) -> None:
        """Subscribe to the topics whose quality of service is given, and start looking for the others.

        Args:
            node: the recorder: its names, graph and log.
            queue: takes the messages.
            log_times: stamps them.
            collector: learns from them what the bag says of its engagement.
            topics: topics to record in any case.
            discovery: finds more of them; None for no more.

        Raises:
            BagError: the type of a topic is not installed.
        """
        self._node = node
        self._queue = queue
        self._log_times = log_times
        self._collector = collector
        self._discovery = discovery
        self._tap_node = make_tap_node(node)
        self._wanted = {node.resolve_topic_name(topic.topic): topic for topic in topics}
        self._taps: dict[str, TopicTap] = {}
        self._publishers: dict[str, int] = {}
        self._lost_before = 0
        self._overflowed = 0
        self._next_warning = 0.0
        self._clock_expected = time.monotonic() + CLOCK_PATIENCE
        self._scan(discover=False)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="bag recorder", daemon=True)
        self._thread.start()

    @property
    def topic_count(self) -> int:
        """Topics subscribed to."""
        return len(self._taps)

    @property
    def lost(self) -> int:
        """Messages that did not arrive, by the gaps in their publishers' numbers."""
        return self._lost_before + sum(tap.lost for tap in list(self._taps.values()))

    def others_publish(self) -> bool:
        """Whether any other node publishes on a recorded topic."""
        own = self._node.get_name()
        return any(
            endpoint.node_name != own
            for topic in list(self._taps)
            for endpoint in self._node.get_publishers_info_by_topic(topic)
        )

    def stop(self, timeout: float = 1.0) -> None:
        """Take what has arrived, then unsubscribe.

        Args:
            timeout: longest time to wait for the round in progress [s].
        """
        self._stopping.set()
        self._thread.join(timeout)
        self._lost_before = self.lost
        for tap in self._taps.values():
            tap.destroy()
        self._taps.clear()
        self._tap_node.destroy_node()

    def _run(self) -> None:
        try:
            eager_until = time.monotonic() + EAGER_TIME
            next_scan = 0.0
            while not self._stopping.wait(ROUND_PERIOD):
                now = time.monotonic()
                if now >= next_scan:
                    self._scan(discover=True)
                    self._note_lost()
                    next_scan = now + (EAGER_SCAN_PERIOD if now < eager_until else SCAN_PERIOD)
                self._take_round(time.time_ns())
            self._take_round(None)
            self._note_lost()
        except Exception as error:  # noqa: BLE001  whatever it is, the recording must not end in silence
            if self._node.context.ok():
                self._node.get_logger().error(f"recording stopped by an internal fault: {error!r}")

    def _take_round(self, began: int | None) -> None:
        dropped = self._queue.put(self._log_times.stamp(self._taken(), began))
        if time.monotonic() > self._clock_expected:
            self._clock_expected = math.inf
            self._warn_of_missing_clock()
        if dropped:
            self._overflowed += dropped
            self._warn_of_drops()

    def _note_lost(self) -> None:
        known = self._queue.provenance
        if known.lost != self.lost:
            self._queue.set_provenance(replace(known, lost=self.lost))

    def _taken(self) -> Iterator[TakenMessage]:
        for tap in list(self._taps.values()):
            observer = self._collector.observer(tap.type_name)
            for message in tap.take():
                if observer is not None:
                    observer(message.data)
                yield message

    def _warn_of_missing_clock(self) -> None:
        if not self._log_times.has_time:
            self._node.get_logger().warning(
                f"use_sim_time is set, but nothing has come on /clock for {CLOCK_PATIENCE:g} s: messages wait for it"
            )

    def _warn_of_drops(self) -> None:
        now = time.monotonic()
        if now >= self._next_warning:
            self._next_warning = now + WARNING_PERIOD
            self._node.get_logger().warning(
                f"recording does not keep up: {self._overflowed} messages dropped since the last warning"
            )
            self._overflowed = 0

    def _scan(self, *, discover: bool) -> None:
        if discover and self._discovery is not None:
            for topic in self._discovery.topics():
                self._wanted.setdefault(topic.topic, topic)
        for name, topic in self._wanted.items():
            publishers = self._node.count_publishers(name)
            if name not in self._taps or publishers != self._publishers.get(name):
                self._publishers[name] = publishers
                self._tap(name, topic)

    def _tap(self, name: str, topic: RecordedTopic) -> None:
        """Subscribe to a topic, or subscribe anew where a publisher has come that offers less than was requested."""
        endpoints = self._node.get_publishers_info_by_topic(name)
        offers: list[QoSProfile] = [endpoint.qos_profile for endpoint in endpoints]
        if not offers and topic.qos is not None:
            offers = [topic.qos]
        old = self._taps.get(name)
        if not offers or (old is not None and not _asks_too_much(old.qos, offers)):
            return
        try:
            self._queue.announce(name, topic.type_name, offered_by(endpoints) or map(to_offered_qos, offers))
        except BagError as error:
            self._node.get_logger().error(f"not recorded: {error}")
            return
        self._taps[name] = TopicTap(self._tap_node, name, topic.type_name, matching_request(offers))
        if old is not None:
            self._lost_before += old.lost
            old.destroy()


def _asks_too_much(request: QoSProfile, offers: Sequence[QoSProfile]) -> bool:
    fitting = matching_request(offers)
    reliability = (request.reliability, fitting.reliability)
    durability = (request.durability, fitting.durability)
    return reliability == (ReliabilityPolicy.RELIABLE, ReliabilityPolicy.BEST_EFFORT) or durability == (
        DurabilityPolicy.TRANSIENT_LOCAL,
        DurabilityPolicy.VOLATILE,
    )
