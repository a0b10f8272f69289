"""Learns from the messages of an engagement what its bag says about itself: engagement, seed and policies."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rclpy.serialization import deserialize_message

from pe_ros.bag.record_queue import RecordQueue
from pe_ros.bag.taps import load_message_class

POLICY_METADATA = "pe_ros/msg/PolicyMetadata"
ENGAGEMENT_STATE = "pe_ros/msg/EngagementState"
STATE_PERIOD = 1.0
"""Shortest time between two looks at the engagement's state [s]."""


class ProvenanceCollector:
    """Reads policy metadata and engagement state on their way into the bag.

    They are told by their types, not by their names, so that namespaces and remapping do not matter.
    """

    def __init__(self, queue: RecordQueue) -> None:
        """Amend the provenance of a queue's bag."""
        self._queue = queue
        self._next_state = 0.0
        self._observers: dict[str, Callable[[bytes], None]] = {
            POLICY_METADATA: self._observe_policy,
            ENGAGEMENT_STATE: self._observe_state,
        }

    def observer(self, type_name: str) -> Callable[[bytes], None] | None:
        """Return what looks at the serialized messages of a type; None for those that say nothing of interest."""
        return self._observers.get(type_name)

    def _observe_policy(self, data: bytes) -> None:
        message = _deserialize(data, POLICY_METADATA)
        self._queue.set_provenance(self._queue.provenance.with_policy(message.agent, message.policy_sha256))

    def _observe_state(self, data: bytes) -> None:
        now = time.monotonic()
        if now < self._next_state:
            return
        self._next_state = now + STATE_PERIOD
        message = _deserialize(data, ENGAGEMENT_STATE)
        known = self._queue.provenance
        self._queue.set_provenance(
            replace(
                known,
                engagement=message.engagement or known.engagement,
                engagement_sha256=message.engagement_sha256 or known.engagement_sha256,
                seed=message.seed if known.seed is None else known.seed,
            )
        )


def _deserialize(data: bytes, type_name: str) -> Any:
    return deserialize_message(data, load_message_class(type_name))
