"""Between ROS messages and pe_sim: the one place where types are converted.

A NumPy scalar in a message field passes the setter and can abort the process when published, so everything becomes a
Python number or an ``array.array`` here.
"""

from __future__ import annotations

from array import array

import numpy as np
from builtin_interfaces.msg import Duration, Time
from nav_msgs.msg import Odometry
from numpy.typing import NDArray

from pe_sim.timing import NANOSECONDS

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
