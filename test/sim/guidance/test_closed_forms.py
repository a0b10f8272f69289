"""Textbook pursuits last as long as their closed forms say, within one tick."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from pe_sim.arrays import namespace
from pe_sim.engagement import Engagement
from pe_sim.guidance.intercept import apollonius_circle, intercept_point

from . import duel as scenes
from .duel import DYNAMICS, Flight, time_of_capture

XP = namespace()
TICK = 0.01
RATE = 100
WITHIN = TICK * (1.0 + 1e-6)


def role(*args: Any, **more: Any) -> dict[str, Any]:
    return scenes.role(*args, rate=RATE, **more)


def duel(*args: Any, **more: Any) -> Engagement:
    return scenes.duel(*args, tick=TICK, **more)


def straight(speed: float, start: list[float], angle: float, **more: Any) -> dict[str, Any]:
    return role("evaders", "straight", speed, [start], parameters={"heading": angle}, heading=angle, **more)


@pytest.mark.parametrize("model", DYNAMICS)
@pytest.mark.parametrize(("vp", "ve", "d", "radius"), [(10.0, 6.0, 20.0, 1.0), (8.0, 7.0, 5.0, 0.5)])
def test_a_tail_chase_lasts_the_distance_over_the_difference_of_speeds(
    model: str, vp: float, ve: float, d: float, radius: float
) -> None:
    engagement = duel(
        role("pursuers", "pure_pursuit", vp, [[0, 0, 0]], model=model), straight(ve, [d, 0, 0], 0.0), radius=radius
    )
    assert time_of_capture(engagement) == pytest.approx((d - radius) / (vp - ve), abs=WITHIN)


@pytest.mark.parametrize("degrees", [0, 30, 60, 90, 120, 135, 150, 180])
@pytest.mark.parametrize(
    ("vp", "ve", "d"), [(10.0, 5.0, 20.0), (12.0, 8.0, 15.0), (10.0, 7.0, 5.0), (10.0, 8.5, 11.3), (10.0, 9.0, 20.0)]
)
def test_pure_pursuit_of_a_straight_evader(degrees: int, vp: float, ve: float, d: float) -> None:
    angle = math.radians(degrees)
    # About the way closed in a tick: small enough to stand for a point, large enough not to be stepped over.
    closing = vp - ve if degrees < 180 else vp + ve
    engagement = duel(
        role("pursuers", "pure_pursuit", vp, [[0, 0, 0]]), straight(ve, [d, 0, 0], angle), radius=0.6 * closing * TICK
    )
    expected = d * (vp + ve * math.cos(angle)) / (vp * vp - ve * ve)
    assert time_of_capture(engagement) == pytest.approx(expected, abs=WITHIN)


@pytest.mark.parametrize("use", ["constant_bearing", "apollonius_intercept"])
@pytest.mark.parametrize("degrees", [0, 30, 60, 90, 120, 150, 180])
@pytest.mark.parametrize(("vp", "ve", "d"), [(10.0, 5.0, 20.0), (12.0, 8.0, 15.0)])
def test_a_collision_course_to_a_straight_evader(use: str, degrees: int, vp: float, ve: float, d: float) -> None:
    angle = math.radians(degrees)
    root = math.sqrt(vp * vp - (ve * math.sin(angle)) ** 2)
    expected = d * (ve * math.cos(angle) + root) / (vp * vp - ve * ve)
    closing = d / expected
    engagement = duel(
        role("pursuers", use, vp, [[0, 0, 0]]), straight(ve, [d, 0, 0], angle), radius=0.6 * closing * TICK
    )
    assert time_of_capture(engagement) == pytest.approx(expected, abs=WITHIN)


def test_constant_bearing_keeps_the_bearing() -> None:
    engagement = duel(
        role("pursuers", "constant_bearing", 10.0, [[0, 0, 0]]), straight(6.0, [20, 5, 0], 1.2), radius=0.5
    )
    places = Flight(engagement).fly(1000)
    sight = places[:, 1] - places[:, 0]
    bearing = np.arctan2(sight[:, 1], sight[:, 0])
    assert len(places) > 50
    assert np.ptp(bearing[: len(places) - 2]) < 1e-4


@pytest.mark.parametrize("degrees", range(0, 360, 30))
def test_interceptions_lie_on_the_apollonius_circle(degrees: int) -> None:
    pursuer, evader, vp, ve = np.array([3.0, -2.0, 0.0]), np.array([14.0, 5.0, 0.0]), 9.0, 4.0
    angle, ratio = math.radians(degrees), ve / vp
    center, radius = apollonius_circle(XP, tuple(pursuer), tuple(evader), ratio)
    expected = (evader - ratio**2 * pursuer) / (1.0 - ratio**2)
    assert np.allclose(center, expected, rtol=1e-13)
    assert radius == pytest.approx(ratio * np.linalg.norm(evader - pursuer) / (1.0 - ratio**2), rel=1e-13)
    velocity = (ve * math.cos(angle), ve * math.sin(angle), 0.0)
    point, meets = intercept_point(XP, tuple(np.asarray([x]) for x in evader - pursuer), velocity, vp)
    place = np.array([part[0] for part in point]) + pursuer
    assert bool(meets[0])
    assert np.linalg.norm(place - center) == pytest.approx(radius, rel=1e-12)
    assert np.linalg.norm(place - pursuer) / vp == pytest.approx(np.linalg.norm(place - evader) / ve, rel=1e-12)
    capture = duel(
        role("pursuers", "apollonius_intercept", vp, [list(pursuer)]), straight(ve, list(evader), angle), radius=0.05
    )
    places = Flight(capture).fly(2000)
    assert np.linalg.norm(places[-1, 1] - place) < vp * 2 * TICK


def test_an_evader_too_fast_to_meet_is_said_to_be() -> None:
    away = intercept_point(XP, (np.array([10.0]), np.array([0.0]), np.array([0.0])), (5.0, 0.0, 0.0), 4.0)
    coming = intercept_point(XP, (np.array([10.0]), np.array([0.0]), np.array([0.0])), (-5.0, 0.0, 0.0), 4.0)
    assert not bool(away[1][0])
    assert bool(coming[1][0])
    assert coming[0][0][0] == pytest.approx(10.0 - 5.0 * 10.0 / 9.0)


@pytest.mark.parametrize("variant", ["pure", "true", "augmented"])
@pytest.mark.parametrize("model", ["double_integrator", "unicycle", "single_integrator"])
@pytest.mark.parametrize("degrees", [20, 80, 140])
def test_proportional_navigation_without_lag_misses_by_less_than_a_ticks_travel(
    variant: str, model: str, degrees: int
) -> None:
    vp, ve, angle = 12.0, 6.0, math.radians(degrees)
    pursuer = role(
        "pursuers", "proportional_navigation", vp, [[0, 0, 0]], model=model, heading=0.3,
        parameters={"variant": variant, "gain": 4},
    )
    miss = vp * TICK
    assert time_of_capture(duel(pursuer, straight(ve, [25, 0, 0], angle), radius=miss)) > 0.0


@pytest.mark.parametrize("sensor", ["radar", "bearing"])
def test_proportional_navigation_works_the_rotation_out_of_successive_directions(sensor: str) -> None:
    vp, ve = 12.0, 6.0
    pursuer = role("pursuers", "proportional_navigation", vp, [[0, 0, 0]], model="unicycle", heading=0.3)
    pursuer["sensors"] = {"own": {"kind": "own_motion", "rate": RATE}, "s": {"kind": sensor, "rate": RATE}}
    assert time_of_capture(duel(pursuer, straight(ve, [25, 0, 0], 1.2), radius=vp * TICK)) > 0.0


def test_proportional_navigation_in_space() -> None:
    pursuer = role(
        "pursuers", "proportional_navigation", 12.0, [[0, 0, 0]], model="double_integrator", heading=0.2,
        parameters={"variant": "true"},
    )
    evader = straight(5.0, [30, 10, 12], 2.0)
    assert time_of_capture(duel(pursuer, evader, radius=12.0 * TICK, dimensions=3)) > 0.0
