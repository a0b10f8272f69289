"""Sensors of aircraft: air data against JSBSim's own, warning receiver, tracks that age and get lost."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pe_sim.arrays import namespace
from pe_sim.engagement import parse
from pe_sim.errors import EngagementError
from pe_sim.sensors.air_data import standard_atmosphere
from pe_sim.sensors.channel import SensorChannel
from pe_sim.state import State

from .flying import begun, command, duel, role

XP = namespace()


def test_the_atmosphere_is_the_standard_one():
    # ICAO Doc 7488: pressure [Pa] and speed of sound [m/s] at 0, 5, 11 and 15 km of geopotential height.
    pressure, sound = standard_atmosphere(XP, np.asarray([0.0, 5000.0, 11_000.0, 15_000.0]))
    assert pressure == pytest.approx([101_325.0, 54_019.9, 22_632.1, 12_044.6], rel=1e-4)
    assert sound == pytest.approx([340.294, 320.529, 295.070, 295.070], rel=1e-5)


def test_air_data_agree_with_jsbsims_own():
    wind = [8.0, -6.0, 0.0]
    evader = role("evaders", start={"points": [[0, 900, 6000]]})
    evader["sensors"] = {"air": {"kind": "air_data", "rate": 20}}
    pursuer = role("pursuers", sensors={"air": {"kind": "air_data", "rate": 20}})
    pursuer["start"]["points"] = [[20_000.0, 10_000.0, 5000.0]]
    simulation = begun(parse(duel(pursuer, evader, world={"air": {"wind": wind}})))
    act = command(simulation, pursuer=[0.2, -0.15, 0.1, 0.9], evader=[0, 0, 0, 0.3])
    for _ in range(60):
        simulation.world.step(act, None)
    simulation.sense()
    view = simulation.roles["pursuer"].perception.view(simulation.now)["air"]
    altitude, speed, calibrated, mach, climb, alpha, beta = view.values[:, 0, 0].tolist()
    get = simulation.world._fleet.flights[0][0].aircraft.properties.get
    assert altitude == pytest.approx(get("altitude"), abs=1.0)
    assert speed == pytest.approx(get("true_airspeed"), rel=2e-3)
    assert calibrated == pytest.approx(get("calibrated_airspeed"), rel=4e-3)
    assert mach == pytest.approx(get("mach"), rel=3e-3)
    assert climb == pytest.approx(get("climb_rate"), abs=0.3)
    assert alpha == pytest.approx(get("angle_of_attack"), abs=0.004)
    assert beta == pytest.approx(get("sideslip"), abs=0.004)


def channel(kind, place, heading=0.0, **settings):
    """One observer at the origin facing east, one target somewhere; return the channel and the state."""
    pursuer = role("pursuers", start={"points": [[0, 0, 5000]]})
    pursuer["sensors"] = {"s": {"kind": kind, "rate": 10} | settings}
    evader = role("evaders", start={"points": [[0, 900, 6000]]})
    engagement = parse(duel(pursuer, evader))
    made = SensorChannel(engagement, "pursuer", "s", XP)
    state = State.zeros(XP, 2, 1)
    state.block[:3, 1, 0] = place
    state.block[5, 1, 0], state.block[6, 1, 0] = math.sin(heading / 2), math.cos(heading / 2)
    made.reset(np.asarray([5]), None)
    return made, state


def look(made, state, number=0, second=0.0):
    stamp = np.asarray([int(second * 1e9)])
    return made.sample(state, np.ones((2, 1), bool), stamp, np.asarray([number]), None)


@pytest.mark.parametrize(
    ("place", "heading", "lit"),
    [
        ((10_000, 0, 0), math.pi, True),  # nose on us
        ((10_000, 0, 0), 0.0, False),  # tail on us
        ((10_000, 0, 0), math.pi - 1.0, True),  # 57 degrees off its nose
        ((10_000, 0, 0), math.pi - 1.1, False),  # 63 degrees off
        ((0, -10_000, 0), math.pi / 2, True),
        ((120_000, 0, 0), math.pi, False),  # too far
    ],
)
def test_the_warning_receiver_hears_who_points_at_us(place, heading, lit):
    made, state = channel("warning_receiver", place, heading)
    reading = look(made, state)
    assert bool(reading.valid[0, 0, 0]) is lit
    if lit:
        assert reading.values[0, 0, 0] == pytest.approx(math.atan2(place[1], place[0]), abs=1e-6)
        assert reading.values[1, 0, 0] == pytest.approx(20.0, abs=1e-4)  # a tenth of the threshold's range: 20 dB
    else:
        assert (reading.values == 0.0).all()


def test_a_track_is_coasted_while_it_is_remembered_and_then_lost():
    made, state = channel("tracking_radar", (3000.0, 0.0, 0.0), azimuth_field="60 deg", memory="1 s")
    state.block[7, 1, 0] = 100.0  # opening at 100 m/s
    fields = made.layout().fields
    assert fields == tuple(f"evader_0.{q}" for q in ("range", "azimuth", "elevation", "range_rate", "age"))
    first = look(made, state)
    assert first.valid.all()
    assert first.values[:, 0, 0] == pytest.approx([3000.0, 0.0, 0.0, 100.0, 0.0], abs=1e-3)
    state.block[:3, 1, 0] = (0.0, 3000.0, 0.0)  # out of the gimbal's limits
    held = look(made, state, 1, 0.5)
    assert held.valid.all()
    assert held.values[:, 0, 0] == pytest.approx([3050.0, 0.0, 0.0, 100.0, 0.5], abs=1e-3)
    gone = look(made, state, 2, 1.1)
    assert not gone.valid.any()
    assert (gone.values == 0.0).all()
    state.block[:3, 1, 0] = (2000.0, 0.0, 0.0)
    again = look(made, state, 3, 1.2)
    assert again.valid.all()
    assert again.values[4, 0, 0] == 0.0


def test_a_track_does_not_outlive_its_episode():
    made, state = channel("tracking_radar", (3000.0, 0.0, 0.0), azimuth_field="60 deg", memory="10 s")
    assert look(made, state).valid.all()
    made.reset(np.asarray([6]), None)
    state.block[:3, 1, 0] = (0.0, 3000.0, 0.0)
    assert not look(made, state).valid.any()


def test_detection_falls_with_range_and_the_memory_bridges_the_misses():
    def share(kind, distance, **more):
        made, state = channel(
            kind, (distance, 0.0, 0.0), detection={"probability": 0.5, "range": "10 km"}, **more
        )
        return float(np.mean([look(made, state, k, 0.1 * k).valid.any() for k in range(300)]))

    near, at, far = (share("radar", d) for d in (5000.0, 10_000.0, 15_000.0))
    assert near > 0.9
    assert at == pytest.approx(0.5, abs=0.09)  # 3 sigma of 300 draws
    assert far < 0.1
    assert share("tracking_radar", 10_000.0, memory="1 s") > 0.95


def test_a_tracking_radar_cannot_hide_who_is_who():
    pursuer = role("pursuers", start={"points": [[0, 0, 5000]]})
    pursuer["sensors"] = {"radar": {"kind": "tracking_radar", "rate": 10, "order": "range"}}
    with pytest.raises(EngagementError, match="keeps each target's track apart"):
        parse(duel(pursuer, role("evaders", start={"points": [[0, 900, 6000]]})))
