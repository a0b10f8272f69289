"""Between ROS messages and pe_sim: the one place where types are converted.

A NumPy scalar in a message field passes the setter and can abort the process when published, so everything becomes a
Python number or an ``array.array`` here.
"""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration, Time
from nav_msgs.msg import Odometry
from numpy.typing import NDArray

from pe_ros.msg import Action, Observation
from pe_sim.sensors.channel import Reading
from pe_sim.timing import NANOSECONDS, NEVER

OUT_OF_PLAY = -1.0
"""pose.covariance[0] of a vehicle that is out of the engagement, as sensor_msgs marks a missing estimate."""


def time_message(nanoseconds: int) -> Time:
    """Return an instant [ns] as a message."""
    return Time(sec=nanoseconds // NANOSECONDS, nanosec=nanoseconds % NANOSECONDS)


def duration_message(nanoseconds: int) -> Duration:
    """Return a duration [ns] as a message."""
    return Duration(sec=nanoseconds // NANOSECONDS, nanosec=nanoseconds % NANOSECONDS)


def nanoseconds(message: Time | Duration) -> int:
    """Return an instant or a duration as integer nanoseconds."""
    return int(message.sec) * NANOSECONDS + int(message.nanosec)


def state_column(message: Odometry) -> tuple[float, ...]:
    """Return the 13 components of the canonical state that odometry carries."""
    place, turn = message.pose.pose.position, message.pose.pose.orientation
    linear, angular = message.twist.twist.linear, message.twist.twist.angular
    return (
        place.x, place.y, place.z, turn.x, turn.y, turn.z, turn.w,
        linear.x, linear.y, linear.z, angular.x, angular.y, angular.z,
    )  # fmt: skip


def in_play(message: Odometry) -> bool:
    """Return whether the vehicle still takes part in the engagement."""
    return bool(message.pose.covariance[0] != OUT_OF_PLAY)


def float_array(values: NDArray[np.float32]) -> array[float]:
    """Return float32 values as the array type that messages take without copying element by element."""
    return array("f", np.ascontiguousarray(values, dtype=np.float32).tobytes())


def observation_message(
    reading: Reading, *, start: int, agent: str, sensor: str, episode: int, frame: str, layout: str
) -> Observation:
    """Return the reading of a batch of one and of one agent as a message.

    Args:
        reading: the reading, n = B = 1.
        start: ROS time of engagement time zero [ns].
        agent: the agent.
        sensor: the sensor.
        episode: the episode.
        frame: frame of the values.
        layout: hash of the layout.
    """
    message = Observation()
    message.header.stamp = time_message(start + int(reading.stamp[0]))
    message.header.frame_id = frame
    message.agent = agent
    message.sensor = sensor
    message.episode = episode
    message.sequence = int(reading.sequence[0])
    arrival = int(reading.arrival[0, 0])
    message.dropped = bool(arrival >= NEVER)
    if not message.dropped:
        message.available = time_message(start + arrival)
    message.layout_sha256 = layout
    message.values = float_array(reading.values[:, 0, 0])
    message.valid = reading.valid[:, 0, 0].tolist()
    return message


def reading_of(message: Observation, start: int, received: int | None) -> Reading:
    """Return a message as a reading of a batch of one.

    Args:
        message: the message.
        start: ROS time of engagement time zero [ns].
        received: engagement time of its receipt [ns], or None to take its word for when it was available.
    """
    if message.dropped:
        arrival = int(NEVER)
    else:
        arrival = nanoseconds(message.available) - start
        if received is not None:
            arrival = max(arrival, received)
    values = np.asarray(message.values, dtype=np.float32).reshape(-1, 1, 1)
    return Reading(
        values=values,
        valid=np.asarray(message.valid, dtype=np.bool_).reshape(-1, 1, 1),
        stamp=np.asarray([nanoseconds(message.header.stamp) - start], dtype=np.int64),
        sequence=np.asarray([message.sequence], dtype=np.int64),
        arrival=np.asarray([[arrival]], dtype=np.int64),
        taken=None,
    )


def action_values(message: Action) -> NDArray[np.float32]:
    """Return the values of an action as float32 (A, 1, 1)."""
    return np.asarray(message.values, dtype=np.float32).reshape(-1, 1, 1)


def json_number(value: Any) -> Any:
    """Return a NumPy scalar as a Python number, other values as they are."""
    return value.item() if isinstance(value, np.generic) else value
