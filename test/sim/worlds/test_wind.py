"""Wind: where it carries whom, its statistics, and that it is each engagement's own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from pe_sim import streams
from pe_sim.actions import Mode
from pe_sim.arrays import namespace
from pe_sim.worlds.wind import Gusts, Wind, WindField

from .kit import LIMITS, at, begun, made, told

OPEN = {"low": [-1000, -1000, -500], "high": [1000, 1000, 500], "edge": "open"}
ROLLS = ("unicycle", "dubins_car", "car")


def keys(count: int, first: int = 0) -> Any:
    numbers = np.arange(first, first + count, dtype=np.int64)
    return streams.episode_keys(numbers * 0, numbers)


@pytest.mark.parametrize("model", LIMITS)
def test_a_constant_wind_carries_what_flies_and_not_what_rolls(model: str) -> None:
    start = at(0, 0, 0, 0.5, 6.0)
    still = begun(made({"p": (model, 1, start)}, arena=OPEN))
    windy = begun(made({"p": (model, 1, start)}, arena=OPEN, wind={"mean": [2, -1, 0.5]}))
    for world in (still, windy):
        for _ in range(200):
            world.step(told(world, {}, int(Mode.COAST)), None)
    drift = np.asarray(windy.state.block[:3, 0, 0]) - np.asarray(still.state.block[:3, 0, 0])
    carried = [0, 0, 0] if model in ROLLS else [4, -2, 1]
    assert drift == pytest.approx(carried, abs=1e-9)
    assert np.array_equal(windy.state.block[3:7, 0], still.state.block[3:7, 0]), "the heading is not blown round"


def test_the_state_shows_the_velocity_over_ground() -> None:
    roles = {"p": ("multirotor", 1, at(0, 0, 0, 0.8)), "e": ("airplane", 1, at(0, 9, 0, -0.4, 8.0))}
    world = begun(made(roles, arena=OPEN, wind={"mean": [3, 1, 0], "gusts": {"deviation": 1.0, "vertical": 0.5}}))
    for _ in range(50):
        before = np.array(world.state.pos[0])
        world.step(told(world, {"p": [4.0, 0, 1, 0.5], "e": [8.0, 0.3, 0.1]}), None)
        way = (np.array(world.state.pos[0]) - before) / 0.01
        for agent in range(2):
            q, v = world.state.quat[0, agent], world.state.vel[0, agent]
            turned = v + 2 * np.cross(q[:3], np.cross(q[:3], v) + q[3] * v)
            assert turned == pytest.approx(way[agent], abs=0.25), "to within the change of velocity in a tick"


def test_exposure_scales_the_wind_per_role() -> None:
    half = {"model": "single_integrator", "max_speed": 5, "wind": 0.5}
    full = {"model": "single_integrator", "max_speed": 5}
    roles = {"p": (half, 1, at(0, 0)), "e": (full, 1, at(0, 5))}
    world = begun(made(roles, arena=OPEN, wind={"mean": [2, 0, 0]}))
    for _ in range(100):
        world.step(told(world, {}), None)
    assert np.asarray(world.state.block[0, :, 0]) == pytest.approx([1, 2], abs=1e-9)


def test_gusts_have_the_deviation_and_the_memory_of_the_file() -> None:
    """4000 engagements: deviation within 4 standard errors, correlation exp(-t / time constant)."""
    gusts = Gusts(deviation=2.0, vertical=0.5, time_constant="0.5 s")  # type: ignore[arg-type]
    field = WindField(Wind(mean=(1.0, 2.0, 3.0), gusts=gusts), 3, 0.1, 4000, namespace())
    field.reset(keys(4000), None)
    wind = np.stack([field.blow() for _ in range(20)])
    gust = wind - np.array([1.0, 2.0, 3.0])[:, None]
    for axis, deviation in enumerate((2.0, 2.0, 0.5)):
        for tick in (0, 7, 19):
            assert gust[tick, axis].std() == pytest.approx(deviation, rel=4 / math.sqrt(2 * 4000))
            assert abs(gust[tick, axis].mean()) < 4 * deviation / math.sqrt(4000)
        for lag in (1, 5, 10):
            found = np.corrcoef(gust[2, axis], gust[2 + lag, axis])[0, 1]
            assert found == pytest.approx(math.exp(-0.1 * lag / 0.5), abs=4 / math.sqrt(4000))
    assert abs(np.corrcoef(gust[5, 0], gust[5, 1])[0, 1]) < 4 / math.sqrt(4000)


def test_gusts_never_exceed_the_greatest_speed_that_the_world_reckons_with() -> None:
    spec = Wind(mean=(1.0, 0.0, 0.0), gusts=Gusts(deviation=3.0, vertical=1.0, time_constant=10_000_000))
    field = WindField(spec, 3, 0.1, 3000, namespace())
    field.reset(keys(3000), None)
    fastest = max(float(np.sqrt((field.blow() ** 2).sum(axis=0)).max()) for _ in range(100))
    assert fastest <= spec.greatest
    assert fastest > 0.6 * spec.greatest


def test_a_row_has_its_own_wind_whatever_the_others_do() -> None:
    spec = Wind(gusts=Gusts(deviation=2.0))
    together = WindField(spec, 3, 0.01, 5, namespace())
    together.reset(keys(5), None)
    for _ in range(30):
        together.blow()
    together.reset(keys(2, 40), np.array([1, 3]))
    alone = WindField(spec, 3, 0.01, 1, namespace())
    alone.reset(keys(1, 41), None)
    never = WindField(spec, 3, 0.01, 1, namespace())
    never.reset(keys(1, 2), None)
    for _ in range(30):
        never.blow()
    for _ in range(30):
        wind = together.blow()
        assert np.array_equal(wind[:, 3:4], alone.blow())
        assert np.array_equal(wind[:, 2:3], never.blow())
    assert not np.array_equal(wind[:, 0], wind[:, 2])


def test_in_two_dimensions_no_wind_blows_up_or_down() -> None:
    wind = {"mean": [1, 1, 5], "gusts": {"deviation": 1, "vertical": 3}}
    world = begun(made({"p": "multirotor"}, dimensions=2, wind=wind))
    height = np.array(world.state.block[2])
    for _ in range(50):
        world.step(told(world, {}), None)
    assert np.array_equal(world.state.block[2], height)
    assert not np.asarray(world.state.block[9]).any()
