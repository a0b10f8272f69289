from __future__ import annotations

import struct

import pytest

pytest.importorskip("rclpy", reason="the recorder needs ROS: install pe-ros[ros]")

from hypothesis import given
from hypothesis import strategies as st

from pe_ros.bag.log_time import CLOCK_TOPIC, SimulatedLogTimes, SystemLogTimes, clock_time
from pe_ros.bag.taps import TakenMessage

SECOND = 10**9


def taken(received, topic="/a"):
    return TakenMessage(received, topic, received - 1, f"{topic} {received}".encode(), received)


def tick(received, now):
    data = b"\x00\x01\x00\x00" + struct.pack("<iI", now // SECOND, now % SECOND)
    return TakenMessage(received, CLOCK_TOPIC, received, data, 0)


def test_system_log_time_is_the_time_of_arrival():
    stamped = list(SystemLogTimes().stamp([taken(5), taken(3)], began=10))
    assert [(m.log_time, m.publish_time, m.sequence) for m in stamped] == [(3, 2, 3), (5, 4, 5)]


@given(st.integers(0, 2**31 - 1), st.integers(0, SECOND - 1))
def test_clock_message_is_read(sec, nanosec):
    assert clock_time(b"\x00\x01\x00\x00" + struct.pack("<iI", sec, nanosec)) == sec * SECOND + nanosec
    assert clock_time(b"\x00\x00\x00\x00" + struct.pack(">iI", sec, nanosec)) == sec * SECOND + nanosec


@given(st.permutations(range(10)), st.integers(0, 100))
def test_message_gets_the_last_tick_before_its_arrival_whatever_the_order_of_taking(order, began):
    """Closed form: ticks arrive at 0, 10, 20, ... with time 1000 + arrival; a message at 10 k + 5 gets 1000 + 10 k."""
    events = [tick(10 * k, 1000 + 10 * k) for k in range(5)] + [taken(10 * k + 5) for k in range(5)]
    times = SimulatedLogTimes(node_time=lambda: 0)
    stamped = list(times.stamp([events[i] for i in order], began)) + list(times.stamp([], began=None))
    assert [m.log_time for m in stamped if m.topic == "/a"] == [1000 + 10 * k for k in range(5)]
    assert [m.log_time for m in stamped] == sorted(m.log_time for m in stamped)
    assert len(stamped) == len(events)


def test_what_arrived_during_a_round_waits_for_what_that_round_may_have_missed():
    times = SimulatedLogTimes(node_time=lambda: 0)
    first = list(times.stamp([tick(0, 100), taken(25)], began=20))
    second = list(times.stamp([tick(22, 200)], began=30))
    assert [m.log_time for m in first if m.topic == "/a"] == []
    assert [m.log_time for m in second if m.topic == "/a"] == [200]


def test_kept_messages_come_in_the_next_round_even_if_the_system_clock_was_set_back():
    times = SimulatedLogTimes(node_time=lambda: 0)
    list(times.stamp([tick(1000, 100), taken(1001)], began=10))
    assert [m.topic for m in times.stamp([], began=11)] == [CLOCK_TOPIC, "/a"]


def test_messages_wait_for_the_first_tick():
    times = SimulatedLogTimes(node_time=lambda: 0)
    assert list(times.stamp([taken(1), taken(2)], began=10)) == []
    assert not times.has_time
    stamped = list(times.stamp([tick(11, 7 * SECOND), taken(12)], began=20))
    assert [m.log_time for m in stamped] == [7 * SECOND] * 4
    assert times.has_time


def test_without_any_tick_nothing_is_lost():
    times = SimulatedLogTimes(node_time=lambda: 0)
    assert list(times.stamp([taken(1)], began=10)) == []
    assert [m.log_time for m in times.stamp([taken(12)], began=None)] == [0, 0]


def test_waiting_messages_are_bounded():
    times = SimulatedLogTimes(node_time=lambda: 0, max_waiting=3)
    assert len(list(times.stamp([taken(i) for i in range(4)], began=10))) == 4


def test_clock_set_within_the_process_counts():
    now = [0]
    times = SimulatedLogTimes(node_time=lambda: now[0])
    assert list(times.stamp([taken(1)], began=10)) == []
    now[0] = 5 * SECOND
    assert [m.log_time for m in times.stamp([taken(12)], began=20)] == [5 * SECOND, 5 * SECOND]
