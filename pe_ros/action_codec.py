"""Actions as bytes; see :mod:`pe_ros.cdr` for why and how.

The gate and the world pass on what they received with a few fields changed: the same bytes, patched.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rclpy.serialization import deserialize_message

from pe_ros.cdr import TIME, Places, Reader
from pe_ros.msg import Action
from pe_sim.timing import NANOSECONDS

_NUMBERS = (
    "header.stamp.sec", "header.stamp.nanosec", "episode", "sequence", "mode", "effective.sec", "effective.nanosec",
    "gate",
)  # fmt: skip
"""What is read of an action beside its values, in the order of the message."""


class ActionWriter:
    """Writes the decisions of one policy.

    Args:
        message: an action with everything that stays the same: agent, kind, frame, validity, sensors, hash; the
            values and the stamps of the readings as long as they will be.
    """

    def __init__(self, message: Action) -> None:
        places = Places(message)
        self._bytes, of = bytearray(places.data), places.of
        self._stamp, self._effective = of["header.stamp.sec"].offset, of["effective.sec"].offset
        self._spent = of["inference_time.sec"].offset
        self._stamps = [of[f"observation_stamps.{i}.sec"].offset for i in range(len(message.observation_stamps))]
        self._episode, self._sequence = of["episode"], of["sequence"]
        self._sequences, self._values = of["observation_sequences"], of["values"]

    def encode(
        self,
        *,
        stamp: int,
        episode: int,
        sequence: int,
        values: NDArray[np.float32],
        effective: int,
        stamps: Sequence[int],
        sequences: Sequence[int],
        spent: int,
    ) -> bytes:
        """Return a decision as bytes; instants and durations in [ns], instants of ROS time."""
        data = self._bytes
        TIME.pack_into(data, self._stamp, *divmod(stamp, NANOSECONDS))
        self._episode.form.pack_into(data, self._episode.offset, episode)
        self._sequence.form.pack_into(data, self._sequence.offset, sequence)
        TIME.pack_into(data, self._effective, *divmod(effective, NANOSECONDS))
        for offset, instant in zip(self._stamps, stamps, strict=True):
            TIME.pack_into(data, offset, *divmod(instant, NANOSECONDS))
        self._sequences.form.pack_into(data, self._sequences.offset, *sequences)
        TIME.pack_into(data, self._spent, *divmod(spent, NANOSECONDS))
        self._values.form.pack_into(data, self._values.offset, *values.tolist())
        return bytes(data)


class ActionRecord(NamedTuple):
    """What the gate and the world need of an action.

    Attributes:
        stamp: instant decided for [ns, ROS time].
        agent: the agent.
        episode: the episode.
        sequence: number of the decision.
        kind: action kind.
        mode: MODE_*.
        values: float32 (A,).
        effective: earliest instant of effect [ns, ROS time].
        gate: GATE_* bits.
        data: the whole message.
        places: where its fields lie.
    """

    stamp: int
    agent: str
    episode: int
    sequence: int
    kind: str
    mode: int
    values: NDArray[np.float32]
    effective: int
    gate: int
    data: bytes
    places: Places

    def newest_reading(self) -> int | None:
        """Return when the newest reading that it was decided on was measured [ns, ROS time], None if it names none."""
        newest, of = None, self.places.of
        for i in itertools.count():
            if f"observation_stamps.{i}.sec" not in of:
                return newest
            instant = self._number(f"observation_stamps.{i}.sec") * NANOSECONDS
            newest = max(newest or 0, instant + self._number(f"observation_stamps.{i}.nanosec"))
        return newest

    def _number(self, name: str) -> int:
        offset, form, _ = self.places.of[name]
        return int(form.unpack_from(self.data, offset)[0])

    def patched(
        self,
        *,
        values: NDArray[np.float32] | None = None,
        mode: int | None = None,
        gate: int | None = None,
        effective: int | None = None,
    ) -> bytes:
        """Return the message with some fields changed; ``values`` must be as many as before."""
        data, of = bytearray(self.data), self.places.of
        if values is not None:
            of["values"].form.pack_into(data, of["values"].offset, *values.tolist())
        if mode is not None:
            data[of["mode"].offset] = mode
        if gate is not None:
            of["gate"].form.pack_into(data, of["gate"].offset, gate)
        if effective is not None:
            TIME.pack_into(data, of["effective.sec"].offset, *divmod(effective, NANOSECONDS))
        return bytes(data)


class ActionReader(Reader):
    """Reads the actions of one topic."""

    def __init__(self) -> None:
        super().__init__(Action)
        self._agent = self._kind_of_action = ""

    def changed(self, places: Places, data: bytes) -> None:
        """Note agent and kind, which are the same until texts or lengths change."""
        message = deserialize_message(data, Action)
        self._agent, self._kind_of_action = message.agent, message.kind
        self._numbers = places.form_of(_NUMBERS)
        self._values = places.of["values"]

    def read(self, data: bytes) -> ActionRecord:
        """Return an action from its bytes."""
        data = self.normal(data)
        places = self.places(data)
        sec, nanosec, episode, sequence, mode, effect_sec, effect_nanosec, gate = self._numbers.unpack_from(data)
        return ActionRecord(
            stamp=sec * NANOSECONDS + nanosec,
            agent=self._agent,
            episode=episode,
            sequence=sequence,
            kind=self._kind_of_action,
            mode=mode,
            values=np.frombuffer(data, "<f4", self._values.elements, self._values.offset),
            effective=effect_sec * NANOSECONDS + effect_nanosec,
            gate=gate,
            data=data,
            places=places,
        )
