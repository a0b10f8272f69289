"""What is wrong around a node: no referee, no clock, or one publisher too many. Each is said once, when it begins."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rclpy.node import Node

from pe_ros import topics
from pe_ros.engagement_node import EngagementContext, logger

PATIENCE = 5.0
"""Time after which silence is worth a word [s]."""


class Wiring:
    """Looks at the graph around one node.

    Args:
        node: the node.
        context: its engagement and time.
        exclusive: relative topics that just one node may publish on.
    """

    def __init__(self, node: Node, context: EngagementContext, exclusive: Sequence[str]) -> None:
        self._node = node
        self._context = context
        self._exclusive = [node.resolve_topic_name(topic) for topic in exclusive]
        self._silent_since: float | None = time.monotonic()
        self._running_since: float | None = None
        self._said = ""

    def heard_referee(self, *, running: bool) -> None:
        """Take note of a word of the referee, and whether the episode runs."""
        self._silent_since = None
        if not running:
            self._running_since = None
        elif self._running_since is None:
            self._running_since = time.monotonic()

    def fault(self) -> str:
        """Return what keeps the node from taking part, '' for nothing; what is new is logged."""
        text = self._no_clock() or self._rivals()
        self._log(text)
        return text

    def _log(self, text: str) -> None:
        if text and text != self._said:
            logger(self._node).error(text)
        self._said = text
        if self._silent_since is not None and time.monotonic() - self._silent_since > PATIENCE:
            self._silent_since = None
            state = self._node.resolve_topic_name(topics.ENGAGEMENT_STATE)
            logger(self._node).warning(
                f"nothing on {state} for {PATIENCE:g} s: waiting for a sim_node, or with vehicles a referee_node"
            )

    def _no_clock(self) -> str:
        since = self._running_since
        if not self._context.simulated or self._context.now() or since is None or time.monotonic() - since < PATIENCE:
            return ""
        return (
            f"time is simulated, but nothing comes on {topics.CLOCK} while the episode runs: "
            f"start what publishes it, or set use_sim_time to false"
        )

    def _rivals(self) -> str:
        for topic in self._exclusive:
            # Not Node.count_publishers, which would resolve the name once more at every report.
            with self._node.handle:
                count = self._node.handle.get_count_publishers(topic)
            if count > 1:
                publishers = self._node.get_publishers_info_by_topic(topic)
                names = sorted(f"{one.node_namespace.rstrip('/')}/{one.node_name}" for one in publishers)
                if len(names) > 1:
                    return f"{len(names)} publishers on {topic}, where there must be one: {', '.join(names)}"
        return ""
