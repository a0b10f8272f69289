"""The recorder node's parameters."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import yaml
from rclpy.node import Node

from pe_ros.bag.discovery import RecordedTopic
from pe_ros.bag.provenance import Provenance
from pe_ros.bag.record_queue import MAX_MESSAGES
from pe_ros.bag.writer import FLUSH_PERIOD, Compression
from pe_ros.node_parameters import COMMON
from pe_ros.parameters import Declared, declare
from pe_sim.engagement import Engagement, load
from pe_sim.errors import RosError
from pe_sim.shared_files import engagement_file
from pe_sim.timing import NANOSECONDS

COMPRESSIONS = tuple(compression.value for compression in Compression)
NO_STRINGS = [""]
"""An empty list of strings: rclpy cannot tell the type of ``[]``."""

RECORDER = (
    Declared("directory", "", "The bag: a new directory; bag_<date>-<time> where empty."),
    Declared("topics", NO_STRINGS, "Topics, each 'topic type'; all of the node's namespace where empty."),
    Declared("exclude", NO_STRINGS, "Regular expressions of whole topic names to leave out."),
    Declared(
        "flush_period", FLUSH_PERIOD / NANOSECONDS, "Longest time that messages stay in memory [s].", low=0.05, high=1.0
    ),
    Declared("compression", Compression.ZSTD.value, "Compression of the bag.", choices=COMPRESSIONS),
    Declared("max_queue", MAX_MESSAGES, "Messages that may wait for the disk.", low=100, high=10_000_000),
    Declared("synchronise", default=True, description="Wait for the disk at each flush, against a loss of power."),
)
"""The recorder's parameters beside the common ones."""


@dataclass(frozen=True)
class RecorderParameters:
    """What the parameters ask for.

    Attributes:
        directory: the bag.
        topics: topics to record; empty for all of the namespace.
        exclude: regular expressions of topics to leave out.
        flush_period: longest time that messages stay in the process [ns].
        compression: of the chunks.
        max_queue: messages that may wait for the disk.
        synchronise: whether to wait for the disk at each flush.
        provenance: what is known of the engagement.
    """

    directory: Path
    topics: list[RecordedTopic]
    exclude: list[str]
    flush_period: int
    compression: Compression
    max_queue: int
    synchronise: bool
    provenance: Provenance


def declare_parameters(node: Node, directory: Path | str | None) -> RecorderParameters:
    """Declare the recorder's parameters on its node and return their values.

    Args:
        node: the recorder.
        directory: the bag; None for the parameter.

    Raises:
        RosError: a parameter is unknown, of the wrong type or out of its range.
        EngagementError: the engagement file cannot be used.
    """
    values = declare(node, (*COMMON, *RECORDER))
    return RecorderParameters(
        directory=Path(directory or values["directory"] or time.strftime("bag_%Y_%m_%d-%H_%M_%S")),
        topics=[_topic(entry) for entry in _strings(values["topics"])],
        exclude=_strings(values["exclude"]),
        flush_period=round(NANOSECONDS * values["flush_period"]),
        compression=Compression(values["compression"]),
        max_queue=values["max_queue"],
        synchronise=values["synchronise"],
        provenance=_provenance(values["engagement"], values["overrides"], values["pace"]),
    )


def engagement_provenance(engagement: Engagement, *, pace: str, seed: int | None = None) -> Provenance:
    """Return what is known of an engagement before it runs.

    Args:
        engagement: the engagement.
        pace: realtime, lockstep or wall.
        seed: seed of the run; None for the engagement file's.
    """
    return Provenance(
        engagement=engagement.engagement,
        engagement_sha256=engagement.sha256,
        engagement_file=yaml.safe_dump(engagement.resolved(), sort_keys=False, allow_unicode=True),
        seed=engagement.seed if seed is None else seed,
        pace=pace,
    )


def _provenance(path: str, overrides: str, pace: str) -> Provenance:
    if not path:
        return Provenance()
    try:
        changes = json.loads(overrides) if overrides else None
    except ValueError as error:
        raise RosError("parameter overrides", f"not a JSON object: {error}", overrides) from None
    known = engagement_provenance(load(engagement_file(path), changes), pace=pace)
    return replace(known, seed=None)  # the run's may differ from the file's: the engagement's state tells


def _topic(entry: str) -> RecordedTopic:
    parts = entry.split()
    if len(parts) != 2:
        example = "e.g. '/pursuer_0/odom nav_msgs/msg/Odometry'"
        raise RosError("parameter topics", "must name a topic and its message type", entry, example)
    return RecordedTopic(parts[0], parts[1])


def _strings(entries: Sequence[str]) -> list[str]:
    return [entry for entry in entries if entry.strip()]
