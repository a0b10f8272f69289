"""Observations as bytes; see :mod:`pe_ros.cdr` for why and how."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pe_ros.cdr import Places, Reader
from pe_ros.msg import Observation
from pe_sim.sensors.channel import Reading
from pe_sim.timing import NANOSECONDS, NEVER


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
        self._places = Places(message).of
        self._bytes = bytearray(Places(message).data)

    def encode(self, reading: Reading, start: int, episode: int) -> bytes:
        """Return the reading of a batch of one and of one agent as bytes; ``start`` is engagement time zero [ns]."""
        stamp = start + int(reading.stamp[0])
        arrival = int(reading.arrival[0, 0])
        dropped = bool(arrival >= NEVER)
        available = 0 if dropped else start + arrival
        self._put("header.stamp.sec", stamp // NANOSECONDS)
        self._put("header.stamp.nanosec", stamp % NANOSECONDS)
        self._put("episode", episode)
        self._put("sequence", int(reading.sequence[0]))
        self._put("available.sec", available // NANOSECONDS)
        self._put("available.nanosec", available % NANOSECONDS)
        self._put("dropped", dropped)
        self._copy("values", np.asarray(reading.values[:, 0, 0], dtype="<f4").tobytes())
        self._copy("valid", np.asarray(reading.valid[:, 0, 0], dtype=np.bool_).tobytes())
        return bytes(self._bytes)

    def _put(self, name: str, value: int) -> None:
        offset, form, _ = self._places[name]
        form.pack_into(self._bytes, offset, value)

    def _copy(self, name: str, values: bytes) -> None:
        offset = self._places[name].offset
        self._bytes[offset : offset + len(values)] = values


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
        arrival = int(NEVER)
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
        from rclpy.serialization import deserialize_message

        del places
        self._layout = deserialize_message(data, Observation).layout_sha256

    def read(self, data: bytes) -> ObservationRecord:
        """Return an observation from its bytes."""
        data = self.normal(data)
        of = self.places(data).of

        def number(name: str) -> int:
            offset, form, _ = of[name]
            return int(form.unpack_from(data, offset)[0])

        values, valid = of["values"], of["valid"]
        return ObservationRecord(
            stamp=number("header.stamp.sec") * NANOSECONDS + number("header.stamp.nanosec"),
            episode=number("episode"),
            sequence=number("sequence"),
            available=number("available.sec") * NANOSECONDS + number("available.nanosec"),
            dropped=bool(number("dropped")),
            layout=self._layout,
            values=np.frombuffer(data, "<f4", values.elements, values.offset),
            valid=np.frombuffer(data, np.bool_, valid.elements, valid.offset),
        )
