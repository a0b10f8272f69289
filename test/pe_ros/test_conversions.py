"""Conversions: what crosses a topic is the same on the other side, and every field has the type that ROS takes."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: install pe-ros[ros]")

from hypothesis import given
from hypothesis import strategies as st
from rclpy.serialization import deserialize_message, serialize_message

from pe_ros.conversions import duration_message, nanoseconds, observation_message, reading_of, time_message
from pe_ros.msg import Observation
from pe_sim.sensors.channel import Reading
from pe_sim.timing import NEVER

START = 1_790_000_000_123_456_789


def make_reading(values, valid, stamp, sequence, arrival):
    return Reading(
        values=np.asarray(values, np.float32).reshape(-1, 1, 1),
        valid=np.asarray(valid, np.bool_).reshape(-1, 1, 1),
        stamp=np.asarray([stamp], np.int64),
        sequence=np.asarray([sequence], np.int64),
        arrival=np.asarray([[arrival]], np.int64),
        taken=None,
    )


def over_the_wire(reading):
    message = observation_message(
        reading, start=START, agent="pursuer_0", sensor="radar", episode=3, frame="world", layout="abc"
    )
    return deserialize_message(serialize_message(message), Observation)


@given(st.integers(0, 2**31 * 10**9 - 1))
def test_instants_and_durations_survive(instant):
    assert nanoseconds(time_message(instant)) == instant
    assert nanoseconds(duration_message(instant)) == instant


@given(
    st.lists(st.tuples(st.floats(width=32, allow_nan=False), st.booleans()), max_size=40),
    st.integers(0, 10**13), st.integers(0, 10**9), st.integers(0, 10**9),
)
def test_readings_survive_to_the_last_bit(pairs, stamp, sequence, delay):
    reading = make_reading([v for v, _ in pairs], [ok for _, ok in pairs], stamp, sequence, stamp + delay)
    heard = reading_of(over_the_wire(reading), START, None)
    assert heard.values.tobytes() == reading.values.tobytes()
    assert heard.valid.tobytes() == reading.valid.tobytes()
    assert (heard.stamp[0], heard.sequence[0], heard.arrival[0, 0]) == (stamp, sequence, stamp + delay)


def test_a_lost_reading_is_lost_on_the_other_side_too():
    # A NumPy truth value in a message field passes the setter and is published as false.
    message = over_the_wire(make_reading([1.0], [True], 5, 0, NEVER))
    assert message.dropped is True
    assert reading_of(message, START, None).arrival[0, 0] == NEVER
    assert reading_of(message, START, 10**15).arrival[0, 0] == NEVER


def test_a_reading_has_not_arrived_before_it_was_received():
    message = over_the_wire(make_reading([1.0], [True], 100, 0, 200))
    assert reading_of(message, START, 150).arrival[0, 0] == 200
    assert reading_of(message, START, 350).arrival[0, 0] == 350
