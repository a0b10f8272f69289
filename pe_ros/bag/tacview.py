"""From a bag to Tacview: the recorded odometry of an engagement as an ACMI 2.2 file."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from pe_ros.bag.provenance import SIMULATED_CLOCK
from pe_ros.bag.reader import BagReader
from pe_sim.engagement import Engagement, parse
from pe_sim.errors import BagError
from pe_sim.evaluation import acmi
from pe_sim.timing import NANOSECONDS

OUT_OF_PLAY = -1.0
"""pose.covariance[0] of a vehicle that is out of the engagement."""

Sample = tuple[int, NDArray[np.float64], NDArray[np.bool_]]


def export(bag: Path, output: Path, episode: int | None = None) -> int:
    """Write the engagement in a bag as an ACMI file; return the number of instants.

    Args:
        bag: the bag.
        output: the file, which must not exist.
        episode: which episode; None for the first in the bag.

    Raises:
        BagError: if the bag holds no engagement, or not that episode.
        EngagementError: if the file exists or cannot be written.
    """
    reader = BagReader(bag)
    text = reader.engagement_file()
    if not text:
        raise BagError(str(bag), "holds no engagement file", cure="record it with pe-ros engage --record")
    engagement = parse(yaml.safe_load(text), str(bag))
    start, end = _span(reader, episode)
    began = acmi.EPOCH
    if reader.provenance.clock != SIMULATED_CLOCK:
        began = datetime.fromtimestamp(start / NANOSECONDS, tz=timezone.utc)
    return acmi.write(output, engagement, _samples(reader, engagement, start, end), began)


def _instant(stamp: Any) -> int:
    return int(stamp.sec) * NANOSECONDS + int(stamp.nanosec)


def _span(reader: BagReader, episode: int | None) -> tuple[int, int]:
    """Return the ROS times of the start and the end of an episode [ns]."""
    found: dict[int, tuple[int, int]] = {}
    for recorded in reader.messages(types=["pe_ros/msg/EngagementState"]):
        state = recorded.message
        start = _instant(state.start)
        if start:
            found[int(state.episode)] = (start, start + _instant(state.elapsed))
    chosen = min(found, default=None) if episode is None else episode
    if chosen is None or chosen not in found:
        raise BagError(
            str(reader.directory), "holds no such episode", episode,
            f"episodes in it: {', '.join(map(str, sorted(found))) or 'none'}",
        )
    return found[chosen]


def _samples(reader: BagReader, engagement: Engagement, start: int, end: int) -> Iterator[Sample]:
    """Yield the state of all agents at each instant at which all were recorded."""
    numbers = {agent: i for i, agent in enumerate(engagement.agents)}
    pending: dict[int, tuple[NDArray[np.float64], NDArray[np.bool_], set[int]]] = {}
    for recorded in reader.messages(types=["nav_msgs/msg/Odometry"]):
        parts = recorded.topic.split("/")
        agent = parts[-2] if len(parts) > 1 else ""
        stamp = _instant(recorded.message.header.stamp)
        if agent not in numbers or not start <= stamp <= end:
            continue
        if stamp not in pending:
            count = len(numbers)
            pending[stamp] = (np.zeros((13, count)), np.zeros(count, dtype=np.bool_), set())
        block, alive, known = pending[stamp]
        i = numbers[agent]
        block[:, i] = _column(recorded.message)
        alive[i] = recorded.message.pose.covariance[0] != OUT_OF_PLAY
        known.add(i)
        if len(known) == len(numbers):
            del pending[stamp]
            yield stamp - start, block, alive


def _column(odometry: Any) -> list[float]:
    pose, twist = odometry.pose.pose, odometry.twist.twist
    return [
        *(getattr(pose.position, axis) for axis in "xyz"),
        *(getattr(pose.orientation, axis) for axis in "xyzw"),
        *(getattr(twist.linear, axis) for axis in "xyz"),
        *(getattr(twist.angular, axis) for axis in "xyz"),
    ]
