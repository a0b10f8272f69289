"""The recorder of a composed engagement: told beforehand which topics there are, so that it misses no message."""

from __future__ import annotations

from typing import Any

import yaml

from pe_ros import qos, specs
from pe_ros.bag.discovery import RecordedTopic
from pe_ros.bag.provenance import Provenance
from pe_ros.recorder_node import RecorderNode
from pe_sim.engagement import Engagement


def provenance(engagement: Engagement, options: specs.Options) -> Provenance:
    """Return what is known of an engagement before it runs."""
    return Provenance(
        engagement=engagement.engagement,
        engagement_sha256=engagement.sha256,
        engagement_file=yaml.safe_dump(engagement.resolved(), sort_keys=False),
        seed=engagement.seed if options.seed < 0 else options.seed,
        pace=options.pace,
    )


def make_recorder(engagement: Engagement, options: specs.Options, arguments: dict[str, Any]) -> RecorderNode:
    """Return a recorder of everything an engagement publishes.

    Raises:
        BagError: if the directory exists or cannot be written.
    """
    topics = [
        RecordedTopic(topic, kind, getattr(qos, profile)(options.pace))
        for topic, kind, profile in specs.recorded_topics(engagement, clock=False)
    ]
    return RecorderNode(
        topics, directory=options.record, provenance=provenance(engagement, options), simulated=options.simulated,
        **arguments,
    )
