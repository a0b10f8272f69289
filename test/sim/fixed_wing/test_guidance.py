"""Guidance in the air: who intercepts when, and what each evader does."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pe_sim.arrays import rotate
from pe_sim.engagement import parse
from pe_sim.errors import ContractError
from pe_sim.evaluation.rollout import Rollout

from .flying import duel, role

GUIDED = {"model": "aircraft", "type": "f16", "lateral": "bank", "vertical": "load_factor", "action": "guidance"}
RADIUS = 60.0


def chase(
    hunter, prey, *, speed=300.0, dynamics=None, hunter_more=None, prey_more=None, prey_at=(6000, -4000, 5500),
    radius=RADIUS,
):
    """A hunter from the origin, eastbound, against a prey that crosses northbound at 200 m/s."""
    pursuer = role("pursuers", policy={"use": f"guidance/{hunter}", "rate": 20}, dynamics=dynamics or GUIDED)
    pursuer["policy"]["parameters"] = {"airspeed": speed} | (hunter_more or {})
    pursuer["start"]["speed"] = [240.0, 240.0]
    evader = role("evaders", policy={"use": f"guidance/{prey}", "rate": 20}, dynamics=GUIDED)
    evader["policy"]["parameters"] = {"airspeed": 200.0} | (prey_more or {})
    evader["start"] |= {"points": [list(prey_at)], "heading": [math.pi / 2, math.pi / 2], "speed": [200.0, 200.0]}
    rules = {"capture": {"radius": radius, "swept": True}, "time_limit": 150}
    return parse(duel(pursuer, evader, rules=rules))


def flown(engagement, seconds=None):
    """Run an episode; return its result and the trajectory (T, 13, N)."""
    runner = Rollout(engagement)
    states = []
    advance = runner.simulation.advance

    def watched(commands):
        states.append(runner.simulation.state.block[:, :, 0].copy())
        if seconds is not None and len(states) * 0.05 > seconds:
            runner.simulation.running[:] = False
        return advance(commands)

    runner.simulation.advance = watched
    result = runner.run([1], [0])[0]
    return result, np.asarray(states)


def world_velocity(states, agent):
    block = states[:, :, agent].T
    return np.asarray(rotate(tuple(block[3:7]), tuple(block[7:10]))).T


def test_navigation_beats_pure_pursuit_against_a_crossing_target():
    navigation = Rollout(chase("air_navigation", "air_straight")).run([1], [0])[0]
    pure = Rollout(chase("air_pursuit", "air_straight")).run([1], [0])[0]
    assert navigation.outcome == pure.outcome == "capture"
    assert navigation.duration < 0.8 * pure.duration


@pytest.mark.parametrize("prey_at", [(6000, -4000, 5500), (5000, 1000, 4500), (3000, -6000, 6500)])
def test_navigation_without_lag_misses_a_straight_flier_by_less_than_the_capture_radius(prey_at):
    result, states = flown(chase("air_navigation", "air_straight", prey_at=prey_at))
    assert result.outcome == "capture"
    distance = np.linalg.norm(states[:, :3, 0] - states[:, :3, 1], axis=1)
    assert (np.diff(distance[100:]) < 0.0).all(), "it was not the first pass"


def test_the_same_law_for_every_vehicle_flies_aircraft_too():
    engagement = chase("air_pursuit", "air_straight")
    data = engagement.resolved()
    data["roles"]["pursuer"]["policy"] |= {"use": "guidance/proportional_navigation", "parameters": {"gain": 4.0}}
    result = Rollout(parse(data)).run([1], [0])[0]
    assert result.outcome == "capture"


@pytest.mark.parametrize("mode", ["lead", "lag"])
def test_lead_and_lag_pursuit_point_ahead_and_behind(mode):
    _, states = flown(chase("air_pursuit", "air_straight", hunter_more={"mode": mode}), 9.0)
    velocity = world_velocity(states, 0)[-1]
    sight = states[-1, :3, 1] - states[-1, :3, 0]
    target = world_velocity(states, 1)[-1]
    # Seen from above: the target goes to the left, lead turns left of the line of sight, lag to its right.
    side = sight[0] * velocity[1] - sight[1] * velocity[0]
    assert (sight[0] * target[1] - sight[1] * target[0]) > 0.0
    assert (side > 0.0) == (mode == "lead")


@pytest.mark.parametrize(
    ("lateral", "vertical"), [("heading", "altitude"), ("heading", "climb"), ("bank", "climb"), ("bank", "altitude")]
)
def test_pursuit_works_through_every_kind_of_command(lateral, vertical):
    dynamics = GUIDED | {"lateral": lateral, "vertical": vertical}
    result = Rollout(chase("air_pursuit", "air_straight", dynamics=dynamics, radius=2500.0)).run([1], [0])[0]
    assert result.outcome == "capture"
    assert result.duration < 90.0


def test_straight_keeps_course_and_height():
    _, states = flown(chase("air_straight", "air_straight"), 20.0)
    velocity = world_velocity(states, 1)
    assert abs(math.degrees(math.atan2(velocity[-1, 1], velocity[-1, 0])) - 90.0) < 0.5
    assert abs(states[-1, 2, 1] - states[0, 2, 1]) < 30.0


def test_beam_turns_square_to_the_line_of_sight():
    _, states = flown(chase("air_straight", "air_beam", prey_at=(8000, 500, 5000)), 20.0)
    sight = states[-1, :2, 0] - states[-1, :2, 1]
    velocity = world_velocity(states, 1)[-1, :2]
    angle = math.degrees(math.acos(sight @ velocity / np.linalg.norm(sight) / np.linalg.norm(velocity)))
    assert angle == pytest.approx(90.0, abs=12.0)


def test_break_waits_until_the_opponent_is_near_then_turns_hard_towards_it():
    engagement = chase(
        "air_pursuit", "air_break", prey_more={"within": 2500.0, "load_factor": 5.0}, prey_at=(5000, -1500, 5000)
    )
    _, states = flown(engagement, 25.0)
    distance = np.linalg.norm(states[:, :3, 0] - states[:, :3, 1], axis=1)
    rate = np.abs(states[:, 11, 1])
    near = int(np.argmax(distance < 2500.0))
    assert near > 20
    assert rate[:near].max() < 0.05
    assert rate[near : near + 100].max() > 0.12


def test_jink_is_reproducible_and_changes_with_the_episode():
    engagement = chase("air_straight", "air_jink", prey_more={"every": 2.0})
    first, again, other = (flown_episode(engagement, episode) for episode in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    rolls = np.abs(first[:, 10, 1])
    assert rolls.max() > 0.5


def flown_episode(engagement, episode):
    runner = Rollout(engagement)
    simulation = runner.simulation
    simulation.reset(np.asarray([1]), np.asarray([episode]))
    for policy in runner.policies.values():
        policy.reset(simulation.roots, None)
    from pe_sim.evaluation.rollout import decide

    states = []
    for _ in range(200):
        simulation.sense()
        decide(simulation, runner.policies)
        simulation.advance()
        states.append(simulation.state.block[:, :, 0].copy())
    return np.asarray(states)


def test_weave_swings_about_its_course():
    _, states = flown(chase("air_straight", "air_weave", prey_more={"period": 20.0, "amplitude": 0.5}), 40.0)
    velocity = world_velocity(states, 1)[200:]
    course = np.arctan2(velocity[:, 1], velocity[:, 0]) - math.pi / 2
    assert course.max() > 0.3
    assert course.min() < -0.3
    assert abs(course.mean()) < 0.15


@pytest.mark.parametrize("hunter", ["air_pursuit", "air_navigation"])
def test_recovery_keeps_above_the_floor_whatever_the_law_wants(hunter):
    engagement = chase(hunter, "air_straight", hunter_more={"floor": 3000.0}, prey_at=(4000, -2000, 900))
    _, states = flown(engagement, 40.0)
    assert states[:, 2, 0].min() > 2900.0
    without = chase(hunter, "air_straight", prey_at=(4000, -2000, 900))
    _, states = flown(without, 40.0)
    assert states[:, 2, 0].min() < 2500.0


def test_a_law_says_which_sensor_it_misses():
    data = chase("air_pursuit", "air_straight").resolved()
    del data["roles"]["pursuer"]["sensors"]["tracker"]
    with pytest.raises(ContractError, match="needs to know direction, range"):
        Rollout(parse(data))
    data = chase("air_pursuit", "air_straight", hunter_more={"floor": 500.0}).resolved()
    del data["roles"]["pursuer"]["sensors"]["position"]
    with pytest.raises(ContractError, match="air_data or position"):
        Rollout(parse(data))


def test_a_law_of_guidance_does_not_move_surfaces():
    data = chase("air_pursuit", "air_straight").resolved()
    data["roles"]["pursuer"]["dynamics"]["action"] = "surfaces"
    with pytest.raises(ContractError):
        Rollout(parse(data))
