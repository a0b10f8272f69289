"""Actions as bytes; see :mod:`pe_ros.cdr` for why and how.

The gate and the world pass on what they received with a few fields changed: the same bytes, patched.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rclpy.serialization import deserialize_message

from pe_ros.cdr import Places, Reader
from pe_ros.msg import Action
from pe_sim.timing import NANOSECONDS


class ActionWriter:
    """Writes the decisions of one policy.

    Args:
        message: an action with everything that stays the same: agent, kind, frame, validity, sensors, hash; the
            values and the stamps of the readings as long as they will be.
    """

    def __init__(self, message: Action) -> None:
        self._places = Places(message).of
        self._bytes = bytearray(Places(message).data)
        self._readings = len(message.observation_stamps)

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
        self._time("header.stamp", stamp)
        self._put("episode", episode)
        self._put("sequence", sequence)
        self._time("effective", effective)
        for i, instant in enumerate(stamps):
            self._time(f"observation_stamps.{i}", instant)
        offset, form, _ = self._places["observation_sequences"]
        form.pack_into(self._bytes, offset, *sequences)
        self._time("inference_time", spent)
        offset, form, _ = self._places["values"]
        form.pack_into(self._bytes, offset, *values.tolist())
        return bytes(self._bytes)

    def _put(self, name: str, value: int) -> None:
        offset, form, _ = self._places[name]
        form.pack_into(self._bytes, offset, value)

    def _time(self, name: str, instant: int) -> None:
        self._put(f"{name}.sec", instant // NANOSECONDS)
        self._put(f"{name}.nanosec", instant % NANOSECONDS)


@dataclass(frozen=True)
class ActionRecord:
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
            sec, nanosec = divmod(effective, NANOSECONDS)
            of["effective.sec"].form.pack_into(data, of["effective.sec"].offset, sec)
            of["effective.nanosec"].form.pack_into(data, of["effective.nanosec"].offset, nanosec)
        return bytes(data)


class ActionReader(Reader):
    """Reads the actions of one topic."""

    def __init__(self) -> None:
        super().__init__(Action)
        self._agent = self._kind_of_action = ""

    def changed(self, places: Places, data: bytes) -> None:
        """Note agent and kind, which are the same until texts or lengths change."""
        del places
        message = deserialize_message(data, Action)
        self._agent, self._kind_of_action = message.agent, message.kind

    def read(self, data: bytes) -> ActionRecord:
        """Return an action from its bytes."""
        data = self.normal(data)
        places = self.places(data)
        of = places.of

        def number(name: str) -> int:
            offset, form, _ = of[name]
            return int(form.unpack_from(data, offset)[0])

        return ActionRecord(
            stamp=number("header.stamp.sec") * NANOSECONDS + number("header.stamp.nanosec"),
            agent=self._agent,
            episode=number("episode"),
            sequence=number("sequence"),
            kind=self._kind_of_action,
            mode=number("mode"),
            values=np.frombuffer(data, "<f4", of["values"].elements, of["values"].offset),
            effective=number("effective.sec") * NANOSECONDS + number("effective.nanosec"),
            gate=number("gate"),
            data=data,
            places=places,
        )
