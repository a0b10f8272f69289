"""What is in a bag: topics and rates, gaps in the sensors' readings, decisions and how old their readings were."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from mcap.records import Channel, Message, Schema
from mcap_ros2.decoder import DecoderFactory

from pe_ros.bag.provenance import Provenance
from pe_ros.bag.reader import BagReader
from pe_ros.bag.scan import records
from pe_ros.bag.sequences import SequenceCheck
from pe_sim.timing import NANOSECONDS, seconds

OBSERVATION = "pe_ros/msg/Observation"
ACTION = "pe_ros/msg/Action"
ENGAGEMENT_STATE = "pe_ros/msg/EngagementState"
PHASE_ENDED = 3


@dataclass
class TopicInfo:
    """One topic.

    Attributes:
        topic: name.
        type: message type.
        count: messages.
        rate: messages per second between the first and the last [Hz], 0 where that cannot be told.
        first: log time of the first message [ns].
        last: log time of the last message [ns].
    """

    topic: str
    type: str
    count: int = 0
    rate: float = 0.0
    first: int = 0
    last: int = 0

    def add(self, log_time: int) -> None:
        """Count one more message."""
        self.first = log_time if not self.count else min(self.first, log_time)
        self.last = max(self.last, log_time)
        self.count += 1
        self.rate = (self.count - 1) * NANOSECONDS / (self.last - self.first) if self.last > self.first else 0.0


@dataclass(frozen=True)
class Spread:
    """Distribution of a duration [s]."""

    median: float
    p99: float
    largest: float

    @classmethod
    def of(cls, values: array[float]) -> Spread | None:
        """Return the spread of some durations [s]; None of none."""
        if not values:
            return None
        median, p99 = np.quantile(np.asarray(values), [0.5, 0.99])
        return cls(float(median), float(p99), max(values))


@dataclass
class DecisionInfo:
    """The decisions of one agent.

    Attributes:
        decisions: actions its policy submitted.
        without_reading: of these, decided before any reading had arrived.
        commands: actions the gate let through.
        interventions: of these, changed or made by the gate.
        applied: actions that took effect.
        ages: age of the newest reading used, at the instant decided for [s].
        inference: time the policy took [s].
        delays: from the instant decided for to the effect [s].
        policies: hashes of what decided.
    """

    decisions: int = 0
    without_reading: int = 0
    commands: int = 0
    interventions: int = 0
    applied: int = 0
    ages: array[float] = field(default_factory=lambda: array("d"))
    inference: array[float] = field(default_factory=lambda: array("d"))
    delays: array[float] = field(default_factory=lambda: array("d"))
    policies: set[str] = field(default_factory=set)

    def add(self, topic: str, action: Any) -> None:
        """Count one action, by the last part of its topic: action, command or applied."""
        role = topic.rsplit("/", 1)[-1]
        stamp = _time(action.header.stamp)
        if role == "command":
            self.commands += 1
            self.interventions += action.gate != 0
        elif role == "applied":
            self.applied += 1
            self.delays.append(seconds(_time(action.effective) - stamp))
        else:
            self.decisions += 1
            self.policies.add(action.policy_sha256)
            self.inference.append(seconds(_time(action.inference_time)))
            used = zip(action.observation_stamps, action.observation_sequences, strict=False)
            stamps = [_time(observed) for observed, sequence in used if sequence >= 0]
            if stamps:
                self.ages.append(seconds(stamp - max(stamps)))
            else:
                self.without_reading += 1


@dataclass(frozen=True)
class EpisodeInfo:
    """How an episode ended, by its referee."""

    episode: int
    outcome: str
    elapsed: float
    trajectory_sha256: str


@dataclass
class BagInfo:
    """All that ``pe-ros bag info`` tells.

    Attributes:
        directory: the bag.
        size: of its MCAP file [bytes].
        provenance: what the bag says of its engagement.
        start: earliest log time [ns].
        duration: from the earliest to the latest log time [ns].
        messages: in the bag.
        topics: by name.
        sensors: by agent and sensor.
        agents: decisions by agent.
        episodes: that ended, by number.
    """

    directory: Path
    size: int
    provenance: Provenance
    start: int
    duration: int
    messages: int
    topics: dict[str, TopicInfo] = field(default_factory=dict)
    sensors: dict[tuple[str, str], SequenceCheck] = field(default_factory=dict)
    agents: dict[str, DecisionInfo] = field(default_factory=dict)
    episodes: dict[int, EpisodeInfo] = field(default_factory=dict)


def summarise(directory: Path | str, progress: Callable[[int], None] | None = None) -> BagInfo:
    """Read all of a bag and say what is in it.

    Args:
        directory: the bag.
        progress: told the number of messages read, now and then.

    Raises:
        BagError: not a bag, a damaged one, or one that is being recorded; the error says what to do.
    """
    bag = BagReader(directory)
    metadata = bag.metadata
    info = BagInfo(
        directory=bag.directory,
        size=bag.path.stat().st_size,
        provenance=bag.provenance,
        start=metadata.start,
        duration=metadata.duration,
        messages=metadata.message_count,
        topics={topic.name: TopicInfo(topic.name, topic.type) for topic in metadata.counts},
    )
    _read(bag.path, info, progress)
    return info


def _read(path: Path, info: BagInfo, progress: Callable[[int], None] | None) -> None:
    observers: dict[str, Callable[[BagInfo, str, Any], None]] = {
        OBSERVATION: _observe_reading,
        ACTION: _observe_action,
        ENGAGEMENT_STATE: _observe_state,
    }
    factory = DecoderFactory()
    schemas: dict[int, Schema] = {}
    channels: dict[int, tuple[str, Callable[[BagInfo, str, Any], None] | None, Any]] = {}
    read = 0
    for record in records(path):
        if isinstance(record, Schema):
            schemas[record.id] = record
        elif isinstance(record, Channel) and record.id not in channels:
            schema = schemas.get(record.schema_id)
            observer = observers.get(schema.name) if schema is not None else None
            decode = factory.decoder_for(record.message_encoding, schema) if observer is not None else None
            info.topics.setdefault(record.topic, TopicInfo(record.topic, schema.name if schema is not None else ""))
            channels[record.id] = (record.topic, observer, decode)
        elif isinstance(record, Message):
            if record.channel_id in channels:
                _observe(info, record, *channels[record.channel_id])
            read += 1
            if progress is not None and read % 1000 == 0:
                progress(read)


def _observe(
    info: BagInfo, record: Message, topic: str, observer: Callable[[BagInfo, str, Any], None] | None, decode: Any
) -> None:
    info.topics[topic].add(record.log_time)
    if observer is not None and decode is not None:
        observer(info, topic, decode(record.data))


def _observe_reading(info: BagInfo, _: str, reading: Any) -> None:
    sensor = info.sensors.setdefault((reading.agent, reading.sensor), SequenceCheck())
    sensor.count(reading.episode, reading.sequence, dropped=reading.dropped)


def _observe_action(info: BagInfo, topic: str, action: Any) -> None:
    info.agents.setdefault(action.agent, DecisionInfo()).add(topic, action)


def _observe_state(info: BagInfo, _: str, state: Any) -> None:
    if state.phase == PHASE_ENDED:
        elapsed = seconds(_time(state.elapsed))
        info.episodes[state.episode] = EpisodeInfo(state.episode, state.outcome, elapsed, state.trajectory_sha256)


def _time(stamp: Any) -> int:
    return int(stamp.sec) * NANOSECONDS + int(stamp.nanosec)
