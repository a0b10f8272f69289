"""Memory of the line of sight: begun anew for a new target, unchanged for agents that do not decide."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pe_sim.engagement import Engagement, parse
from pe_sim.guidance.target_motion import QuarryReader, SightRate
from pe_sim.guidance.tracks import Tracks
from pe_sim.policies.base import PolicyContext, context_of
from pe_sim.sensors.inbox import SensorView
from pe_sim.simulation import Simulation

SECOND = 1_000_000_000


def file(kind: str = "radar") -> Engagement:
    def role(team: str, sensors: dict[str, Any], count: int = 1) -> dict[str, Any]:
        return {
            "team": team, "count": count, "dynamics": {"model": "single_integrator", "max_speed": 9},
            "sensors": sensors, "policy": {"use": "guidance/hold_still", "rate": 10},
        }

    known = {"own": {"kind": "own_motion", "rate": 10}, "eye": {"kind": kind, "rate": 10}}
    return parse({
        "engagement": "motion",
        "world": {
            "backend": "kinematic", "tick": "100 ms", "arena": {"low": [-99, -99, -99], "high": [99, 99, 99]},
        },
        "roles": {"pursuer": role("pursuers", known), "evader": role("evaders", {}, 2)},
    })


def context(engagement: Engagement) -> PolicyContext:
    simulation = Simulation(engagement)
    return context_of(engagement, "pursuer", simulation.roles["pursuer"].action, 1, simulation.xp)


def track(x: float, y: float, stamp: float, *, valid: bool = True) -> Tracks:
    def one(value: float) -> Any:
        return np.array([[value]])

    return Tracks(
        (one(x), one(y), one(0.0)), one(float(np.hypot(x, y))), None, None, np.array([[valid]]),
        np.array([[round(stamp * SECOND)]]),
    )


YES, NO = np.array([[True]]), np.array([[False]])
FIRST, OTHER = np.array([[0]]), np.array([[1]])


def rate_of(sight: SightRate, seen: Tracks, target: Any = FIRST, where: Any = YES) -> float:
    return float(sight.of(seen, target, where)[2][0, 0])


def test_the_rate_is_the_turn_over_the_time_between_readings() -> None:
    sight = SightRate(context(file()))
    assert rate_of(sight, track(10, 0, 0.0)) == 0.0
    assert rate_of(sight, track(10, 0.1, 0.1)) == pytest.approx(0.1, rel=1e-3)
    assert rate_of(sight, track(10, 0.1, 0.1)) == pytest.approx(0.1, rel=1e-3)  # no news: as it was
    assert rate_of(sight, track(10, 0.5, 0.3)) == pytest.approx(0.2, rel=2e-3)


def test_a_new_nearest_target_begins_anew() -> None:
    sight = SightRate(context(file()))
    rate_of(sight, track(10, 0, 0.0))
    rate_of(sight, track(10, 0.1, 0.1))
    assert rate_of(sight, track(0, 9, 0.2), OTHER) == 0.0
    assert rate_of(sight, track(-0.09, 9, 0.3), OTHER) == pytest.approx(0.1, rel=1e-3)


def test_lost_or_undecided_readings_leave_no_trace() -> None:
    sight = SightRate(context(file()))
    rate_of(sight, track(10, 0, 0.0))
    rate_of(sight, track(10, 3, 0.1, valid=False))
    rate_of(sight, track(10, 5, 0.15), where=NO)
    assert rate_of(sight, track(10, 0.2, 0.2)) == pytest.approx(0.1, rel=1e-3)
    sight.forget(None)
    assert rate_of(sight, track(10, 4, 0.3)) == 0.0


def test_smoothing_is_a_first_order_filter() -> None:
    sight = SightRate(context(file()), smoothing=SECOND // 10)
    rate_of(sight, track(10, 0, 0.0))
    assert rate_of(sight, track(10, 0.1, 0.1)) == pytest.approx(0.05, rel=1e-3)


@pytest.mark.parametrize("kind", ["radar", "relative"])
def test_the_quarrys_velocity_is_worked_out(kind: str) -> None:
    """Two readings of a target that moves, from an observer that moves: its velocity over ground comes out."""
    engagement = file(kind)
    simulation = Simulation(engagement)
    told = context(engagement)
    reader = QuarryReader(told, "test")
    perception = simulation.roles["pursuer"].perception
    assert perception is not None
    simulation.reset(np.asarray([1]), np.asarray([0]))
    block = simulation.state.block
    quarry, own = np.array([2.0, -3.0, 1.0]), np.array([1.0, 4.0, 0.5])
    for step in range(3):
        t = 0.1 * step
        block[0:3, 0, 0] = own * t
        block[0:3, 1, 0] = np.array([20.0, 5.0, 3.0]) + quarry * t
        block[0:3, 2, 0] = np.array([90.0, 90.0, 0.0])
        block[3:7, 0, 0] = [0.0, 0.0, np.sin(0.3), np.cos(0.3)]
        turn = np.array([[np.cos(0.6), np.sin(0.6), 0], [-np.sin(0.6), np.cos(0.6), 0], [0, 0, 1]])
        block[7:10, 0, 0] = turn @ own
        block[3:7, 1, 0] = [0.0, 0.0, 0.0, 1.0]
        block[7:10, 1, 0] = quarry
        simulation.sense()
        seen = reader.read(perception.view(simulation.now), YES)
        simulation.advance()
    assert bool(seen.seen[0, 0])
    velocity = np.array([part[0, 0] for part in seen.velocity])
    assert velocity == pytest.approx(quarry, abs=0.06 if kind == "radar" else 1e-4)


def test_before_the_first_reading_nothing_is_founded() -> None:
    told = context(file())
    empty = {
        name: SensorView(
            np.zeros((width, 1, 1), dtype=np.float32), np.zeros((width, 1, 1), dtype=bool), np.full((1, 1), -1),
            np.full((1, 1), -1), np.full((1, 1), -1),
        )
        for name, width in (("own", 10), ("eye", 8))
    }
    assert not QuarryReader(told, "test").read(empty, YES).seen.any()
