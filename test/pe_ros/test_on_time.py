"""The benchmarks' count of decisions on time: all that can be, and those only."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: install pe-ros[ros]")

from pe_ros.bench.on_time import OnTime
from pe_ros.msg import Action
from pe_sim.engagement import load
from pe_sim.timing import NANOSECONDS

FILE = Path(__file__).resolve().parents[2] / "config" / "engagements" / "kinematic_3v1.yaml"
MILLISECOND = 1_000_000


def share(late: int, *, stops: int = 0, missing: int = 0) -> float:
    """Hear the decisions of a second; in 20 Hz from 15 ms on the pursuers decide at the ticks 20, 70, ... 970 ms."""
    changes = {"roles.evader.policy.rate": "20 Hz", "roles.evader.policy.phase": "15 ms", "roles.pursuer.count": 1}
    run = SimpleNamespace(
        engagement=load(FILE, changes), sim=SimpleNamespace(on_command=None),
        referee=SimpleNamespace(start=time.time_ns() + 60 * NANOSECONDS, view=SimpleNamespace(elapsed=NANOSECONDS)),
    )
    counted = OnTime(run)
    for agent in run.engagement.agents:
        for number in range(missing, 20):
            # A decision of the past is heard late, one of the future in time.
            offset = -100 * NANOSECONDS if number < late else (20 + 50 * number) * MILLISECOND
            record = SimpleNamespace(stamp=run.referee.start + offset, mode=Action.MODE_EXECUTE)
            run.sim.on_command(agent, record)
        for _ in range(stops):
            run.sim.on_command(agent, SimpleNamespace(stamp=run.referee.start, mode=Action.MODE_STOP))
    return counted.share()


def test_decisions_count_whose_successor_is_due_before_the_end():
    assert share(0) == 100.0  # that of 970 ms has no successor: 19 of each agent are due


def test_late_and_missing_decisions_and_stops_do_not_count():
    assert share(3) == pytest.approx(100.0 * 16 / 19)
    assert share(0, missing=4) == pytest.approx(100.0 * 15 / 19)
    assert share(0, missing=4, stops=9) == pytest.approx(100.0 * 15 / 19)
