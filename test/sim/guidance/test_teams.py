"""Team laws: each agent decides by itself, and together they surround, cut off and close in."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pe_sim.arrays import namespace
from pe_sim.guidance.coordinated_intercept import farthest_common_point
from pe_sim.guidance.intercept import apollonius_circle

from .duel import Flight, duel, role, time_of_capture

XP = namespace()
COORDINATE = st.floats(-20, 20).map(lambda x: round(x, 3))
POINT = st.tuples(COORDINATE, COORDINATE)


def as_vector(point: Any) -> tuple[Any, Any, Any]:
    return (np.array([point[0]]), np.array([point[1]]), np.array([0.0]))


@settings(max_examples=40, deadline=None)
@given(evader=POINT, first=POINT, second=POINT, ratio=st.floats(0.1, 0.9))
def test_the_common_point_is_the_farthest_that_both_discs_hold(
    evader: Any, first: Any, second: Any, ratio: float
) -> None:
    if min(math.dist(evader, first), math.dist(evader, second), math.dist(first, second)) < 0.1:
        return
    discs = [apollonius_circle(XP, as_vector(p), as_vector(evader), ratio) for p in (first, second)]
    aim = farthest_common_point(XP, as_vector(evader), (as_vector(first), as_vector(second)), *discs)
    x, y = float(aim[0][0]), float(aim[1][0])
    # By search: all round the evader, how far it gets before either pursuer could be there.
    angles = np.linspace(-math.pi, math.pi, 20001)
    reach = np.full(angles.shape, np.inf)
    for pursuer in (first, second):
        dx, dy = evader[0] - pursuer[0], evader[1] - pursuer[1]
        along = dx * np.cos(angles) + dy * np.sin(angles)
        square = ratio * ratio
        # |s| = ratio |d + s|, solved for the length of s in each direction.
        root = np.sqrt((square * along) ** 2 + (1 - square) * square * (dx * dx + dy * dy))
        reach = np.minimum(reach, (square * along + root) / (1 - square))
    assert math.dist((x, y), evader) == pytest.approx(reach.max(), rel=1e-3)


def test_two_cutters_catch_a_fugitive_where_it_can_hold_out_longest() -> None:
    pursuers, evader, vp, ve = [[0.0, 0, 0], [24.0, 0, 0]], [12.0, 6, 0], 10.0, 6.0
    discs = [apollonius_circle(XP, as_vector(p), as_vector(evader), ve / vp) for p in pursuers]
    aim = farthest_common_point(XP, as_vector(evader), (as_vector(pursuers[0]), as_vector(pursuers[1])), *discs)
    goal = [float(part[0]) for part in aim]
    team = role("pursuers", "coordinated_intercept", vp, pursuers, parameters={"evader_speed": ve})
    optimal = role("evaders", "goal_seeking", ve, [evader], parameters={"goal": goal})
    assert time_of_capture(duel(team, optimal, radius=0.2)) == pytest.approx(math.dist(evader, goal) / ve, abs=0.08)


def test_an_evader_that_flees_otherwise_is_caught_sooner() -> None:
    pursuers, evader, vp, ve = [[0.0, 0, 0], [24.0, 0, 0]], [12.0, 6, 0], 10.0, 6.0
    discs = [apollonius_circle(XP, as_vector(p), as_vector(evader), ve / vp) for p in pursuers]
    aim = farthest_common_point(XP, as_vector(evader), (as_vector(pursuers[0]), as_vector(pursuers[1])), *discs)
    value = math.dist(evader, [float(part[0]) for part in aim]) / ve
    team = role("pursuers", "coordinated_intercept", vp, pursuers, parameters={"evader_speed": ve})
    for heading in (-2.5, -1.5, 0.0, 2.5):
        runner = role("evaders", "straight", ve, [evader], parameters={"heading": heading})
        assert time_of_capture(duel(team, runner, radius=0.2)) < value + 0.08


@pytest.mark.parametrize("count", [2, 3, 5])
def test_encirclement_spreads_a_team_evenly_on_the_ring(count: int) -> None:
    starts = [[10.0 + i, 2.0 * i, 0] for i in range(count)]
    team = role("pursuers", "encirclement", 12.0, starts, parameters={"radius": 6.0, "closing": 0.0, "gain": 2.0})
    evader = role("evaders", "straight", 2.0, [[0, 0, 0]], parameters={"heading": 0.7})
    places = Flight(duel(team, evader, radius=0.5, limit=20.0)).fly(450)[-1]
    around = places[:count] - places[count]
    assert np.hypot(around[:, 0], around[:, 1]) == pytest.approx(6.0, abs=0.2)
    angles = np.sort(np.arctan2(around[:, 1], around[:, 0]))
    gaps = np.diff(np.append(angles, angles[0] + 2 * math.pi))
    assert gaps == pytest.approx(2 * math.pi / count, abs=0.05)


def test_encirclement_closes_in_once_spread() -> None:
    starts = [[10.0, 0, 0], [10, 3, 0], [12, -3, 0]]
    team = role("pursuers", "encirclement", 8.0, starts, parameters={"radius": 5.0, "closing": 1.0})
    evader = role("evaders", "flee", 6.0, [[0, 0, 0]])
    assert time_of_capture(duel(team, evader, radius=0.5, half=40.0)) > 1.0


def test_area_pursuit_catches_an_equally_fast_evader_in_a_bounded_arena() -> None:
    team = role("pursuers", "area_pursuit", 8.0, [[-8, -8, 0], [8, -8, 0], [0, 9, 0]])
    evader = role("evaders", "flee", 8.0, [[0, 0, 0]], parameters={"avoid": True})
    assert time_of_capture(duel(team, evader, radius=0.8, half=10.0)) < 30.0


@settings(max_examples=30, deadline=None)
@given(own=POINT, evader=POINT, mate=POINT)
def test_area_pursuit_aims_at_the_middle_of_the_shared_edge(own: Any, evader: Any, mate: Any) -> None:
    half = 21.0
    if min(math.dist(own, evader), math.dist(own, mate), math.dist(mate, evader)) < 2.5:
        return
    team = role("pursuers", "area_pursuit", 5.0, [[*own, 0], [*mate, 0]])
    flight = Flight(duel(team, role("evaders", "hold_still", 5.0, [[*evader, 0]]), half=half, radius=0.1))
    before = flight.positions()
    flight.step()
    moved = flight.positions()[0] - before[0]
    # By search along the bisector: the points nearer to nobody else, inside the arena.
    p, e, q = (np.asarray(x) for x in (own, evader, mate))
    side = np.array([-(e - p)[1], (e - p)[0]]) / math.dist(own, evader)
    points = 0.5 * (p + e) + np.linspace(-80, 80, 160001)[:, None] * side
    inside = (np.abs(points) <= half).all(axis=1)
    nearest = np.linalg.norm(points - q, axis=1) >= np.linalg.norm(points - e, axis=1)
    edge = points[inside & nearest]
    if 0 < len(edge) < 20:
        return  # too short an edge for the search to tell
    aim = 0.5 * (edge[0] + edge[-1]) if len(edge) else e
    expected = (aim - p) / np.linalg.norm(aim - p)
    assert moved[:2] / np.linalg.norm(moved[:2]) == pytest.approx(expected, abs=2e-3)
