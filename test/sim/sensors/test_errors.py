"""Errors of values: white noise, bias, quantisation; angles wrap, bounded fields stay in bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pe_sim.errors import EngagementError
from pe_sim.state import State

from .scenes import Station, file, place, random_state

RADAR = {"range": 0.5, "azimuth": 0.02, "elevation": 0.03, "range_rate": 0.7}


def errors_of(sensor: dict[str, Any], batch: int = 4000, readings: int = 1, **more: Any) -> Any:
    """Errors of one agent's readings of a fixed scene, (readings, D, batch)."""
    noisy, clean = (
        Station(file(s=spec, **more), "s", batch) for spec in (sensor, {**sensor, "noise": {}})
    )
    one = place([[0, 0, 0], [0, 5, 0], [30, 10, 5], [25, -9, 3]])
    state = State(np.repeat(one.block, batch, axis=2))
    return np.asarray([
        noisy.take(state, k).values[:, 0].astype(float) - clean.take(state, k).values[:, 0] for k in range(readings)
    ])


def test_white_noise_has_its_deviation_and_no_mean() -> None:
    errors = errors_of({"kind": "radar", "noise": RADAR})[0]
    deviations = np.array(list(RADAR.values()) * 2)
    assert errors.std(axis=1) == pytest.approx(deviations, rel=0.06)
    assert np.abs(errors.mean(axis=1) / deviations).max() < 4.5 / math.sqrt(4000)


def test_errors_of_fields_targets_agents_and_readings_are_independent() -> None:
    one = errors_of({"kind": "radar", "noise": RADAR}, readings=2)
    rows = one.reshape(-1, 4000)
    correlation = np.corrcoef(rows) - np.eye(len(rows))
    assert np.abs(correlation).max() < 5.0 / math.sqrt(4000)
    station = Station(file(s={"kind": "radar", "noise": {"range": 1.0}}), "s", 4000)
    state = State(np.repeat(place([[0, 0, 0], [0, 0, 0], [30, 0, 0], [30, 0, 0]]).block, 4000, axis=2))
    values = station.take(state).values[0]
    assert abs(np.corrcoef(values)[0, 1]) < 5.0 / math.sqrt(4000)


def test_the_same_draw_for_the_same_reading_whatever_was_drawn_before() -> None:
    engagement, state = file(s={"kind": "radar", "noise": RADAR}), random_state(4, 1)
    one, other = Station(engagement, "s"), Station(engagement, "s")
    in_order = [one.take(state, k).values for k in range(80)]
    for k in (79, 3, 40, 41, 0):
        assert np.array_equal(other.take(state, k).values, in_order[k])


def test_a_bias_is_constant_within_an_episode_and_differs_between_them() -> None:
    errors = errors_of({"kind": "radar", "noise": {"range": {"bias": 0.5}}}, readings=3)
    assert np.array_equal(errors[0], errors[1])
    assert np.array_equal(errors[0], errors[2])
    assert errors[0][[0, 4]].std(axis=1) == pytest.approx([0.5, 0.5], rel=0.06)
    assert not errors[0][[1, 2, 3, 5, 6, 7]].any()


def test_resetting_some_rows_renews_their_bias_only() -> None:
    station = Station(file(s={"kind": "position", "noise": {"x": {"bias": 1.0, "white": 0.5}}}), "s", 4)
    state = random_state(4, 4)
    before = station.take(state, 7).values
    station.channel.reset(np.asarray([123]), np.asarray([2]))
    after = station.take(state, 7).values
    assert np.array_equal(before[..., [0, 1, 3]], after[..., [0, 1, 3]])
    assert (before[0, :, 2] != after[0, :, 2]).all()


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 1000), step=st.sampled_from([0.01, 0.25, 3.0]))
def test_quantised_values_are_multiples_of_the_step_next_to_the_truth(seed: int, step: float) -> None:
    state = random_state(4, 1, seed)
    values = Station(file(s={"kind": "position", "noise": {"x": {"quantisation": step}}}), "s").take(state).values
    truth = state.block[0:3, :2]
    multiples = values[0].astype(float) / step
    assert np.abs(multiples - np.round(multiples)).max() < 1e-3
    assert np.abs(values[0] - truth[0]).max() <= 0.5 * step * (1 + 1e-6) + 1e-5
    assert np.array_equal(values[1:], truth[1:].astype(np.float32))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 1000), white=st.sampled_from([0.1, 1.0, 50.0]), step=st.sampled_from([0.0, 0.3]))
def test_erroneous_values_are_finite_and_in_bounds(seed: int, white: float, step: float) -> None:
    noise = {"white": white, "quantisation": step, "bias": white}
    radar = dict.fromkeys(RADAR, noise)
    camera = dict.fromkeys(("u", "v", "size"), noise)
    engagement = file(radar={"kind": "radar", "noise": radar}, camera={"kind": "camera", "noise": camera})
    state = random_state(4, 16, seed)
    values = Station(engagement, "radar", 16).take(state).values.reshape(2, 4, 2, 16)
    assert np.isfinite(values).all()
    assert values[:, 0].min() >= 0.0
    assert np.abs(values[:, 1]).max() <= np.float32(math.pi)
    assert np.abs(values[:, 2]).max() <= np.float32(math.pi / 2)
    values = Station(engagement, "camera", 16).take(state).values.reshape(2, 3, 2, 16)
    assert np.abs(values[:, :2]).max() <= 1.0
    assert values[:, 2].min() >= 0.0


def test_an_azimuth_behind_wraps_with_its_error() -> None:
    station = Station(file(pursuers=1, evaders=1, s={"kind": "radar", "noise": {"azimuth": 0.1}}), "s", 500)
    state = State(np.repeat(place([[0, 0, 0], [-10, 0.01, 0]]).block, 500, axis=2))
    azimuth = station.take(state).values[1, 0].astype(float)
    assert (azimuth > 2.5).any()
    assert (azimuth < -2.5).any()
    away = np.where(azimuth > 0, azimuth - math.pi, azimuth + math.pi)
    assert away.std() == pytest.approx(0.1, rel=0.15)


def test_adding_an_agent_changes_nobody_elses_errors() -> None:
    sensor = {"kind": "radar", "targets": "opponents", "noise": RADAR}
    few, many = file(s=sensor), file(pursuers=3, s=sensor)
    state = random_state(4, 1)
    more = State(np.insert(state.block, 2, state.block[:, 0], axis=1))
    assert np.array_equal(Station(few, "s").take(state, 3).values, Station(many, "s").take(more, 3).values[:, :2])


@pytest.mark.parametrize(
    ("noise", "rule"),
    [
        ({"range": -1}, "must not be negative"), ({"rang": 1}, "did you mean 'range'"),
        ({"range": "1 s"}, "noise.range"),
        ({"azimuth": {"whit": 1}}, "did you mean 'white'"),
    ],
)
def test_noise_that_makes_no_sense_is_refused(noise: dict[str, Any], rule: str) -> None:
    with pytest.raises(EngagementError, match=rule):
        file(s={"kind": "radar", "noise": noise})


def test_units_are_understood() -> None:
    engagement = file(s={"kind": "radar", "noise": {"azimuth": "2 deg", "range": "30 cm"}})
    noise = engagement.roles["pursuer"].sensors["s"].noise
    assert noise["azimuth"].in_unit("rad")[0] == pytest.approx(math.radians(2.0))
    assert noise["range"].in_unit("m")[0] == pytest.approx(0.3)
