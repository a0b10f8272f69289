"""Alarms ring in order, once, when due, on either kind of time."""

from __future__ import annotations

import threading
import time

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: install pe-ros[ros]")

from hypothesis import given
from hypothesis import strategies as st

from pe_ros.alarms import SimulatedAlarms, SystemAlarms


@given(st.lists(st.integers(0, 50), max_size=40), st.lists(st.integers(0, 50), max_size=10))
def test_simulated_alarms_ring_when_due_in_order_and_once(instants, times):
    alarms, rung = SimulatedAlarms(), []
    for instant in instants:
        alarms.at(instant, lambda instant=instant: rung.append(instant))
    now = 0
    for now in sorted(times):
        alarms.set(now)
        assert rung == sorted(i for i in instants if i <= now)
    alarms.set(now)
    assert len(rung) == len([i for i in instants if i <= now])


def test_equal_instants_ring_in_the_order_they_were_set():
    alarms, rung = SimulatedAlarms(), []
    for name in "abc":
        alarms.at(7, lambda name=name: rung.append(name))
    alarms.set(7)
    assert rung == ["a", "b", "c"]


def test_an_alarm_may_set_the_next():
    alarms, rung = SimulatedAlarms(), []

    def ring() -> None:
        rung.append(alarms.now())
        if len(rung) < 5:
            alarms.at(len(rung) * 10, ring)

    alarms.at(0, ring)
    alarms.set(25)
    assert rung == [25, 25, 25]
    alarms.set(100)
    assert len(rung) == 5


def test_system_alarms_never_ring_early():
    alarms, rung, done = SystemAlarms(), [], threading.Event()
    start = time.time_ns()
    for delay in (30, 10, 20):
        alarms.at(start + delay * 1_000_000, lambda delay=delay: rung.append((delay, time.time_ns() - start)))
    alarms.at(start + 40_000_000, done.set)
    assert done.wait(10)
    alarms.close()
    assert [delay for delay, _ in rung] == [10, 20, 30]
    assert all(late >= delay * 1_000_000 for delay, late in rung)


def test_a_fault_in_an_alarm_is_told_and_the_next_still_rings():
    faults, done = [], threading.Event()
    alarms = SystemAlarms(faults.append)
    alarms.at(0, lambda: 1 / 0)
    alarms.at(1, done.set)
    assert done.wait(10)
    alarms.close()
    assert [type(fault) for fault in faults] == [ZeroDivisionError]


def test_nothing_rings_after_closing():
    alarms, rung = SystemAlarms(), []
    alarms.at(time.time_ns() + 50_000_000, lambda: rung.append(1))
    alarms.close()
    time.sleep(0.1)
    assert rung == []
