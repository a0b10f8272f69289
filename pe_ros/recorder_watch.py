"""Whether a recorder in another process hears an engagement yet: an episode begun before would lack its start."""

from __future__ import annotations

from collections.abc import Sequence

from rclpy.node import Node

from pe_ros.bag.taps import tap_node_name


class RecorderWatch:
    """Looks in the graph for the subscriptions of a recorder.

    Args:
        node: whose graph, and whose namespace the topics are in.
        recorder: name of the recorder's node, in the same namespace.
        topics: relative topics that it has to hear.
    """

    def __init__(self, node: Node, recorder: str, topics: Sequence[str]) -> None:
        self._node = node
        self._listener = tap_node_name(recorder)
        self._unheard = list(topics)

    def unheard(self) -> list[str]:
        """Return the topics that the recorder has not subscribed to yet."""
        self._unheard = [topic for topic in self._unheard if not self._hears(topic)]
        return self._unheard

    def _hears(self, topic: str) -> bool:
        subscriptions = self._node.get_subscriptions_info_by_topic(self._node.resolve_topic_name(topic))
        return any(one.node_name == self._listener for one in subscriptions)
