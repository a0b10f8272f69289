"""Observations as bytes; see :mod:`pe_ros.cdr` for why and how."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rclpy.serialization import deserialize_message

from pe_ros.cdr import TIME, Places, Reader
from pe_ros.msg import Observation
from pe_sim.sensors.channel import Reading
from pe_sim.timing import NANOSECONDS, NEVER

_NEVER = int(NEVER)

_NUMBERS = (
    "header.stamp.sec", "header.stamp.nanosec", "episode", "sequence", "available.sec", "available.nanosec", "dropped",
)  # fmt: skip
"""What is read of an observation beside its values, in the order of the message."""


class ObservationWriter:
    """Writes the readings of one sensor of one agent.

    Args:
        agent: the agent.
        sensor: the sensor.
        frame: frame of the values.
        layout: hash of the layout.
        width: number of values.
    """

    def __init__(self, agent: str, sensor: str, frame: str, layout: str, width: int) -> None:
        message = Observation(agent=agent, sensor=sensor, layout_sha256=layout)
        message.header.frame_id = frame
        message.values = [0.0] * width
        message.valid = [False] * width
        places = Places(message)
        self._bytes, of = bytearray(places.data), places.of
        self._stamp, self._available = of["header.stamp.sec"].offset, of["available.sec"].offset
        self._episode, self._sequence, self._dropped = of["episode"], of["sequence"], of["dropped"].offset
        self._values, self._valid = (
            slice(of[name].offset, of[name].offset + of[name].form.size) for name in ("values", "valid")
        )

    def encode(self, reading: Reading, start: int, episode: int) -> bytes:
        """Return the reading of a batch of one and of one agent as bytes; ``start`` is engagement time zero [ns]."""
        data = self._bytes
        arrival = int(reading.arrival[0, 0])
        dropped = arrival >= _NEVER
        TIME.pack_into(data, self._stamp, *divmod(start + int(reading.stamp[0]), NANOSECONDS))
        self._episode.form.pack_into(data, self._episode.offset, episode)
        self._sequence.form.pack_into(data, self._sequence.offset, int(reading.sequence[0]))
        TIME.pack_into(data, self._available, *((0, 0) if dropped else divmod(start + arrival, NANOSECONDS)))
        data[self._dropped] = dropped
        data[self._values] = np.asarray(reading.values, dtype="<f4").tobytes()
        data[self._valid] = np.asarray(reading.valid, dtype=np.bool_).tobytes()
        return bytes(data)


class ObservationRecord(NamedTuple):
    """What a policy needs of an observation.

    Attributes:
        stamp: instant of the measurement [ns, ROS time].
        episode: the episode.
        sequence: number of the reading.
        available: instant of its arrival [ns, ROS time].
        dropped: lost on the way.
        layout: hash of the layout.
        values: float32 (D,).
        valid: bool (D,).
    """

    stamp: int
    episode: int
    sequence: int
    available: int
    dropped: bool
    layout: str
    values: NDArray[np.float32]
    valid: NDArray[np.bool_]

    def reading(self, start: int, received: int | None) -> Reading:
        """Return it as a reading of a batch of one.

        Args:
            start: ROS time of engagement time zero [ns].
            received: engagement time of its receipt [ns], or None to take its word for when it was available.
        """
        arrival = _NEVER
        if not self.dropped:
            arrival = self.available - start
            if received is not None:
                arrival = max(arrival, received)
        return Reading(
            values=self.values.reshape(-1, 1, 1),
            valid=self.valid.reshape(-1, 1, 1),
            stamp=np.asarray([self.stamp - start], dtype=np.int64),
            sequence=np.asarray([self.sequence], dtype=np.int64),
            arrival=np.asarray([[arrival]], dtype=np.int64),
            taken=None,
        )


class ObservationReader(Reader):
    """Reads the observations of one topic."""

    def __init__(self) -> None:
        super().__init__(Observation)
        self._layout = ""

    def changed(self, places: Places, data: bytes) -> None:
        """Note the layout, which is the same until texts or lengths change."""
        self._layout = deserialize_message(data, Observation).layout_sha256
        self._numbers = places.form_of(_NUMBERS)
        self._values, self._valid = places.of["values"], places.of["valid"]

    def read(self, data: bytes) -> ObservationRecord:
        """Return an observation from its bytes."""
        data = self.normal(data)
        self.places(data)
        sec, nanosec, episode, sequence, available_sec, available_nanosec, dropped = self._numbers.unpack_from(data)
        return ObservationRecord(
            stamp=sec * NANOSECONDS + nanosec,
            episode=episode,
            sequence=sequence,
            available=available_sec * NANOSECONDS + available_nanosec,
            dropped=dropped,
            layout=self._layout,
            values=np.frombuffer(data, "<f4", self._values.elements, self._values.offset),
            valid=np.frombuffer(data, np.bool_, self._valid.elements, self._valid.offset),
        )
