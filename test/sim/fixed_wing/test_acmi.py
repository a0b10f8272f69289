"""ACMI: a file that a reader of the format understands, with the states that went in."""

from __future__ import annotations

import math
import re
from datetime import datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pe_sim.engagement import parse
from pe_sim.errors import EngagementError
from pe_sim.evaluation import acmi
from pe_sim.worlds.jsbsim.frames import LocalFrame

from .flying import begun, command, shipped, surfaces_duel

angles = st.floats(-3.0, 3.0)
places = st.floats(-4e4, 4e4)


def read(path):
    """A reader written from the format's description: head, and per instant the objects' properties so far."""
    text = path.read_bytes()
    assert text.startswith(b"\xef\xbb\xbf")
    lines = text.decode("utf-8-sig").splitlines()
    assert lines[:2] == ["FileType=text/acmi/tacview", "FileVersion=2.2"]
    head, instants, objects = {}, [], {}
    for line in lines[2:]:
        if line.startswith("#"):
            instants.append((float(line[1:]), {}))
        elif line.startswith("-"):
            del objects[line[1:]]
        else:
            number, *properties = re.split(r"(?<!\\),", line)
            values = dict(entry.split("=", 1) for entry in properties)
            if number == "0":
                head.setdefault("Event", []).append(values["Event"]) if "Event" in values else head.update(values)
                continue
            objects.setdefault(number, {}).update(values)
            instants[-1][1][number] = dict(objects[number])
    return head, instants


@given(roll=angles, pitch=st.floats(-1.4, 1.4), heading=st.floats(0.0, 6.2), x=places, y=places)
def test_angles_are_those_that_made_the_attitude(roll, pitch, heading, x, y):
    frame = LocalFrame(0.8, 0.1, 100.0)
    lat, lon, altitude = frame.geodetic(x, y, 5000.0)
    seen = acmi.local_angles(frame, (x, y, 5000.0), frame.attitude(lat, lon, roll, pitch, heading))
    assert seen[:3] == pytest.approx((math.degrees(lon), math.degrees(lat), altitude), abs=1e-9)
    for shown, given_angle in zip(seen[3:], (roll, pitch, heading), strict=True):
        assert math.remainder(math.radians(shown) - given_angle, 2 * math.pi) == pytest.approx(0.0, abs=1e-9)


def test_a_flight_is_written_where_jsbsim_flew_it(tmp_path):
    engagement = surfaces_duel()
    simulation = begun(engagement)
    samples, truth = [], []
    aircraft = simulation.world._fleet.flights[0][0].aircraft
    for tick in range(40):
        if tick:
            simulation.world.step(command(simulation, pursuer=[0.2, -0.2, 0, 1], evader=[0, 0, 0, 0.3]), None)
        alive = np.asarray([True, tick < 30])
        samples.append((tick * 50_000_000, simulation.state.block[:, :, 0].copy(), alive))
        get = aircraft.properties.get
        truth.append([math.degrees(get("longitude")), math.degrees(get("latitude")), get("altitude")]
                     + [math.degrees(get(a)) for a in ("roll", "pitch", "heading")])
    begin = datetime(2024, 5, 1, 12, 0, 0, tzinfo=timezone(timedelta(hours=2)))
    path = tmp_path / "flight.acmi"
    assert acmi.write(path, engagement, samples, begin) == 40
    head, instants = read(path)
    assert head["ReferenceTime"] == "2024-05-01T10:00:00Z"
    assert [time for time, _ in instants] == pytest.approx([0.05 * k for k in range(40)], abs=1e-3)
    for (_, objects), expected in zip(instants, truth, strict=True):
        shown = [float(value) for value in objects["101"]["T"].split("|")]
        assert shown[:2] == pytest.approx(expected[:2], abs=1e-6)
        assert shown[2] == pytest.approx(expected[2], abs=0.05)
        assert shown[3:] == pytest.approx(expected[3:], abs=0.02)
    assert {k: instants[0][1]["101"][k] for k in ("Name", "CallSign", "Color", "Type")} == {
        "Name": "f16", "CallSign": "pursuer_0", "Color": "Blue", "Type": "Air+FixedWing"
    }
    assert instants[0][1]["102"]["Color"] == "Red"
    assert ["102" in objects for _, objects in instants] == [True] * 30 + [False] * 10
    assert head["Event"] == ["Destroyed|102|evader_0 is out of play"]


def test_text_with_separators_is_escaped(tmp_path):
    engagement = parse(surfaces_duel().resolved() | {"description": "one, two"})
    path = tmp_path / "x.acmi"
    acmi.write(path, engagement, [])
    assert "0,Title=one\\, two\n" in path.read_text(encoding="utf-8-sig")


def test_an_existing_file_is_not_overwritten(tmp_path):
    path = tmp_path / "x.acmi"
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(EngagementError, match="exists already"):
        acmi.write(path, surfaces_duel(), [])
    assert path.read_text(encoding="utf-8") == "mine"
    with pytest.raises(EngagementError, match="cannot be written"):
        acmi.write(tmp_path / "no" / "x.acmi", surfaces_duel(), [])


def test_worlds_without_a_place_on_earth_are_shown_too(tmp_path):
    engagement = shipped("kinematic_3v1")
    block = np.zeros((13, 4))
    block[6] = 1.0
    path = tmp_path / "x.acmi"
    assert acmi.write(path, engagement, [(0, block, np.ones(4, bool))]) == 1
    _, instants = read(path)
    shown = [float(value) for value in instants[0][1]["101"]["T"].split("|")]
    assert shown == pytest.approx([8.0, 47.0, 0.0, 0.0, 0.0, 90.0], abs=1e-6)
    assert instants[0][1]["101"]["Type"] == "Air+Rotorcraft"
