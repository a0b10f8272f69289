"""Motion against closed forms: what each model does under a constant command."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from pe_sim.actions import Mode
from pe_sim.arrays import to_euler
from pe_sim.errors import EngagementError
from pe_sim.worlds.base import World
from pe_sim.worlds.dynamics.multirotor import GRAVITY
from pe_sim.worlds.dynamics.turning import sinc_cos

from .kit import LIMITS, at, begun, drawn, made, speed_of, told

WIDE = {"low": [-1e5, -1e5, -1e5], "high": [1e5, 1e5, 1e5], "edge": "open"}


def one(dynamics: Any, start: dict[str, Any], **world: Any) -> World:
    """One agent of a model, begun at a start, in an arena without end."""
    return begun(made({"p": (dynamics, 1, start)}, arena=WIDE, **world))


def go(world: World, values: list[float], ticks: int, mode: int | None = None) -> Any:
    """Hold a command for some ticks; return the agent's state, (13,)."""
    commands = told(world, {"p": values}, mode)
    for _ in range(ticks):
        world.step(commands, None)
    return np.array(world.state.block[:, 0, 0])


def heading(state: Any) -> float:
    """Yaw of a state [rad]."""
    return float(to_euler(np, tuple(state[3:7]))[2])


def f32(value: float) -> float:
    """What a value becomes on its way through a command."""
    return float(np.float32(value))


def test_a_single_integrator_goes_where_it_is_told_at_once_and_no_faster_than_it_can() -> None:
    world = one({"model": "single_integrator", "max_speed": 5}, at(1, 2, 3))
    state = go(world, [3.0, -1.5, 0.5, 0.25], 200)
    assert state[:3] == pytest.approx([1 + 6, 2 - 3, 3 + 1], abs=1e-12)
    assert heading(state) == pytest.approx(0.5, abs=1e-12)
    state = go(world, [30.0, 0.0, 40.0, 0.0], 100)
    assert speed_of(world)[0, 0] == pytest.approx(5.0, rel=1e-14)
    assert state[:3] == pytest.approx([7 + 3, -1, 4 + 4], abs=1e-12)


def test_a_double_integrator_under_constant_acceleration_is_a_parabola_up_to_its_top_speed() -> None:
    world = one({"model": "double_integrator", "max_speed": 40, "max_acceleration": 5}, at(0, 0, 0, 0.0, 2.0))
    state = go(world, [1.5, -2.0, 0.5], 300)
    assert state[:3] == pytest.approx([2 * 3 + 0.75 * 9, -9.0, 0.25 * 9], rel=1e-12)
    assert state[7:10] == pytest.approx([2 + 4.5, -6.0, 1.5], rel=1e-12)
    go(world, [3.0, -4.0, 0.0], 3000)
    assert speed_of(world)[0, 0] == pytest.approx(40.0, rel=1e-12)


@pytest.mark.parametrize("model", ["double_integrator", "car", "unicycle"])
def test_stopping_takes_the_braking_distance(model: str) -> None:
    limits = {"max_speed": 10, "max_acceleration": 4}
    more = {"car": {"wheelbase": 2}, "unicycle": {"max_turn_rate": 1}}.get(model, {})
    world = one({"model": model, **limits, **more}, at(0, 0, 0, 0.0, 10.0))
    size = world.action_spec("p").size
    states = [go(world, [0.0] * size, 1, int(Mode.STOP)) for _ in range(260)]
    moving = sum(abs(state[7]) > 1e-12 for state in states)
    assert moving == 249, "v / a = 2.5 s, of which the last tick ends at rest"
    assert states[-1][0] == pytest.approx(10.0**2 / (2 * 4), rel=1e-9)
    assert states[-1][1] == 0.0


@pytest.mark.parametrize(("rate", "tick"), [(0.8, 0.01), (-2.5, 0.1), (30.0, 0.1)])
@pytest.mark.parametrize("model", ["unicycle", "dubins_car"])
def test_a_constant_turn_rate_is_a_circle_of_radius_speed_over_rate(model: str, rate: float, tick: float) -> None:
    speed = 6.0
    dynamics = {
        "unicycle": {"model": model, "max_speed": speed, "max_turn_rate": 40},
        "dubins_car": {"model": model, "speed": speed, "max_turn_rate": 40},
    }[model]
    world = one(dynamics, at(3, 4, 0, 0.7, speed), tick=tick)
    values = [speed, rate] if model == "unicycle" else [rate]
    radius = speed / f32(rate)
    center = np.array([3 - radius * math.sin(0.7), 4 + radius * math.cos(0.7)])
    for count in range(1, 60):
        state = go(world, values, 1)
        assert np.hypot(*(state[:2] - center)) == pytest.approx(abs(radius), rel=1e-12)
        expected = 0.7 + f32(rate) * tick * count
        assert math.cos(heading(state) - expected) == pytest.approx(1.0, abs=1e-13)
        assert state[7:10] == pytest.approx([speed, 0, 0])
        assert state[12] == f32(rate)


def test_a_car_turns_by_its_wheelbase_and_steering_angle() -> None:
    wheelbase, steering, speed = 2.5, 0.3, 7.0
    dynamics = {
        "model": "car", "max_speed": 9, "min_speed": -3, "max_acceleration": 3, "wheelbase": wheelbase,
        "max_steering": 0.6,
    }
    world = one(dynamics, at(0, 0, 0, 0.0, speed))
    radius = wheelbase / math.tan(f32(steering))
    for count in range(1, 200):
        state = go(world, [0.0, steering], 1)
        assert np.hypot(state[0], state[1] - radius) == pytest.approx(radius, rel=1e-12)
        assert heading(state) == pytest.approx(math.remainder(speed / radius * 0.01 * count, 2 * math.pi), abs=1e-9)
    # Accelerating on the circle covers s = v t + a t^2 / 2 of it, exactly.
    before = heading(state)
    state = go(world, [2.0, steering], 50)
    turned = math.remainder(heading(state) - before, 2 * math.pi)
    assert turned == pytest.approx(math.remainder((speed * 0.5 + 0.25) / radius, 2 * math.pi), abs=1e-9)
    assert np.hypot(state[0], state[1] - radius) == pytest.approx(radius, rel=1e-12)


def test_a_car_swings_its_wheels_no_faster_than_it_can_and_reverses_within_its_limits() -> None:
    dynamics = {
        "model": "car", "max_speed": 9, "min_speed": -2, "max_acceleration": 4, "wheelbase": 2, "max_steering_rate": 0.5
    }
    world = one(dynamics, at(0, 0, 0, 0.0, 5.0))
    for count in range(1, 41):
        state = go(world, [0.0, 0.2], 1)
        assert state[12] == pytest.approx(5.0 * math.tan(min(f32(0.2), 0.005 * count)) / 2, rel=1e-9)
    state = go(world, [-4.0, 0.0], 400)
    assert state[7] == pytest.approx(-2.0)
    x, y = state[0], state[1]
    state = go(world, [-4.0, 0.0], 100)
    assert np.hypot(state[0] - x, state[1] - y) == pytest.approx(2.0, rel=1e-9)


def test_the_speed_limit_cuts_an_acceleration_within_the_tick() -> None:
    """From 9 to 10 m/s at 4 m/s^2 takes 0.25 s of a 1 s tick: 2.375 m, then 7.5 m at full speed."""
    dynamics = {"model": "car", "max_speed": 10, "max_acceleration": 4, "wheelbase": 2}
    world = one(dynamics, at(0, 0, 0, 0.0, 9.0), tick=1)
    state = go(world, [4.0, 0.0], 1)
    assert state[0] == pytest.approx(9.875, rel=1e-12)
    assert state[7] == 10.0


def test_a_multirotor_answers_a_step_with_its_first_order_lag() -> None:
    tau = 0.4
    world = one({"model": "multirotor", "max_speed": 20, "time_constant": tau}, at(0, 0, 0, 0.0, 3.0))
    command = np.array([5.0, 2.0, -1.0])
    start = np.array([3.0, 0.0, 0.0])
    for count in range(1, 150):
        state = go(world, [*command, 0.0], 1)
        t = 0.01 * count
        decay = math.exp(-t / tau)
        assert state[7:10] == pytest.approx(command + (start - command) * decay, rel=1e-12, abs=1e-12)
        assert state[:3] == pytest.approx(command * t + (start - command) * tau * (1 - decay), rel=1e-11, abs=1e-12)


def test_a_multirotor_is_limited_by_tilt_sideways_and_by_acceleration_in_all() -> None:
    tilt = math.radians(20)
    world = one(
        {"model": "multirotor", "max_speed": 50, "time_constant": 0.001, "max_tilt": tilt, "max_acceleration": 6},
        at(0, 0, 0),
    )
    before = go(world, [0.0, 0.0, 0.0, 0.0], 1)
    state = go(world, [40.0, 0.0, 0.0, 0.0], 1)
    assert (state[7] - before[7]) / 0.01 == pytest.approx(GRAVITY * math.tan(tilt), rel=1e-12)
    world = one({"model": "multirotor", "max_speed": 50, "time_constant": 0.001, "max_acceleration": 6}, at(0, 0, 0))
    state = go(world, [30.0, 0.0, 40.0, 0.0], 1)
    assert state[7:10] / 0.01 == pytest.approx([6 * 0.6, 0, 6 * 0.8], rel=1e-6)


def test_a_multirotor_never_exceeds_its_speed_though_tilt_and_climb_are_limited_apart() -> None:
    limits = {"model": "multirotor", "max_speed": 10, "time_constant": 0.05, "max_tilt": 0.1}
    world = one(limits, at(0, 0, 0, 0.0, 10.0))
    for _ in range(100):
        go(world, [0.0, 0.0, 10.0, 0.0], 1)
        assert speed_of(world)[0, 0] <= 10.0 * (1 + 1e-12)


def test_a_multirotor_keeps_its_velocity_over_ground_while_it_yaws() -> None:
    world = one({"model": "multirotor", "max_speed": 10, "max_yaw_rate": 3}, at(0, 0, 0, 0.4, 6.0))
    way = np.array([6 * math.cos(0.4), 6 * math.sin(0.4)])
    state = go(world, [*way, 0.0, 2.0], 100)
    assert heading(state) == pytest.approx(2.4, abs=1e-12)
    assert state[:2] == pytest.approx(way, rel=1e-6)
    turned = way @ np.array([[math.cos(2.4), -math.sin(2.4)], [math.sin(2.4), math.cos(2.4)]])
    assert state[7:9] == pytest.approx(turned, rel=1e-6)


def test_an_airplane_flies_a_helix_points_along_it_and_banks_as_its_turn_asks() -> None:
    speed, rate, climb = 20.0, 0.25, 0.3
    dynamics = {
        "model": "airplane", "min_speed": 10, "max_speed": 30, "max_turn_rate": 0.5, "max_climb_angle": 0.6,
        "max_pitch_rate": 1e6,
    }
    world = one(dynamics, at(0, 0, 100, 0.0, speed))
    level = speed * math.cos(f32(climb))
    radius = level / f32(rate)
    for count in range(1, 100):
        state = go(world, [speed, rate, climb], 1)
        assert np.hypot(state[0], state[1] - radius) == pytest.approx(radius, rel=1e-12)
        assert state[2] == pytest.approx(100 + speed * math.sin(f32(climb)) * 0.01 * count, rel=1e-12)
        roll, pitch, yaw = to_euler(np, tuple(state[3:7]))
        assert yaw == pytest.approx(f32(rate) * 0.01 * count, abs=1e-12)
        assert pitch == pytest.approx(-f32(climb), abs=1e-12)
        assert roll == pytest.approx(-math.atan(level * f32(rate) / GRAVITY), abs=1e-12)
        assert state[7:10] == pytest.approx([speed, 0, 0], abs=1e-12)
        # Turning about the vertical at ``rate`` and nothing else: its length is the rate, whatever the attitude.
        if count > 1:
            assert np.linalg.norm(state[10:13]) == pytest.approx(f32(rate), rel=1e-12)


def test_an_airplane_changes_its_climb_no_faster_than_it_can_pitch() -> None:
    limits = {"model": "airplane", "min_speed": 10, "max_speed": 10, "max_turn_rate": 0.5, "max_pitch_rate": 0.2}
    world = one(limits, at(0, 0, 0))
    for count in range(1, 50):
        state = go(world, [10.0, 0.0, 0.1], 1)
        assert to_euler(np, tuple(state[3:7]))[1] == pytest.approx(-min(0.002 * count, f32(0.1)), abs=1e-12)
        assert state[11] == pytest.approx(-0.2 if 0.002 * count < 0.1 else 0.0, abs=1e-6)


@pytest.mark.parametrize("model", ["dubins_car", "airplane"])
def test_what_cannot_stop_circles_on_the_spot(model: str) -> None:
    world = one(model, at(0, 0, 0))
    size = world.action_spec("p").size
    places = np.stack([go(world, [0.0] * size, 1, int(Mode.STOP))[:2] for _ in range(2000)])
    limits = LIMITS[model]
    radius = limits.get("speed", limits.get("min_speed")) / limits["max_turn_rate"]
    spread = np.ptp(places[-1000:], axis=0)
    assert spread == pytest.approx([2 * radius, 2 * radius], rel=1e-3)


@pytest.mark.parametrize("model", LIMITS)
def test_coasting_goes_straight_on_at_the_same_speed(model: str) -> None:
    world = one(model, at(0, 0, 0, 0.6, 6.0))
    random = np.random.default_rng(3)
    for _ in range(40):
        world.step(drawn(world, random), None)
    size = world.action_spec("p").size
    go(world, [1.0] * size, 100, int(Mode.COAST))  # wheels and climb come back to straight first
    first = go(world, [1.0] * size, 1, int(Mode.COAST))
    second = go(world, [1.0] * size, 50, int(Mode.COAST))
    third = go(world, [1.0] * size, 50, int(Mode.COAST))
    assert np.linalg.norm(second[7:10]) == pytest.approx(np.linalg.norm(first[7:10]), abs=1e-12)
    assert third[:3] - second[:3] == pytest.approx(second[:3] - first[:3], abs=1e-9)
    assert np.linalg.norm(first[7:10]) > 0.1


@pytest.mark.parametrize("model", LIMITS)
def test_the_velocity_in_the_state_is_the_way_gone(model: str) -> None:
    """Position differences over a short tick agree with the body velocity turned into the world."""
    world = begun(made({"p": (model, 1, at(0, 0, 0, 0.3, 5.0))}, arena=WIDE, tick=1e-4))
    random = np.random.default_rng(5)
    commands = drawn(world, random)
    for tick in range(400):
        if tick % 100 == 0:
            commands = drawn(world, random)
        before = np.array(world.state.block[:3, 0, 0])
        world.step(commands, None)
        pos, quat, vel = world.state.pos[0, 0], world.state.quat[0, 0], world.state.vel[0, 0]
        turned = _turn(quat, vel)
        rough = 1e-2 if model in ("single_integrator", "unicycle", "airplane") else 5e-3
        assert (pos - before) / 1e-4 == pytest.approx(turned, abs=rough)


def _turn(q: Any, v: Any) -> Any:
    u, w = q[:3], q[3]
    return v + 2 * np.cross(u, np.cross(u, v) + w * v)


@pytest.mark.parametrize(
    ("model", "dimensions"), [(model, n) for model in LIMITS for n in (2, 3) if (model, n) != ("airplane", 2)]
)
def test_roles_moved_together_move_as_each_alone(model: str, dimensions: int) -> None:
    """Neighbouring roles of one model share their array operations, whatever their limits."""
    slow = {"model": model, **LIMITS[model]}
    key = "speed" if model == "dubins_car" else "max_speed"
    fast = {**slow, key: 12, "radius": 0.25}
    both = begun(made({"a": (slow, 2, {}), "b": (fast, 2, {})}, dimensions=dimensions), batch=3)
    other = "double_integrator" if model == "single_integrator" else "single_integrator"
    apart = begun(made({"a": (slow, 2, {}), "x": other, "b": (fast, 2, {})}, dimensions=dimensions), batch=3)
    random = np.random.default_rng(0)
    for _ in range(60):
        commands = drawn(apart, random)
        apart.step(commands, None)
        both.step({role: commands[role] for role in "ab"}, None)
    assert np.array_equal(np.asarray(both.state.block), np.delete(np.asarray(apart.state.block), 2, axis=1))


def test_in_two_dimensions_the_height_never_changes() -> None:
    arena = {"low": [-20, -20, 3], "high": [20, 20, 5], "edge": "bounce"}
    roles = {f"{model}s": (model, 2, {}) for model in LIMITS if model != "airplane"}
    world = begun(made(roles, dimensions=2, arena=arena), batch=2)
    random = np.random.default_rng(0)
    height = np.array(world.state.block[2])
    for _ in range(200):
        world.step(drawn(world, random), None)
    assert np.array_equal(height, world.state.block[2])
    assert not np.any(np.asarray(world.state.block[9]))
    assert world.action_spec("multirotors").names == ("x", "y", "yaw_rate")
    assert world.action_spec("double_integrators").names == ("x", "y")


def test_an_airplane_in_two_dimensions_is_refused_with_what_to_use_instead() -> None:
    with pytest.raises(EngagementError, match="dubins_car or unicycle"):
        made({"p": "airplane"}, dimensions=2)


def test_a_start_faster_than_the_dynamics_is_refused() -> None:
    with pytest.raises(EngagementError, match=r"roles.p.start.speed: 11.0 m/s is more .* 9.0 m/s"):
        made({"p": ("multirotor", 1, {"speed": [0, 11]})})


@pytest.mark.parametrize("greatest", [1e-4, 0.01, 0.1, 0.5, 3.0])
def test_series_of_sine_and_cosine_show_every_digit(greatest: float) -> None:
    x = np.linspace(-greatest, greatest, 2001)
    sinc, cosine = sinc_cos(np, x, greatest)
    assert np.abs(sinc * x - np.sin(x)).max() <= 2e-16 * max(1.0, greatest)
    assert np.abs(cosine - np.cos(x)).max() <= 2.3e-16


def test_a_car_agrees_with_its_differential_equation() -> None:
    """Integrated by small Runge-Kutta steps: x' = v cos, y' = v sin, heading' = v tan(steering) / L, v' = a."""
    world = one(
        {"model": "car", "max_speed": 30, "max_acceleration": 3, "wheelbase": 2.7}, at(0, 0, 0, 0.2, 4.0), tick=0.05
    )
    state = go(world, [1.5, 0.25], 60)

    def flow(s: Any) -> Any:
        turn = s[3] * math.tan(f32(0.25)) / 2.7
        return np.array([s[3] * math.cos(s[2]), s[3] * math.sin(s[2]), turn, 1.5])

    expected, h = np.array([0.0, 0.0, 0.2, 4.0]), 1e-3
    for _ in range(3000):
        k1 = flow(expected)
        k2 = flow(expected + h / 2 * k1)
        k3 = flow(expected + h / 2 * k2)
        expected = expected + h / 6 * (k1 + 2 * k2 + 2 * k3 + flow(expected + h * k3))
    assert state[:2] == pytest.approx(expected[:2], abs=1e-8)
    assert state[7] == pytest.approx(expected[3], rel=1e-12)
