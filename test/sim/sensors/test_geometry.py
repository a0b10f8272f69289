"""What sensors measure, against the same geometry written out with matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pe_sim.sensors.scene import turn, turn_back
from pe_sim.state import State

from .scenes import PERIOD, Station, file, matrix, place, random_state

SEEDS = st.integers(0, 10_000)


def parts(state: State, agent: int) -> tuple[Any, Any, Any, Any]:
    """Position, rotation matrix, world velocity and angular velocity of an agent in row 0."""
    column = state.block[:, agent, 0]
    rotation = matrix(column[3:7])
    return column[0:3], rotation, rotation @ column[7:10], column[10:13]


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, level=st.booleans())
def test_radar_bearing_and_relative(seed: int, level: bool) -> None:
    engagement = file(radar={"kind": "radar"}, bearing={"kind": "bearing"}, relative={"kind": "relative"})
    state = random_state(4, 1, seed, level=level)
    readings = {name: Station(engagement, name).take(state) for name in ("radar", "bearing", "relative")}
    for i in range(2):
        p, rotation, v, _ = parts(state, i)
        for j in range(2):
            q, _, w, _ = parts(state, 2 + j)
            sight, distance = q - p, np.linalg.norm(q - p)
            x, y, z = rotation.T @ sight
            azimuth, elevation = math.atan2(y, x), math.asin(z / distance)
            rate = (w - v) @ sight / distance
            at = slice(4 * j, 4 * j + 4)
            expected = np.array([distance, azimuth, elevation, rate])
            assert readings["radar"].values[at, i, 0] == pytest.approx(expected, rel=1e-6, abs=1e-6)
            assert readings["bearing"].values[2 * j : 2 * j + 2, i, 0] == pytest.approx(expected[1:3], abs=1e-6)
            relative = np.concatenate([sight, w - v])
            assert readings["relative"].values[6 * j : 6 * j + 6, i, 0] == pytest.approx(relative, rel=1e-6, abs=1e-5)


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, azimuth=st.integers(-30, 30), elevation=st.integers(-14, 14))
def test_camera(seed: int, azimuth: float, elevation: float) -> None:
    azimuth, elevation = azimuth / 10, elevation / 10
    engagement = file(
        pursuers=1, evaders=1,
        camera={
            "kind": "camera", "azimuth_center": azimuth, "elevation_center": elevation, "horizontal_field": 1.6,
            "vertical_field": 1.2, "max_range": 60, "target_radius": 0.5,
        },
    )
    state = random_state(2, 1, seed)
    reading = Station(engagement, "camera").take(state)
    p, rotation, _, _ = parts(state, 0)
    sight = rotation.T @ (state.block[0:3, 1, 0] - p)
    ca, sa, ce, se = math.cos(azimuth), math.sin(azimuth), math.cos(elevation), math.sin(elevation)
    axis, left, up = (
        np.array([ca * ce, sa * ce, se]), np.array([-sa, ca, 0.0]), np.array([-ca * se, -sa * se, ce])
    )
    depth, distance = sight @ axis, np.linalg.norm(sight)
    u, v = -(sight @ left) / depth / math.tan(0.8), -(sight @ up) / depth / math.tan(0.6)
    inside = depth > 0 and abs(u) <= 1 and abs(v) <= 1 and distance <= 60
    assert bool(reading.valid.all()) == inside == bool(reading.valid.any())
    if inside:
        assert reading.values[:, 0, 0] == pytest.approx([u, v, 2 * math.asin(0.5 / distance)], rel=1e-5, abs=1e-6)
    else:
        assert not reading.values.any()


@settings(max_examples=30, deadline=None)
@given(seed=SEEDS)
def test_own_motion_and_position_are_the_state(seed: int) -> None:
    engagement = file(own={"kind": "own_motion"}, place={"kind": "position"})
    state = random_state(4, 1, seed)
    expected = state.block[:, :2, 0].astype(np.float32)
    assert np.array_equal(Station(engagement, "own").take(state).values[..., 0], expected[3:13])
    assert np.array_equal(Station(engagement, "place").take(state).values[..., 0], expected[0:3])


@settings(max_examples=60, deadline=None)
@given(yaw=st.floats(-10, 10), vector=st.tuples(*[st.floats(-1e3, 1e3)] * 3))
def test_turning_about_the_vertical_alone_is_the_general_turn_to_the_bit(yaw: float, vector: Any) -> None:
    q = tuple(np.array([part]) for part in (0.0, -0.0, math.sin(yaw / 2), math.cos(yaw / 2)))
    v = tuple(np.array([part]) for part in vector)
    for way in (turn, turn_back):
        for a, b in zip(way(q, v, level=True), way(q, v, level=False), strict=True):
            assert a.tobytes() == b.tobytes()


def test_the_field_of_view_is_about_the_boresight() -> None:
    spec = {"kind": "bearing", "azimuth_field": "60 deg", "azimuth_center": "90 deg", "elevation_field": "40 deg"}
    station = Station(file(pursuers=1, evaders=1, eye=spec), "eye")
    for point, seen in (
        ([0, 10, 0], True), ([5, 10, 0], True), ([7, 10, 0], False), ([10, 0, 0], False), ([0, 10, 3], True),
        ([0, 10, 5], False), ([0, -10, 0], False),
    ):
        assert bool(station.take(place([[0, 0, 0], point])).valid.all()) == seen, point


def test_a_field_of_view_behind_wraps() -> None:
    spec = {"kind": "bearing", "azimuth_field": "60 deg", "azimuth_center": "180 deg"}
    station = Station(file(pursuers=1, evaders=1, eye=spec), "eye")
    for point, seen in (([-10, 1, 0], True), ([-10, -1, 0], True), ([10, 0, 0], False)):
        assert bool(station.take(place([[0, 0, 0], point])).valid.all()) == seen, point


@pytest.mark.parametrize("kind", ["radar", "bearing", "camera"])
def test_range_limits(kind: str) -> None:
    station = Station(file(pursuers=1, evaders=1, eye={"kind": kind, "max_range": 20}), "eye")
    assert station.take(place([[0, 0, 0], [19.99, 0, 0]])).valid.all()
    assert not station.take(place([[0, 0, 0], [20.01, 0, 0]])).valid.any()


def test_the_least_range_of_a_radar() -> None:
    station = Station(file(pursuers=1, evaders=1, eye={"kind": "radar", "min_range": 5}), "eye")
    assert station.take(place([[0, 0, 0], [5, 0, 0]])).valid.all()
    assert not station.take(place([[0, 0, 0], [4.9, 0, 0]])).valid.any()


def test_two_agents_on_one_spot_give_finite_values() -> None:
    for kind in ("radar", "bearing", "camera", "relative"):
        reading = Station(file(pursuers=1, evaders=1, eye={"kind": kind}), "eye").take(place([[1, 2, 3], [1, 2, 3]]))
        assert np.isfinite(reading.values).all()


class TestInertial:
    """Specific force: mean over the time since the reading before."""

    def station(self, **more: Any) -> Station:
        return Station(file(pursuers=1, evaders=1, imu={"kind": "inertial", **more}), "imu")

    def test_the_first_reading_has_no_specific_force(self) -> None:
        reading = self.station().take(place([[0, 0, 0], [9, 9, 9]], omega=[[0.1, 0.2, 0.3], [0, 0, 0]]))
        assert reading.valid[:, 0, 0].tolist() == [False] * 3 + [True] * 3
        assert reading.values[:, 0, 0].tolist() == pytest.approx([0, 0, 0, 0.1, 0.2, 0.3])

    def test_at_rest_it_is_gravity_upwards(self) -> None:
        station, state = self.station(), place([[0, 0, 0], [9, 9, 9]])
        station.take(state)
        assert station.take(state, 1).values[:, 0, 0] == pytest.approx([0, 0, 9.80665, 0, 0, 0])

    def test_it_is_the_change_of_velocity_over_the_time_along_the_present_axes(self) -> None:
        station = self.station()
        station.take(place([[0, 0, 0], [9, 9, 9]], velocity=[[2, 0, 0], [0, 0, 0]]))
        later = place([[0, 0, 0], [9, 9, 9]], yaw=[math.pi / 2, 0.0], velocity=[[2, 0, 0], [0, 0, 0]])
        dt = 3 * PERIOD * 1e-9  # readings 1 and 2 were never taken
        # In the world: from (2, 0, 0) to (0, 2, 0); along the body's axes, ahead is north, left is west.
        values = station.take(later, 3).values[:, 0, 0]
        assert values[:3] == pytest.approx([2 / dt, 2 / dt, 9.80665], rel=1e-5)

    @settings(max_examples=20, deadline=None)
    @given(seed=SEEDS)
    def test_against_matrices(self, seed: int) -> None:
        station, before, after = self.station(), random_state(2, 1, seed), random_state(2, 1, seed + 1)
        station.take(before, 4)
        values = station.take(after, 5).values[:, 0, 0]
        _, _, v, _ = parts(before, 0)
        _, rotation, w, omega = parts(after, 0)
        force = rotation.T @ ((w - v) / (PERIOD * 1e-9) + np.array([0, 0, 9.80665]))
        assert values == pytest.approx(np.concatenate([force, omega]), rel=1e-4, abs=1e-4)

    def test_a_new_episode_and_rows_not_taken(self) -> None:
        engagement = file(pursuers=1, evaders=1, imu={"kind": "inertial"})
        station = Station(engagement, "imu", 3)
        first, second, third = (random_state(2, 3, seed) for seed in range(3))
        station.take(first, 0)
        station.take(second, 1, taken=np.array([True, False, True]))
        values = station.take(third, 2).values
        alone = Station(engagement, "imu")
        alone.take(State(first.block[..., 1:2]), 0)
        expected = alone.take(State(third.block[..., 1:2]), 2).values
        assert np.array_equal(values[..., 1:2], expected)
        station.channel.reset(np.asarray([77]), np.asarray([2]))
        assert station.take(first, 3).valid[:3, 0].tolist() == [[True, True, False]] * 3
