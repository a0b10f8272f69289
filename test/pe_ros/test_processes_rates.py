"""In real time every sensor keeps its rate, whoever is slow; an action tells what it rests on and when it came."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: install pe-ros[ros]")

from pe_ros.bag.reader import BagReader
from pe_ros.conversions import nanoseconds
from pe_sim.engagement import Engagement, load
from pe_sim.timing import NANOSECONDS

from .conftest import CONFIG
from .processes import FAR, processes

pytestmark = [pytest.mark.ros, pytest.mark.serial]

SLOW = 60_000_000
"""Inference time of the pursuer [ns]: longer than its decision period of 50 ms."""

TICK = 10_000_000
"""Of kinematic_3v1, and the latency of its actions [ns]."""


@pytest.mark.parametrize(
    ("duration", "tolerance"), [(6, 0.03), pytest.param(20, 0.01, marks=pytest.mark.slow)], ids=["short", "long"]
)
def test_rates_sequences_and_stamps_with_a_slow_policy(
    ros_domain: int, tmp_path: Path, duration: int, tolerance: float
) -> None:
    overrides = {**FAR, "rules.time_limit": f"{duration} s"}
    with processes(tmp_path, overrides=overrides) as started:
        started.start("recorder_node", directory=str(tmp_path / "bag"))
        started.start("agent_node", agent="pursuer_0", extra_inference_time=SLOW / NANOSECONDS)
        started.start("agent_node", agent="evader_0")
        sim = started.start("sim_node", recorder="recorder", exit_when_done=True)
        assert sim.wait() == 0, sim.output
        recorder = started.all[0]
        recorder.popen.terminate()
        assert recorder.wait() == 0, recorder.output
    by_topic: dict[str, list[Any]] = defaultdict(list)
    for one in BagReader(tmp_path / "bag").messages():
        by_topic[one.topic].append(one)
    engagement = load(CONFIG / "kinematic_3v1.yaml", overrides)
    start = nanoseconds(by_topic["/engagement/state"][-1].message.start)
    check_sensors(by_topic, engagement, start, duration, tolerance)
    check_actions(by_topic, "pursuer_0", slow=True)
    check_actions(by_topic, "evader_0", slow=False)
    statuses = [one.message for one in by_topic["/pursuer_0/status"] if one.message.node == "pursuer_0_policy"]
    assert statuses[-1].missed_deadlines > duration  # of 20 decisions a second 3 cannot be taken


def check_sensors(
    by_topic: dict[str, list[Any]], engagement: Engagement, start: int, duration: int, tolerance: float
) -> None:
    """Every reading that was due is there once, in order, at its instant, and at the rate by the wall clock."""
    for agent in engagement.agents:
        for name, spec in engagement.roles[engagement.role_of(agent)].sensors.items():
            topic = f"/{agent}/observation/{name}"
            readings = by_topic[topic]
            period = NANOSECONDS / spec.rate
            assert [one.message.sequence for one in readings] == list(range(len(readings))), topic
            assert duration * spec.rate - 3 <= len(readings) <= duration * spec.rate + 1, topic
            for one in readings:
                late = nanoseconds(one.message.header.stamp) - start - one.message.sequence * period
                assert 0 <= late < engagement.world.tick, topic
            took = (readings[-1].publish_time - readings[0].publish_time) / NANOSECONDS
            rate = (len(readings) - 1) / took
            assert abs(rate / float(spec.rate) - 1.0) < tolerance, f"{topic}: {rate:.3f} Hz"


def check_actions(by_topic: dict[str, list[Any]], agent: str, *, slow: bool) -> None:
    """Every action names readings that were there in time; it took effect when its decision was done, not before."""
    readings = {
        (topic.rpartition("/")[2], one.message.sequence): one.message
        for topic, ones in by_topic.items() if topic.startswith(f"/{agent}/observation/")
        for one in ones
    }  # fmt: skip
    actions = {one.message.sequence: one.message for one in by_topic[f"/{agent}/action"]}
    applied = [one.message for one in by_topic[f"/{agent}/applied"]]
    assert len(applied) > 0.9 * len(actions)
    for action in actions.values():
        stamp = nanoseconds(action.header.stamp)
        told = zip(action.sensors, action.observation_sequences, action.observation_stamps, strict=True)
        for sensor, sequence, measured in told:
            if sequence >= 0:
                assert nanoseconds(readings[sensor, sequence].header.stamp) == nanoseconds(measured)
                assert nanoseconds(readings[sensor, sequence].available) <= stamp
        assert nanoseconds(action.effective) == stamp + TICK
        if slow:
            assert nanoseconds(action.inference_time) >= SLOW
    for done in applied:
        decided = actions[done.sequence]
        assert done.observation_stamps == decided.observation_stamps
        assert nanoseconds(done.effective) >= nanoseconds(decided.effective)
        if slow:  # the tick that a command comes in counts from its beginning
            assert nanoseconds(done.effective) > nanoseconds(decided.header.stamp) + SLOW - TICK
    effects = [nanoseconds(done.effective) for done in applied]
    assert all(before < after for before, after in pairwise(effects))
