"""Agents that meet: found at any speed, answered at once and alike for all."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pe_sim.worlds.base import World

from .kit import at, begun, drawn, made, speed_of, told

BALL = {"model": "double_integrator", "max_speed": 30, "max_acceleration": 5, "radius": 0.5}
WIDE = {"low": [-100, -100, -100], "high": [100, 100, 100], "edge": "bounce"}


def balls(*starts: dict[str, Any], kind: str = "bounce", **world: Any) -> World:
    """One ball per start, each in a role of its own."""
    roles = {f"b{i}": (BALL, 1, start) for i, start in enumerate(starts)}
    return begun(made(roles, arena=WIDE, collisions=kind, **world))


def coast(world: World, ticks: int) -> None:
    for _ in range(ticks):
        world.step(told(world, {}), None)


def velocity(world: World) -> Any:
    """Velocities [m/s; world] of balls, whose axes are the world's, (3, N)."""
    return np.array(world.state.block[7:10, :, 0])


def test_balls_that_meet_head_on_swap_their_velocities() -> None:
    world = balls(at(-5, 0, 0, 0.0, 4.0), at(5, 0, 0, math.pi, 2.0))
    coast(world, 250)
    assert velocity(world)[0] == pytest.approx([-2, 4], abs=1e-12)
    # They meet after 9 / 6 = 1.5 s at centres 1 and 2, and go on from there for 1 s.
    assert np.asarray(world.state.block[0, :, 0]) == pytest.approx([1 - 2, 2 + 4], abs=1e-9)


def test_an_oblique_impact_keeps_momentum_and_energy_and_turns_along_the_line_of_centres() -> None:
    world = balls(at(-5, 0.6, 0, 0.0, 6.0), at(0, 0, 0))
    before = velocity(world)
    coast(world, 200)
    after = velocity(world)
    assert after.sum(axis=1) == pytest.approx(before.sum(axis=1), abs=1e-12)
    assert (after**2).sum() == pytest.approx((before**2).sum(), rel=1e-12)
    # At the impact the centres are 1 m apart, 0.6 m across: the struck ball leaves along (0.8, -0.6).
    assert after[:, 1] == pytest.approx([6 * 0.8 * 0.8, -6 * 0.8 * 0.6, 0], abs=1e-9)
    assert after[:, 0] @ after[:, 1] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("kind", ["bounce", "crash"])
def test_no_speed_is_too_great_to_be_seen(kind: str) -> None:
    """At 25 m/s each and 2 Hz the balls would change places within a tick, far apart before and after."""
    world = balls(at(-12, 0, 0, 0.0, 25.0), at(12, 0, 0, math.pi, 25.0), kind=kind, tick=0.5)
    coast(world, 1)
    place = np.asarray(world.state.block[0, :, 0])
    if kind == "crash":
        assert np.asarray(world.failed).all()
        assert place == pytest.approx([-0.5, 0.5], abs=1e-9)
        assert not speed_of(world).any()
    else:
        assert velocity(world)[0] == pytest.approx([-25, 25])
        assert place == pytest.approx([-0.5 - 25 * 0.04, 0.5 + 25 * 0.04], abs=1e-9)


def test_points_and_agents_out_of_play_meet_nobody() -> None:
    point = {**BALL, "radius": 0}
    world = begun(made({"p": (point, 1, at(-1, 0, 0, 0.0, 5.0)), "e": (point, 1, at(1, 0, 0))}, collisions="crash"))
    coast(world, 100)
    assert not np.asarray(world.failed).any()
    world = balls(at(-2, 0, 0, 0.0, 5.0), at(2, 0, 0), kind="crash")
    for _ in range(100):
        world.step(told(world, {}), np.array([[True], [False]]))
    assert not np.asarray(world.failed).any()


def test_three_at_once_are_answered_from_the_same_moment() -> None:
    """A ball struck from both sides at one speed stays; each impact is reckoned as if it were the only one."""
    world = balls(at(-3, 0, 0, 0.0, 5.0), at(0, 0, 0), at(3, 0, 0, math.pi, 5.0))
    coast(world, 100)
    assert velocity(world) == pytest.approx(np.zeros((3, 3)), abs=1e-12)
    assert np.asarray(world.state.block[0, :, 0]) == pytest.approx([-1, 0, 1], abs=1e-12)


@settings(max_examples=12, deadline=None)
@given(st.permutations(range(5)), st.integers(0, 2**31), st.sampled_from(["bounce", "crash"]))
def test_the_order_of_the_agents_does_not_matter(order: list[int], seed: int, kind: str) -> None:
    random = np.random.default_rng(seed)
    starts = [
        at(3 * (i % 3) + random.uniform(-0.9, 0.9), 3 * (i // 3), 0, random.uniform(-3, 3), random.uniform(0, 9))
        for i in range(5)
    ]
    arena = {"low": [-4, -4, -1], "high": [10, 8, 1], "edge": "bounce"}

    def flown(numbers: list[int]) -> Any:
        roles = {f"b{i}": (BALL, 1, starts[i]) for i in numbers}
        world = begun(made(roles, arena=arena, collisions=kind))
        pushes = np.random.default_rng(seed)
        for _ in range(100):
            push = pushes.uniform(-5, 5, (5, 3))
            world.step(told(world, {f"b{i}": push[i].tolist() for i in numbers}), None)
        return np.asarray(world.state.block[:, :, 0]), None if world.failed is None else np.asarray(world.failed)

    plain, failed = flown([0, 1, 2, 3, 4])
    mixed, failed_too = flown(order)
    assert mixed == pytest.approx(plain[:, order], abs=1e-6)
    if failed is not None and failed_too is not None:
        assert np.array_equal(failed_too, failed[order])


def test_bodies_do_not_start_inside_one_another() -> None:
    crowd = {"model": "single_integrator", "max_speed": 1, "radius": 1.5}
    world = begun(made({"p": (crowd, 12, {}), "e": (crowd, 12, {})}, collisions="bounce"), batch=8)
    place = np.asarray(world.state.block[:3])
    apart = np.sqrt(((place[:, :, None] - place[:, None]) ** 2).sum(axis=0)) + 9 * np.eye(24)[:, :, None]
    assert apart.min() > 3.0


def test_bodies_that_push_at_one_another_do_not_pass_through() -> None:
    roles = {
        "p": ({"model": "single_integrator", "max_speed": 8, "radius": 0.5}, 1, at(-5, 0, 5)),
        "e": ({"model": "single_integrator", "max_speed": 5, "radius": 0.5}, 1, at(5, 0, 5)),
    }
    world = begun(made(roles, collisions="bounce"))
    for _ in range(400):
        world.step(told(world, {"p": [8.0, 0, 0, 0], "e": [-5.0, 0, 0, 0]}), None)
        x = np.asarray(world.state.block[0, :, 0])
        assert x[1] - x[0] >= 1.0 - 1e-9


def test_mixed_bodies_collide_without_getting_lost() -> None:
    roles = {
        "c": ({"model": "car", "max_speed": 8, "max_acceleration": 5, "wheelbase": 2, "radius": 1}, 4, {}),
        "m": ({"model": "multirotor", "max_speed": 8, "radius": 0.5}, 4, {}),
        "a": ({"model": "airplane", "min_speed": 5, "max_speed": 9, "max_turn_rate": 1, "radius": 1}, 3, {}),
    }
    arena = {"low": [-8, -8, 0], "high": [8, 8, 4], "edge": "clip"}
    world = begun(made(roles, collisions="bounce", arena=arena), batch=3)
    random = np.random.default_rng(0)
    height = np.array(world.state.block[2, :4])
    for _ in range(300):
        world.step(drawn(world, random), None)
        assert np.isfinite(np.asarray(world.state.block)).all()
        assert speed_of(world).max() <= 9.0 * (1 + 1e-6)
    assert np.array_equal(height, world.state.block[2, :4]), "cars keep their height whatever hits them"
