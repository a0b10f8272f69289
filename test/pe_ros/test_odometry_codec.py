"""Odometry as bytes is the same odometry, to the last bit."""

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message, serialize_message

from pe_ros.conversions import OUT_OF_PLAY, state_column
from pe_ros.odometry_codec import OdometryWriter, decode

names = st.text(st.characters(codec="utf-8", exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
numbers = st.floats(allow_nan=False, width=64)
columns = st.lists(numbers, min_size=13, max_size=13)
stamps = st.integers(0, 2**31 * 10**9 - 1)


def bits(values):
    return struct.pack(f"{len(values)}d", *values)


@given(names, names, columns, stamps, st.booleans())
def test_written_bytes_are_read_by_rclpy_without_losing_a_bit(frame, child, column, stamp, playing):
    data = OdometryWriter(frame, child).encode(column, stamp, playing=playing)
    message = deserialize_message(data, Odometry)
    assert (message.header.frame_id, message.child_frame_id) == (frame, child)
    assert message.header.stamp.sec * 10**9 + message.header.stamp.nanosec == stamp
    assert bits(state_column(message)) == bits(column)
    assert (message.pose.covariance[0] == OUT_OF_PLAY) == (not playing)


@given(names, names, columns, stamps, st.booleans())
def test_bytes_of_rclpy_are_read_without_losing_a_bit(frame, child, column, stamp, playing):
    message = Odometry(child_frame_id=child)
    message.header.frame_id = frame
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
    place, turn = message.pose.pose.position, message.pose.pose.orientation
    linear, angular = message.twist.twist.linear, message.twist.twist.angular
    place.x, place.y, place.z, turn.x, turn.y, turn.z, turn.w = column[:7]
    linear.x, linear.y, linear.z, angular.x, angular.y, angular.z = column[7:]
    message.pose.covariance[0] = 0.25 if playing else OUT_OF_PLAY
    message.twist.covariance[35] = math.pi
    heard = decode(serialize_message(message))
    assert heard.stamp == stamp
    assert heard.in_play == playing
    assert bits(heard.column) == bits(column)


def test_a_writer_keeps_nothing_of_the_last_message():
    writer = OdometryWriter("world", "drone/base_link")
    writer.encode([1.0] * 13, 5, playing=False)
    heard = decode(writer.encode([2.0] * 13, 7, playing=True))
    assert heard == (7, (2.0,) * 13, True)


def test_another_representation_is_left_to_rclpy(monkeypatch):
    seen = []
    monkeypatch.setattr("pe_ros.odometry_codec.deserialize_message", lambda data, _: seen.append(data) or Odometry())
    assert decode(b"\x00\x00\x00\x00" + bytes(728)).stamp == 0
    assert seen


@pytest.mark.parametrize("size", [4, 12, 100, 400])
def test_bytes_cut_short_are_refused(size):
    data = OdometryWriter("world", "a").encode([0.0] * 13, 0, playing=True)
    with pytest.raises(struct.error):
        decode(data[:size])
