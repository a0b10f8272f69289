"""One sensor, one number: a row of a batch, an engagement alone, and an agent alone read the same to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pe_sim.sensors.channel import Reading
from pe_sim.state import State

from .scenes import Station, file, random_state, roots

TIMING = {"latency": "20 ms", "jitter": "50 ms", "dropout": 0.2}
WALL = [{"shape": "box", "low": [-2, -2, -9], "high": [2, 2, 9]}, {"shape": "sphere", "center": [8, 8, 8], "radius": 4}]

SENSORS: dict[str, dict[str, Any]] = {
    "own_motion": {"kind": "own_motion", "noise": {"velocity_x": 0.1, "attitude_x": {"bias": 0.01}}},
    "position": {"kind": "position", "noise": {"x": {"white": 0.2, "bias": 1, "quantisation": 0.01}}},
    "inertial": {"kind": "inertial", "noise": {"specific_force_x": 0.1, "angular_velocity_z": {"bias": 0.02}}},
    "radar": {
        "kind": "radar", "targets": "everyone", "occlusion": True, "max_range": 80, "azimuth_field": 4.0,
        "detection": {"probability": 0.7, "range": 50}, "noise": {"range": 0.5, "azimuth": 0.1, "range_rate": 0.3},
    },
    "radar_by_range": {
        "kind": "radar", "order": "range", "max_range": 60, "detection": {"probability": 0.8},
        "false_alarms": {"slots": 2, "probability": 0.4},
        "noise": {"range": {"white": 1, "quantisation": 5}, "azimuth": 0.1, "elevation": 0.1},
    },
    "bearing": {"kind": "bearing", "order": "azimuth", "false_alarms": {}, "noise": {"azimuth": 0.2}},
    "camera": {"kind": "camera", "noise": {"u": 0.05, "v": {"quantisation": 0.01}, "size": 0.01}, "occlusion": True},
    "relative": {"kind": "relative", "targets": "everyone", "max_range": 50, "noise": {"x": 0.2, "velocity_y": 0.3}},
    "relative_by_azimuth": {"kind": "relative", "order": "azimuth", "noise": {"x": 0.2}},
    "teammates": {"kind": "radar", "targets": "teammates", "noise": {"range": 0.1}},
    "shared_tracks": {
        "kind": "shared_tracks", "source": "radar", "latency": "20 ms", "loss": 0.3, "link_range": 60,
        "noise": {"position_x": 0.3, "attitude_z": {"bias": 0.01}},
    },
}
READINGS = 6


def engagement(name: str) -> Any:
    sensors = {name: {**SENSORS[name], **({} if name == "shared_tracks" else TIMING)}}
    if name == "shared_tracks":
        sensors["radar"] = {**SENSORS["radar"], "dropout": 0.2}
    return file(pursuers=3, evaders=3, obstacles=WALL, **sensors)


def bits(reading: Reading, row: int, agent: int) -> bytes:
    return b"".join(
        np.ascontiguousarray(part).tobytes()
        for part in (reading.values[:, agent, row], reading.valid[:, agent, row], reading.arrival[agent, row])
    )


@pytest.mark.parametrize("level", [False, True])
@pytest.mark.parametrize("name", SENSORS)
def test_a_row_of_any_batch_and_an_agent_alone_read_the_same(name: str, level: bool) -> None:
    file_ = engagement(name)
    batch = 65
    states = [random_state(6, batch, seed, level=level, size=20.0) for seed in range(READINGS)]
    if level:  # one row that is not must not change the others
        tilted = random_state(6, 1, 99)
        for state in states:
            state.block[:, :, 7] = tilted.block[..., 0]
    alive = np.ones((6, batch), dtype=bool)
    alive[4, ::3] = False
    whole = Station(file_, name, batch)
    taken = [whole.take(state, k, alive) for k, state in enumerate(states)]
    for rows in ([0], [31], [64], [3, 4], list(range(8, 15)), list(range(33))):
        part = Station(file_, name, len(rows), keys=roots(batch)[rows])
        alone = Station(file_, name, len(rows), keys=roots(batch)[rows], numbers=[1])
        for k, state in enumerate(states):
            some = State(np.ascontiguousarray(state.block[..., rows]))
            reading, single = part.take(some, k, alive[:, rows]), alone.take(some, k, alive[:, rows])
            for i, row in enumerate(rows):
                assert bits(reading, i, 2) == bits(taken[k], row, 2)
                assert bits(single, i, 0) == bits(taken[k], row, 1)


@pytest.mark.parametrize("name", SENSORS)
def test_values_are_float32_finite_and_zero_where_not_valid(name: str) -> None:
    station = Station(engagement(name), name, 40)
    seen = np.zeros((station.channel.width, 3), dtype=bool)
    for k in range(READINGS):
        reading = station.take(random_state(6, 40, k, size=20.0), k)
        assert reading.values.dtype == np.float32
        assert reading.valid.dtype == np.bool_
        assert reading.values.shape == reading.valid.shape == (station.channel.width, 3, 40)
        assert np.isfinite(reading.values).all()
        assert not reading.values[~reading.valid].any()
        seen |= reading.valid.any(axis=2)
    assert seen.all()


@pytest.mark.parametrize("name", SENSORS)
def test_layouts_name_every_value_once_and_give_its_unit(name: str) -> None:
    station = Station(engagement(name), name)
    for place in range(3):
        layout = station.channel.layout(place)
        assert len(layout.fields) == len(set(layout.fields)) == len(layout.units) == station.channel.width
        assert set(layout.units) <= {"m", "m/s", "m/s^2", "rad", "rad/s", "1"}
        assert layout.frame in ("body", "world")


@pytest.mark.parametrize("name", SENSORS)
def test_a_reading_needs_the_motion_of_those_it_says(name: str) -> None:
    """A sensor node hears only these: the motion of everybody else makes no difference."""
    file_, state = engagement(name), random_state(6, 1, 3, size=15.0)
    for number in range(3):
        station = Station(file_, name, numbers=[number])
        needed = {number, *(station.channel.targets[0] if station.channel.targets else ())}
        unknown = [i for i in range(6) if i not in needed]
        blind, alive = State(state.block.copy()), np.ones((6, 1), dtype=bool)
        blind.block[:, unknown] = 0.0
        alive[unknown] = False
        for k in range(2):
            one, other = station.take(state, k), Station(file_, name, numbers=[number]).take(blind, k, alive)
            if name != "inertial":
                assert bits(one, 0, 0) == bits(other, 0, 0)


@pytest.mark.parametrize("name", SENSORS)
def test_rows_begun_anew_read_as_from_the_beginning(name: str) -> None:
    file_, state = engagement(name), random_state(6, 4, 8, size=20.0)
    station = Station(file_, name, 4)
    for k in range(3):
        station.take(state, k)
    fresh = roots(9, seed=31)[[5, 8]]
    station.channel.reset(fresh, np.asarray([1, 2]))
    reading = station.take(state, 0)
    other = Station(file_, name, 2, keys=fresh).take(State(np.ascontiguousarray(state.block[..., 1:3])), 0)
    for i, row in enumerate((1, 2)):
        for agent in range(3):
            assert bits(reading, row, agent) == bits(other, i, agent)
