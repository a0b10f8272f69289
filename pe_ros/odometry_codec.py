"""Odometry as bytes: read and written directly, without the message object.

Odometry is most of an engagement's traffic, and building its nested Python objects costs more than sending it: one
message is 50 us as an object and 3 us as bytes. The bytes are those of the ROS middleware: plain CDR version 1
(OMG DDSI-RTPS 2.5, 10.2), here little-endian; anything else is handed to rclpy's own reader.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message, serialize_message

from pe_ros.conversions import OUT_OF_PLAY, in_play, nanoseconds, state_column
from pe_sim.timing import NANOSECONDS

_HEADER = b"\x00\x01\x00\x00"
"""Representation identifier of little-endian plain CDR; alignment counts from behind it."""

_STAMP = struct.Struct("<iI")
_LENGTH = struct.Struct("<I")
_POSE = struct.Struct("<8d")
"""Position 3, attitude 4, and the first element of the covariance."""

_TWIST = struct.Struct("<6d")
_COVARIANCE_BYTES = 36 * 8
_POSE_BYTES = 7 * 8


class OdometryReading(NamedTuple):
    """What a sensor needs of an odometry message.

    Attributes:
        stamp: instant of the state [ns, ROS time].
        column: position 3, attitude 4 (x, y, z, w), velocity 3 and angular velocity 3 (body).
        in_play: whether the vehicle still takes part in the engagement.
    """

    stamp: int
    column: tuple[float, ...]
    in_play: bool


def _after_string(data: bytes, offset: int) -> int:
    """Return the offset behind a string that begins at the next multiple of four."""
    offset += -(offset - 4) % 4
    return int(offset + 4 + _LENGTH.unpack_from(data, offset)[0])


def decode(data: bytes) -> OdometryReading:
    """Return an odometry message from its bytes."""
    if data[:4] != _HEADER:
        message = deserialize_message(data, Odometry)
        return OdometryReading(nanoseconds(message.header.stamp), state_column(message), in_play(message))
    seconds, fraction = _STAMP.unpack_from(data, 4)
    pose = _after_string(data, _after_string(data, 12))
    pose += -(pose - 4) % 8
    values = _POSE.unpack_from(data, pose)
    twist = _TWIST.unpack_from(data, pose + _POSE_BYTES + _COVARIANCE_BYTES)
    return OdometryReading(seconds * NANOSECONDS + fraction, values[:7] + twist, values[7] != OUT_OF_PLAY)


class OdometryWriter:
    """Writes the odometry of one vehicle.

    Args:
        frame: world frame.
        child: body frame.
    """

    def __init__(self, frame: str, child: str) -> None:
        message = Odometry(child_frame_id=child)
        message.header.frame_id = frame
        self._bytes = bytearray(serialize_message(message))
        pose = _after_string(bytes(self._bytes), _after_string(bytes(self._bytes), 12))
        self._pose = pose + -(pose - 4) % 8
        self._twist = self._pose + _POSE_BYTES + _COVARIANCE_BYTES

    def encode(self, column: list[float], stamp: int, *, playing: bool) -> bytes:
        """Return the bytes of an odometry message.

        Args:
            column: as of :class:`OdometryReading`.
            stamp: instant of the state [ns, ROS time].
            playing: False marks a vehicle that is out of the engagement.
        """
        data = self._bytes
        _STAMP.pack_into(data, 4, stamp // NANOSECONDS, stamp % NANOSECONDS)
        _POSE.pack_into(data, self._pose, *column[:7], 0.0 if playing else OUT_OF_PLAY)
        _TWIST.pack_into(data, self._twist, *column[7:])
        return bytes(data)
