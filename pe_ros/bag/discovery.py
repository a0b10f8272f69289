"""Finds what to record in the ROS graph, and with which quality of service."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from rclpy.duration import Infinite
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.topic_endpoint_info import TopicEndpointInfo

from pe_ros.bag.definitions import find_definition
from pe_ros.bag.offered_qos import INFINITE, OfferedQos
from pe_ros.bag.taps import HISTORY
from pe_sim.errors import BagError


class RecordedTopic(NamedTuple):
    """A topic to record.

    Attributes:
        topic: name, relative to the recorder's namespace unless it begins with ``/``.
        type_name: message type, ``package/msg/Name``.
        qos: quality of service its publishers will offer; None where only the graph will tell.
    """

    topic: str
    type_name: str
    qos: QoSProfile | None = None


class TopicDiscovery:
    """Looks through the graph for topics to record: those below a namespace whose types are installed."""

    def __init__(self, node: Node, exclude: Sequence[str] = ()) -> None:
        """Prepare the search.

        Args:
            node: the recorder; its namespace is searched.
            exclude: regular expressions; a topic whose whole name matches one is left out.

        Raises:
            BagError: an expression is not valid.
        """
        self._node = node
        self._below = node.get_namespace().rstrip("/") + "/"
        self._exclude = [_compile(pattern) for pattern in exclude]
        self._unknown: set[str] = set()

    def topics(self) -> list[RecordedTopic]:
        """Return the topics that someone publishes; those of unknown types are reported once in the log."""
        found = []
        for topic, types in self._node.get_topic_names_and_types():
            if self._is_wanted(topic) and self._node.count_publishers(topic) and self._is_known(topic, types):
                found.append(RecordedTopic(topic, types[0]))
        return found

    def _is_wanted(self, topic: str) -> bool:
        hidden = any(part.startswith("_") for part in topic.split("/"))
        return topic.startswith(self._below) and not hidden and not any(e.fullmatch(topic) for e in self._exclude)

    def _is_known(self, topic: str, types: Sequence[str]) -> bool:
        if topic in self._unknown:
            return False
        reason = f"it is used with several types: {', '.join(types)}" if len(types) != 1 else _missing(types[0])
        if reason:
            self._unknown.add(topic)
            self._node.get_logger().warning(f"not recorded: {topic}: {reason}")
        return not reason


def offered_by(endpoints: Sequence[TopicEndpointInfo]) -> tuple[OfferedQos, ...]:
    """Return what each publisher offers, as a bag keeps it."""
    return tuple(to_offered_qos(endpoint.qos_profile) for endpoint in endpoints)


def to_offered_qos(profile: QoSProfile) -> OfferedQos:
    """Return an rclpy profile as a bag keeps it."""
    return OfferedQos(
        history=profile.history.name.lower(),
        depth=profile.depth,
        reliability=profile.reliability.name.lower(),
        durability=profile.durability.name.lower(),
        deadline=_nanoseconds(profile.deadline.nanoseconds),
        lifespan=_nanoseconds(profile.lifespan.nanoseconds),
        liveliness=profile.liveliness.name.lower(),
        liveliness_lease_duration=_nanoseconds(profile.liveliness_lease_duration.nanoseconds),
    )


def matching_request(offers: Sequence[QoSProfile]) -> QoSProfile:
    """Return the strongest profile that hears every one of the publishers.

    Reliable only if all are reliable, latched only if all are latched: one weaker publisher would otherwise not be
    heard at all. Deadline, lifespan and liveliness are not requested, which fits any offer.
    """
    reliable = all(offer.reliability == ReliabilityPolicy.RELIABLE for offer in offers)
    latched = all(offer.durability == DurabilityPolicy.TRANSIENT_LOCAL for offer in offers)
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=HISTORY,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


def _missing(type_name: str) -> str:
    try:
        find_definition(type_name)
    except BagError as error:
        return str(error)
    return ""


def _nanoseconds(duration: int) -> int:
    return INFINITE if duration >= Infinite.nanoseconds or duration <= 0 else duration


def _compile(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise BagError("exclude", f"not a regular expression: {error}", pattern) from None
