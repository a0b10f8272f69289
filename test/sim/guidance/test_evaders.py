"""Evaders: they do what their names say, and do not get stuck."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from pe_sim.engagement import Engagement
from pe_sim.errors import ContractError
from pe_sim.evaluation.rollout import Rollout, load_policies
from pe_sim.simulation import Simulation

from .duel import Flight, duel, role


def alone(use: str, start: list[float], speed: float = 5.0, half: float = 20.0, **more: Any) -> Engagement:
    """An evader whom nobody disturbs: the pursuer stands far away."""
    world = more.pop("world", {})
    pursuer = role("pursuers", "hold_still", 1.0, [more.pop("pursuer", [half, half, 0])], moving=False)
    return duel(pursuer, role("evaders", use, speed, [start], parameters=more), half=half, radius=0.3, **world)


def test_straight_flight_is_straight() -> None:
    places = Flight(alone("straight", [-10, 0, 0], heading=0.3)).fly(150)[:, 1]
    assert np.allclose(places[-1] - places[0], 15.0 * np.array([math.cos(0.3), math.sin(0.3), 0.0]), atol=1e-5)
    assert np.allclose(np.diff(places, axis=0), (places[-1] - places[0]) / 150, atol=1e-6)


def test_a_drawn_heading_is_drawn_per_episode() -> None:
    file = alone("straight", [0, 0, 0])
    headings = set()
    for seed in range(8):
        step = np.diff(Flight(file, seed).fly(2)[:, 1], axis=0)[-1]
        headings.add(round(math.atan2(step[1], step[0]), 3))
    assert len(headings) == 8


def test_a_margin_keeps_an_evader_off_the_walls_and_moving() -> None:
    places = Flight(alone("straight", [0, 0, 0], half=10.0, heading=0.4, margin=1.0)).fly(500)[:, 1]
    assert np.abs(places[:, :2]).max() <= 9.0 + 2 * 5.0 * 0.02
    assert np.linalg.norm(np.diff(places, axis=0), axis=1)[2:] == pytest.approx(0.1, abs=1e-5)


def test_without_a_margin_it_stays_at_the_wall() -> None:
    places = Flight(alone("straight", [0, 0, 0], half=10.0, heading=0.0)).fly(300)[:, 1]
    assert np.array_equal(places[-1], places[-50])


def test_zigzag_turns_to_either_side_at_its_period() -> None:
    places = Flight(alone("zigzag", [-19, 0, 0], heading=0.0, angle=0.5, period="1 s", half=30.0)).fly(300)[:, 1]
    steps = np.diff(places, axis=0)
    angles = np.arctan2(steps[:, 1], steps[:, 0])[2:]
    assert np.abs(angles) == pytest.approx(0.5, abs=1e-5)
    turns = np.flatnonzero(np.diff(np.sign(angles)))
    assert np.diff(turns).tolist() == [25] * (len(turns) - 1)


@pytest.mark.parametrize("clockwise", [False, True])
def test_circling_is_a_circle_of_its_radius(clockwise: bool) -> None:
    places = Flight(alone("circling", [0, 0, 0], radius=4.0, clockwise=clockwise, heading=0.0)).fly(350)[:, 1]
    center = np.array([0.0, -4.0 if clockwise else 4.0])
    assert np.linalg.norm(places[:, :2] - center, axis=1) == pytest.approx(4.0, abs=0.03)


def test_away_from_centroid_is_away_from_the_mean_of_the_pursuers() -> None:
    pursuers = role("pursuers", "hold_still", 1.0, [[0.0, 0, 0], [4, 0, 0], [2, 9, 0]], moving=False)
    evader = role("evaders", "away_from_centroid", 5.0, [[3, -4, 0]])
    moved = np.diff(Flight(duel(pursuers, evader)).fly(1)[:, 3], axis=0)[0]
    away = np.array([3.0, -4, 0]) - np.array([2.0, 3, 0])
    assert moved / np.linalg.norm(moved) == pytest.approx(away / np.linalg.norm(away), abs=1e-6)


def test_flight_is_away_from_the_nearer_pursuer_first() -> None:
    pursuers = role("pursuers", "hold_still", 1.0, [[-2.0, 0, 0], [0, 8, 0]], moving=False)
    moved = np.diff(Flight(duel(pursuers, role("evaders", "flee", 5.0, [[0, 0, 0]]))).fly(1)[:, 2], axis=0)[0]
    expected = np.array([1 / 4, -1 / 64, 0])
    assert moved / np.linalg.norm(moved) == pytest.approx(expected / np.linalg.norm(expected), abs=1e-6)


def test_one_who_looks_ahead_outlasts_one_who_runs_into_the_corner() -> None:
    """A pursuer a little slower: out of a corner there is a way for who looks for it."""

    def file(avoid: bool) -> Engagement:
        pursuer = role("pursuers", "pure_pursuit", 4.5, [[0, 0, 0]])
        evader = role("evaders", "flee", 5.0, [[6, 6, 0]], parameters={"avoid": avoid})
        return duel(pursuer, evader, half=12.0, radius=0.5, limit=15.0)

    blind, careful = (Rollout(file(avoid)).run([1], [0])[0] for avoid in (False, True))
    assert blind.outcome == "capture"
    assert careful.outcome == "timeout"


def test_one_who_looks_ahead_does_not_run_into_obstacles() -> None:
    pillar = {"shape": "circle", "center": [8, 0], "radius": 3}
    pursuer = role("pursuers", "pure_pursuit", 4.0, [[-2, 0, 0]])
    evader = role("evaders", "flee", 5.0, [[2, 0.1, 0]], parameters={"avoid": True, "margin": 0.5})
    places = Flight(duel(pursuer, evader, half=20.0, obstacles=[pillar], radius=0.3)).fly(200)
    assert np.linalg.norm(places[:, 1, :2] - np.array([8.0, 0.0]), axis=1).min() > 3.1
    steps = np.linalg.norm(np.diff(places[:, 1], axis=0), axis=1)
    assert np.median(steps) == pytest.approx(0.1, abs=1e-3)


@pytest.mark.parametrize("dimensions", [2, 3])
def test_ways_past_far_obstacles_are_judged_as_if_all_were_looked_at(dimensions: int) -> None:
    """Rows that an obstacle cannot concern are left out for speed: nothing else may come of it."""
    solids: list[dict[str, Any]] = [
        {"shape": "circle", "center": [8, 0], "radius": 3},
        {"shape": "box", "low": [-9, -4, 0], "high": [-5, 2, 9]},
        {"shape": "polygon", "points": [[0, 8], [4, 12], [-3, 11]]},
    ]
    evader = role("evaders", "flee", 5.0, [[2, 0.1, 0]], parameters={"avoid": True, "margin": 0.7})
    pursuer = role("pursuers", "hold_still", 1.0, [[-2, 0, 0]])
    engagement = duel(pursuer, evader, half=20.0, obstacles=solids, radius=0.3, dimensions=dimensions)
    ways: Any = load_policies(Simulation(engagement, 1))["evader"]._ways
    rng = np.random.default_rng(7)
    place = tuple(rng.uniform(-15, 15, (1, 500)) for _ in range(3))
    moved = tuple(rng.uniform(-6, 6, (8, 1, 500)) * rng.choice([0.1, 1.0], 500) for _ in range(3))
    expected = np.zeros((8, 1, 500), bool)
    for obstacle in ways._surroundings.obstacles:
        ends = tuple(p + m for p, m in zip(place, moved, strict=True))
        expected |= obstacle.blocks(np, place, ends)
        for share in (0.25, 0.5, 0.75, 1.0):
            point = tuple(p + share * m for p, m in zip(place, moved, strict=True))
            expected |= obstacle.surface(np, point)[0] < 0.7
    assert 0.02 < expected.mean() < 0.98
    assert np.array_equal(ways._blocked(place, moved), expected)


def test_a_goal_is_reached_and_held() -> None:
    places = Flight(alone("goal_seeking", [-10, 3, 0], goal=[6, -2, 0])).fly(300)[:, 1]
    assert places[-1] == pytest.approx([6.0, -2.0, 0.0], abs=1e-3)
    straight = np.linalg.norm(np.array([16.0, -5.0]))
    assert np.linalg.norm(np.diff(places, axis=0), axis=1).sum() == pytest.approx(straight, abs=0.01)


def test_on_the_way_to_a_goal_pursuers_are_given_a_wide_berth() -> None:
    kept = [
        Flight(alone("goal_seeking", [-10, 0.2, 0], goal=[10, 0, 0], keep_away=away, pursuer=[0.0, 0, 0])).fly(450)
        for away in (0.0, 4.0)
    ]
    nearest = [np.linalg.norm(places[:, 1] - places[:, 0], axis=1).min() for places in kept]
    assert nearest[0] < 0.5
    assert nearest[1] > 2.0
    assert kept[1][-1, 1] == pytest.approx([10.0, 0.0, 0.0], abs=1e-3)


@pytest.mark.parametrize("start", [[9.0, 4.0, 0], [-3, 8, 0], [5, -9, 0]])
def test_who_hides_is_soon_out_of_sight(start: list[float]) -> None:
    obstacles = [{"shape": "circle", "center": [3, 3], "radius": 2}, {"shape": "box", "low": [-8, -3], "high": [-5, 0]}]
    file = alone("hide", start, pursuer=[0.0, -12, 0], world={"obstacles": obstacles})
    data = file.resolved()
    data["roles"]["pursuer"]["sensors"]["eye"] = {"kind": "bearing", "rate": 50, "occlusion": True}
    flight = Flight(type(file).model_validate(data))
    flight.fly(300)
    perception = flight.simulation.roles["pursuer"].perception
    assert perception is not None
    assert not perception.view(flight.simulation.now)["eye"].valid.any()


def test_hiding_takes_something_to_hide_behind() -> None:
    with pytest.raises(ContractError, match="obstacles to hide behind"):
        Flight(alone("hide", [0, 0, 0]))
