"""The recorder node's parameters: declared, typed and checked."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node

from pe_ros.bag.discovery import RecordedTopic
from pe_ros.bag.provenance import Provenance
from pe_ros.bag.record_queue import MAX_MESSAGES
from pe_ros.bag.writer import FLUSH_PERIOD, Compression
from pe_sim.errors import RosError
from pe_sim.timing import NANOSECONDS

NO_STRINGS = [""]
"""An empty list of strings: rclpy cannot tell the type of ``[]``."""


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
        engagement_file: text of the engagement file, or ''.
        pace: realtime, lockstep, wall, or ''.
    """

    directory: Path
    topics: list[RecordedTopic]
    exclude: list[str]
    flush_period: int
    compression: Compression
    max_queue: int
    synchronise: bool
    engagement_file: str
    pace: str

    def provenance(self) -> Provenance:
        """Return what the parameters say of the engagement."""
        return Provenance(engagement_file=self.engagement_file, pace=self.pace)


def declare_parameters(node: Node, directory: Path | str | None) -> RecorderParameters:
    """Declare the recorder's parameters on its node and return their values.

    Args:
        node: the recorder.
        directory: the bag; None for the parameter.

    Raises:
        RosError: a value is of the wrong type or out of its range.
    """
    declare = _Declarations(node)
    parameter = declare("directory", "", "the bag: a new directory; '' for bag_<date>-<time>")
    return RecorderParameters(
        directory=Path(directory or parameter or time.strftime("bag_%Y_%m_%d-%H_%M_%S")),
        topics=_topics(declare("topics", NO_STRINGS, "topics, each 'topic type'; none for all in the namespace")),
        exclude=_strings(declare("exclude", NO_STRINGS, "regular expressions of topics to leave out")),
        flush_period=round(
            NANOSECONDS
            * declare("flush_period", FLUSH_PERIOD / NANOSECONDS, "longest time messages stay in memory [s]", 0.05, 1.0)
        ),
        compression=_compression(declare("compression", Compression.ZSTD.value, "of the bag: none, lz4 or zstd")),
        max_queue=declare("max_queue", MAX_MESSAGES, "messages that may wait for the disk", 100, 10_000_000),
        synchronise=declare(
            "synchronise", default=True, description="wait for the disk at each flush, against loss of power"
        ),
        engagement_file=_text(declare("engagement_file", "", "resolved engagement file, to be kept in the bag")),
        pace=declare("pace", "", "realtime, lockstep or wall, to be noted in the bag"),
    )


class _Declarations:
    def __init__(self, node: Node) -> None:
        self._node = node

    def __call__(
        self, name: str, default: Any, description: str, low: float | None = None, high: float | None = None
    ) -> Any:
        """Declare a read-only parameter and return its value, an integer standing for a double where need be."""
        descriptor = ParameterDescriptor(description=description, read_only=True)
        descriptor.dynamic_typing = isinstance(default, float)
        if isinstance(default, float):
            descriptor.floating_point_range = [FloatingPointRange(from_value=low, to_value=high, step=0.0)]
        elif low is not None and high is not None:
            descriptor.integer_range = [IntegerRange(from_value=int(low), to_value=int(high), step=1)]
        kind = type(default).__name__ if default != NO_STRINGS else "list of strings"
        bounds = "" if low is None else f" from {low} to {high}"
        rule = f"must be a {kind}{bounds}: {description}"
        try:
            value = self._node.declare_parameter(name, default, descriptor).value
        except (InvalidParameterTypeException, InvalidParameterValueException) as error:
            given = getattr(getattr(error, "_parameter", None), "value", None)
            raise RosError(f"{self._node.get_fully_qualified_name()}: parameter {name}", rule, given) from None
        if isinstance(default, float):
            value = _double(value, low, high, f"{self._node.get_fully_qualified_name()}: parameter {name}", rule)
        return value


def _double(value: Any, low: float | None, high: float | None, name: str, rule: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise RosError(name, rule, value)
    if not (low is None or high is None or low <= value <= high):
        raise RosError(name, rule, value)
    return float(value)


def _topics(entries: Sequence[str]) -> list[RecordedTopic]:
    topics = []
    for entry in _strings(entries):
        parts = entry.split()
        if len(parts) != 2:
            rule = "must name a topic and its message type"
            raise RosError("parameter topics", rule, entry, "e.g. '/pursuer_0/odom nav_msgs/msg/Odometry'")
        topics.append(RecordedTopic(parts[0], parts[1]))
    return topics


def _strings(entries: Sequence[str]) -> list[str]:
    return [entry for entry in entries if entry.strip()]


def _compression(value: str) -> Compression:
    try:
        return Compression(value)
    except ValueError:
        raise RosError("parameter compression", "must be none, lz4 or zstd", value) from None


def _text(path: str) -> str:
    if not path:
        return ""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RosError("parameter engagement_file", f"cannot be read: {error}", path) from None
