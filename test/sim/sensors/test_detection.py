"""Misses, false alarms, hidden identities, occlusion: and nothing of what is not seen in what is told."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pe_sim.engagement import parse
from pe_sim.errors import EngagementError
from pe_sim.sensors.base import Sensor
from pe_sim.sensors.detection import sort_detections
from pe_sim.sensors.warning_receiver import WarningReceiver
from pe_sim.state import State

from .scenes import XP, Station, file, place, random_state

KINDS = ("radar", "bearing", "camera", "relative")
NARROW: dict[str, dict[str, Any]] = {
    "radar": {"max_range": 40, "azimuth_field": 2.0}, "bearing": {"max_range": 40, "azimuth_field": 2.0},
    "camera": {"max_range": 40}, "relative": {"max_range": 40},
}


def many(state: State, batch: int) -> State:
    return State(np.repeat(state.block, batch, axis=2))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), kind=st.sampled_from(KINDS), order=st.sampled_from(["name", "azimuth"]))
def test_what_is_not_valid_is_zero_and_says_nothing(seed: int, kind: str, order: str) -> None:
    """Moving a target about where it is not seen changes no bit of the reading."""
    engagement = file(
        pursuers=1, evaders=3, s={"kind": kind, "order": order, **NARROW[kind], "noise": {}},
    )
    state, other = random_state(4, 1, seed), random_state(4, 1, seed + 1)
    station = Station(engagement, "s")
    named = Station(file(pursuers=1, evaders=3, s={"kind": kind, **NARROW[kind]}), "s")
    seen = named.take(state).valid.reshape(3, -1).any(axis=1)
    reading = station.take(state)
    assert not reading.values[~reading.valid].any()
    moved = State(state.block.copy())
    moved.block[:, 0] = state.block[:, 0]
    unseen = [1 + j for j in range(3) if not seen[j]]
    for j in unseen:
        moved.block[:, j] = other.block[:, j]
    still_unseen = named.take(moved).valid.reshape(3, -1).any(axis=1)
    if not still_unseen[[j - 1 for j in unseen]].any():
        after = station.take(moved)
        assert after.values.tobytes() == reading.values.tobytes()
        assert np.array_equal(after.valid, reading.valid)


@pytest.mark.parametrize("kind", KINDS)
def test_who_is_out_of_play_is_not_seen(kind: str) -> None:
    station = Station(file(pursuers=1, s={"kind": kind}), "s")
    state = place([[0, 0, 0], [10, 1, 0], [12, -1, 0]])
    alive = np.array([[True], [False], [True]])
    reading = station.take(state, alive=alive)
    width = len(station.fields) // 2
    assert not reading.valid[:width].any()
    assert not reading.values[:width].any()
    assert reading.valid[width:].all()


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), kind=st.sampled_from(KINDS), order=st.sampled_from(["range", "azimuth"]))
def test_hidden_identities_leave_no_trace(seed: int, kind: str, order: str) -> None:
    """Whoever stands where: the reading is the same to the bit, and sorted."""
    if kind == "bearing" and order == "range":
        return
    station = Station(file(pursuers=1, evaders=3, s={"kind": kind, "order": order, **NARROW[kind]}), "s")
    state = random_state(4, 1, seed, size=15.0)
    readings = []
    for permutation in ([0, 1, 2, 3], [0, 3, 1, 2], [0, 2, 1, 3]):
        reading = station.take(State(state.block[:, permutation]))
        readings.append((reading.values.tobytes(), reading.valid.tobytes()))
    assert readings[0] == readings[1] == readings[2]
    assert [field.partition(".")[0] for field in station.fields][:: len(station.fields) // 3] == [
        "detection_0", "detection_1", "detection_2",
    ]
    valid = reading.valid.reshape(3, -1)
    assert (valid.all(axis=1) == valid.any(axis=1)).all()
    count = int(valid[:, 0].sum())
    assert not valid[count:].any()
    values = reading.values.reshape(3, -1)[:count].astype(float)
    key = {
        ("radar", "range"): values[:, 0], ("radar", "azimuth"): values[:, 1], ("bearing", "azimuth"): values[:, 0],
        ("camera", "range"): -values[:, -1], ("camera", "azimuth"): -values[:, 0],
    }.get((kind, order))
    if key is None:
        key = np.hypot(np.hypot(values[:, 0], values[:, 1]), values[:, 2])
        key = key if order == "range" else np.arctan2(values[:, 1], values[:, 0])
    assert (np.diff(key) >= -1e-5).all()


def test_equal_keys_leave_no_trace_either() -> None:
    """On a grid distances are often equal: the order then goes by what else was measured."""
    station = Station(file(pursuers=1, evaders=3, dimensions=2, s={"kind": "relative", "order": "range"}), "s")
    spots = [[3, 4, 0], [4, 3, 0], [-5, 0, 0]]
    told = {
        station.take(place([[0, 0, 0], *(spots[i] for i in order)])).values.tobytes()
        for order in ([0, 1, 2], [1, 0, 2], [2, 1, 0], [1, 2, 0])
    }
    assert len(told) == 1


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), slots=st.integers(2, 9), batch=st.integers(1, 4))
def test_detections_are_sorted_as_python_sorts_them(seed: int, slots: int, batch: int) -> None:
    draw = np.random.default_rng(seed)
    key = draw.integers(0, 3, size=(2, slots, batch)).astype(float)
    values = draw.integers(0, 2, size=(3, 2, slots, batch)).astype(float)
    valid = draw.random(size=(2, slots, batch)) < 0.7
    got, found = sort_detections(XP, key, values, valid)
    for i in range(2):
        for b in range(batch):
            here = [(key[i, j, b], *values[:, i, j, b]) for j in range(slots) if valid[i, j, b]]
            assert found[i, :, b].tolist() == [True] * len(here) + [False] * (slots - len(here))
            expected = [row[1:] for row in sorted(here)]
            assert [tuple(got[:, i, j, b]) for j in range(len(here))] == expected


def test_contacts_may_be_friends() -> None:
    engagement = file(pursuers=2, evaders=1, s={"kind": "radar", "order": "range", "targets": "everyone"})
    assert Station(engagement, "s").fields[0] == "contact_0.range"


@pytest.mark.parametrize("probability", [0.0, 0.3, 0.9])
def test_a_constant_probability_of_detection(probability: float) -> None:
    spec = {"kind": "radar", "detection": {"probability": probability}}
    station = Station(file(pursuers=1, evaders=2, s=spec), "s", 2000)
    state = many(place([[0, 0, 0], [10, 0, 0], [400, 0, 0]]), 2000)
    valid = np.asarray([station.take(state, k).valid[[0, 4], 0] for k in range(3)])
    assert valid.mean(axis=(0, 2)) == pytest.approx([probability] * 2, abs=0.025)
    assert probability == 0.0 or abs(np.corrcoef(valid[0])[0, 1]) < 0.1


def test_a_probability_that_falls_with_the_fourth_power_of_range() -> None:
    detection = {"probability": 0.8, "range": 100}
    station = Station(file(pursuers=1, evaders=3, s={"kind": "radar", "detection": detection}), "s", 6000)
    state = many(place([[0, 0, 0], [50, 0, 0], [100, 0, 0], [150, 0, 0]]), 6000)
    found = station.take(state).valid[[0, 4, 8], 0].mean(axis=1)
    assert found == pytest.approx([0.8 ** (0.5**4), 0.8, 0.8 ** (1.5**4)], abs=0.025)


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("radar", {"min_range": 5, "max_range": 60, "azimuth_field": 1.0, "elevation_field": 0.4}),
        ("bearing", {"azimuth_field": 1.0, "azimuth_center": 3.0}), ("camera", {}), ("relative", {"max_range": 60}),
        ("warning_receiver", {"max_range": 100}),
    ],
)
def test_false_alarms_are_as_frequent_as_told_and_lie_in_view(kind: str, more: dict[str, Any]) -> None:
    spec = {
        "kind": kind, **more, "order": "azimuth", "detection": {"probability": 0.0},
        "false_alarms": {"slots": 2, "probability": 0.25, "speed": 7},
    }
    station = Station(file(pursuers=1, evaders=1, s=spec), "s", 4000)
    assert len(station.fields) % 3 == 0
    reading = station.take(many(place([[0, 0, 0], [10, 0, 0]]), 4000))
    valid = reading.valid.reshape(3, -1, 4000)[:, 0]
    assert valid.sum(axis=0).mean() == pytest.approx(0.5, abs=0.05)
    assert not valid[2].any()
    values = reading.values.reshape(3, -1, 4000)
    first = values[0][:, valid[0]].astype(float)
    if kind == "radar":
        assert 5 <= first[0].min() < 12
        assert 50 < first[0].max() <= 60
        assert np.abs(first[1]).max() <= 0.5
        assert np.abs(first[2]).max() <= 0.2
        assert 6 < np.abs(first[3]).max() <= 7
    if kind == "bearing":
        off = (first[0] - 3.0 + math.pi) % (2 * math.pi) - math.pi
        assert np.abs(off).max() <= 0.5 + 1e-6
    if kind == "camera":
        assert np.abs(first[:2]).max() <= 1.0
    if kind == "warning_receiver":
        assert 3.0 < np.abs(first[0]).max() <= math.pi
        assert 0.0 <= first[1].min() < 0.1
        assert first[1].max() <= 40.0
    if kind == "relative":
        assert 50 < np.sqrt((first[:3] ** 2).sum(axis=0)).max() <= 60
        assert np.sqrt((first[3:] ** 2).sum(axis=0)).max() <= 7 * (1 + 1e-6)


def test_a_kind_that_does_not_say_what_a_false_alarm_shows_is_refused_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WarningReceiver, "false_values", Sensor.false_values)
    with pytest.raises(EngagementError, match="does not tell what one would show"):
        file(pursuers=1, s={"kind": "warning_receiver", "order": "azimuth", "false_alarms": {}})


def test_in_the_plane_a_false_alarm_does_not_betray_itself_by_its_height() -> None:
    for kind in ("radar", "relative"):
        spec = {"kind": kind, "max_range": 60, "order": "range", "false_alarms": {"probability": 1.0}}
        station = Station(file(pursuers=1, evaders=1, dimensions=2, s=spec), "s", 50)
        reading = station.take(many(place([[0, 0, 0], [10, 0, 0]]), 50))
        assert reading.valid.all()
        assert not reading.values.reshape(2, -1, 50)[:, 2].any()


def test_obstacles_hide_what_is_behind_them_if_asked_to() -> None:
    wall = [{"shape": "box", "low": [4, -2, -5], "high": [5, 2, 5]}]
    seen = {}
    for occlusion in (False, True):
        station = Station(
            file(pursuers=1, evaders=2, obstacles=wall, s={"kind": "radar", "occlusion": occlusion}), "s"
        )
        reading = station.take(place([[0, 0, 0], [10, 0, 0], [10, 8, 0]]))
        seen[occlusion] = reading.valid[[0, 4], 0, 0].tolist()
        assert not reading.values[~reading.valid].any()
    assert seen == {False: [True, True], True: [False, True]}


def test_in_the_plane_heights_of_obstacles_do_not_count() -> None:
    box = [{"shape": "box", "low": [4, -2, 5], "high": [5, 2, 9]}]
    for dimensions, seen in ((2, False), (3, True)):
        engagement = file(
            pursuers=1, evaders=1, dimensions=dimensions, obstacles=box, s={"kind": "bearing", "occlusion": True}
        )
        assert bool(Station(engagement, "s").take(place([[0, 0, 0], [10, 0, 0]])).valid.all()) == seen


def test_blocked_cells_of_a_grid_hide_too() -> None:
    def role(team: str) -> dict[str, Any]:
        return {
            "team": team, "dynamics": {"model": "grid_mover"}, "policy": {"use": "guidance/hold_still", "rate": 10},
            "sensors": {"s": {"kind": "relative", "rate": 10, "occlusion": True}},
        }

    engagement = parse({
        "engagement": "cells", "world": {"backend": "grid", "size": 8, "tick": "100 ms", "obstacles": [[3, 3]]},
        "roles": {"pursuer": role("pursuers"), "evader": role("evaders")},
    })
    station = Station(engagement, "s")
    for there, seen in (([6, 3, 0], False), ([6, 6, 0], True), ([0, 6, 0], True)):
        assert bool(station.take(place([[0, 3, 0], there])).valid.all()) == seen


@pytest.mark.parametrize(
    ("spec", "rule"),
    [
        ({"kind": "radar", "false_alarms": {}}, "cannot know who is who"),
        ({"kind": "bearing", "order": "range"}, "cannot sort by range; valid: name, azimuth"),
        ({"kind": "relative", "order": "range", "false_alarms": {}}, "give one"),
        ({"kind": "radar", "occlusion": True}, "nothing to hide behind"),
        ({"kind": "radar", "targets": "oponents"}, "did you mean 'opponents'"),
        ({"kind": "radar", "targets": "teammates"}, "nobody to measure"),
        ({"kind": "camera", "max_range": 0.1}, "greater than target_radius"),
        ({"kind": "rader"}, "did you mean 'radar'"),
        ({"kind": "radar", "detection": {"probability": 1.5}}, "detection.probability"),
    ],
)
def test_what_makes_no_sense_is_refused(spec: dict[str, Any], rule: str) -> None:
    with pytest.raises(EngagementError, match=rule):
        file(pursuers=1, s=spec)
