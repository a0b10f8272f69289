"""Frames: against pymap3d's own reference values, against JSBSim's own matrices, and there and back."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pe_sim.arrays import rotate, rotate_back
from pe_sim.worlds.jsbsim import frames
from pe_sim.worlds.jsbsim.frames import LocalFrame
from pe_sim.worlds.jsbsim.properties import FOOT

from .flying import flying

# The reference point and results of pymap3d's own test suite (its test_enu.py, test_geodetic.py): degrees and metres.
LLA0 = (42.0, -82.0, 200.0)
XYZ0 = (660_675.2518247, -4_700_948.68316, 4_245_737.66222)
ENU = (186.277521, 286.842228, 939.692621)
ENU_XYZ = (660_930.192761, -4_701_424.222957, 4_246_579.604633)
ENU_LLA = (42.002581974253744, -81.997751960067460, 1_139.701799575106)

pymap3d = pytest.importorskip("pymap3d")

angles = st.floats(-3.1, 3.1)
places = st.floats(-40_000.0, 40_000.0)


def reference() -> LocalFrame:
    return LocalFrame(math.radians(LLA0[0]), math.radians(LLA0[1]), LLA0[2])


def test_the_origin_is_the_reference_point():
    assert reference().position(XYZ0) == pytest.approx((0.0, 0.0, 0.0), abs=1e-4)


def test_earth_centred_to_world_gives_the_reference_values():
    assert reference().position(ENU_XYZ) == pytest.approx(ENU, abs=1e-4)


def test_world_to_geodetic_gives_the_reference_values():
    lat, lon, height = reference().geodetic(*ENU)
    assert (math.degrees(lat), math.degrees(lon)) == pytest.approx(ENU_LLA[:2], abs=1e-9)
    assert height == pytest.approx(ENU_LLA[2], abs=1e-4)


@given(lat=st.floats(-1.4, 1.4), lon=angles, x=places, y=places, z=st.floats(0.0, 20_000.0))
def test_positions_go_there_and_back(lat, lon, x, y, z):
    frame = LocalFrame(lat, lon, 100.0)
    ecef = pymap3d.geodetic2ecef(*frame.geodetic(x, y, z), deg=False)
    assert frame.position(ecef) == pytest.approx((x, y, z), abs=1e-3)


@given(lat=st.floats(-1.4, 1.4), lon=angles, v=st.tuples(places, places, places))
def test_directions_turn_as_the_library_turns_them(lat, lon, v):
    ours = rotate(frames.ecef_from_enu(lat, lon), v)
    assert ours == pytest.approx(pymap3d.enu2uvw(*v, lat, lon, deg=False), abs=1e-8 * (1.0 + max(map(abs, v))))


@given(v=st.tuples(places, places, places))
def test_axes_are_exchanged_there_and_back(v):
    assert frames.frd_to_flu(frames.frd_to_flu(v)) == v
    assert frames.ned_to_enu(frames.ned_to_enu(v)) == v
    north, east, down = v
    assert frames.ned_to_enu(v) == (east, north, -down)
    assert frames.frd_to_flu(v) == (v[0], -v[1], -v[2])


@given(roll=angles, pitch=st.floats(-1.5, 1.5), heading=angles)
def test_attitudes_agree_with_the_half_turns_they_are_made_of(roll, pitch, heading):
    ned = frames.ned_from_frd(roll, pitch, heading)
    half = math.sqrt(0.5)
    long_way = frames.multiply((half, half, 0.0, 0.0), frames.multiply(ned, (1.0, 0.0, 0.0, 0.0)))
    assert frames.enu_from_flu(roll, pitch, heading) == pytest.approx(long_way, abs=1e-15)


@given(roll=angles, pitch=st.floats(-1.5, 1.5), heading=angles)
def test_an_attitude_at_the_origin_points_where_its_angles_say(roll, pitch, heading):
    frame = LocalFrame(0.8, 0.1, 0.0)
    q = frame.attitude(0.8, 0.1, roll, pitch, heading)
    assert sum(part * part for part in q) == pytest.approx(1.0, abs=1e-14)
    assert q[3] >= 0.0
    nose = rotate(q, (1.0, 0.0, 0.0))
    level = math.cos(pitch)
    expected = (level * math.sin(heading), level * math.cos(heading), math.sin(pitch))
    assert nose == pytest.approx(expected, abs=1e-12)
    left = rotate(q, (0.0, 1.0, 0.0))
    assert left[2] == pytest.approx(math.sin(roll) * level, abs=1e-12)  # right wing down lifts the left wing


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_the_state_agrees_with_jsbsims_own_matrices_and_velocities():
    aircraft = flying("f16")
    frame = LocalFrame(math.radians(47.0), math.radians(8.0), 0.0)  # 50 km away: the horizon is tilted there
    aircraft.control(0.4, -0.3, 0.1, 0.9)
    aircraft.advance(300)
    x, y, z, lat, lon, roll, pitch, heading, u, v, w, *_ = aircraft.motion()
    body_from_ecef = np.array(aircraft._executive.get_propagate().get_Tec2b().tolist())
    q = frame.attitude(lat, lon, roll, pitch, heading)
    for axis in np.eye(3):
        # A world direction into ECEF by pymap3d, into FRD by JSBSim, into FLU: the same as by our attitude.
        ecef = pymap3d.enu2uvw(*axis, frame.latitude, frame.longitude, deg=False)
        frd = body_from_ecef @ np.asarray(ecef)
        assert rotate_back(q, tuple(axis)) == pytest.approx(frames.frd_to_flu(tuple(frd)), abs=1e-12)
    ecef_velocity = [aircraft._executive.get_property_value(f"velocities/ecef-{a}-fps") * FOOT for a in "xyz"]
    world = rotate(q, frames.frd_to_flu((u * FOOT, v * FOOT, w * FOOT)))
    back = pymap3d.enu2uvw(*world, frame.latitude, frame.longitude, deg=False)
    assert back == pytest.approx(ecef_velocity, abs=1e-9)
    assert frame.position((x * FOOT, y * FOOT, z * FOOT)) == pytest.approx(
        pymap3d.ecef2enu(x * FOOT, y * FOOT, z * FOOT, frame.latitude, frame.longitude, 0.0, deg=False), abs=1e-6
    )


@given(x=places, y=places, yaw=angles)
def test_a_true_heading_is_the_yaw_less_the_convergence_of_the_meridians(x, y, yaw):
    frame = LocalFrame(math.radians(47.3), math.radians(8.5), 0.0)
    heading = frame.true_heading(x, y, 5000.0, yaw)
    _, lon, _ = frame.geodetic(x, y, 5000.0)
    expected = 0.5 * math.pi - yaw + (lon - frame.longitude) * math.sin(frame.latitude)
    assert math.remainder(heading - expected, 2.0 * math.pi) == pytest.approx(0.0, abs=1e-4)
