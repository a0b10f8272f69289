"""Air combat: geometry by hand, guns and hit points, who has won, and rewards made of it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pe_sim.air_combat import CombatSpec, Guns, GunSpec, geometry, specific_energy
from pe_sim.arrays import from_yaw, namespace
from pe_sim.engagement import parse
from pe_sim.errors import EngagementError
from pe_sim.rewards import RewardSpec, RewardTerm
from pe_sim.rules import OUTCOMES, Rules, RulesSpec
from pe_sim.state import State

from .flying import duel, role

XP = namespace()


def state_of(*agents):
    """Agents as (x, y, z, yaw, speed)."""
    state = State.zeros(XP, len(agents), 1)
    for i, (x, y, z, yaw, speed) in enumerate(agents):
        state.block[:3, i, 0] = (x, y, z)
        state.block[3:7, i, 0] = [float(part) for part in from_yaw(XP, np.asarray(yaw))]
        state.block[7, i, 0] = speed
    return state


def pair(own, other):
    state = state_of(own, other)
    return geometry(XP, state.agents(0, 1), state.agents(1, 2))


def test_head_on():
    seen = pair((0, 0, 5000, 0.0, 200), (1000, 0, 5000, math.pi, 250))
    assert seen.range[0, 0] == 1000.0
    assert seen.closing_speed[0, 0] == pytest.approx(450.0)
    assert seen.antenna_train[0, 0] == pytest.approx(0.0, abs=1e-12)
    assert seen.aspect[0, 0] == pytest.approx(math.pi)
    assert seen.heading_crossing[0, 0] == pytest.approx(math.pi)
    assert seen.sight_rate[0, 0] == pytest.approx(0.0, abs=1e-12)


def test_right_behind():
    seen = pair((0, 0, 5000, 0.5, 200), (600 * math.cos(0.5), 600 * math.sin(0.5), 5000, 0.5, 150))
    assert seen.closing_speed[0, 0] == pytest.approx(50.0)
    for angle in (seen.antenna_train, seen.aspect, seen.heading_crossing):
        assert angle[0, 0] == pytest.approx(0.0, abs=1e-9)


def test_crossing_at_a_right_angle():
    seen = pair((0, 0, 0, 0.0, 200), (1000, 0, 0, math.pi / 2, 100))
    assert seen.closing_speed[0, 0] == pytest.approx(200.0)
    assert seen.sight_rate[0, 0] == pytest.approx(0.1)  # 100 m/s across, 1,000 m away
    assert seen.aspect[0, 0] == pytest.approx(math.pi / 2)
    assert seen.heading_crossing[0, 0] == pytest.approx(math.pi / 2)


def test_specific_energy_is_height_plus_kinetic_height():
    assert specific_energy(state_of((0, 0, 5000, 0, 200)).agents(0, 1))[0, 0] == pytest.approx(5000 + 4e4 / 19.6133)


coordinates = st.floats(-5000.0, 5000.0)
vehicles = st.tuples(coordinates, coordinates, coordinates, st.floats(-3.1, 3.1), st.floats(1.0, 400.0))


@given(own=vehicles, other=vehicles)
def test_geometry_obeys_its_symmetries(own, other):
    there, back = pair(own, other), pair(other, own)
    assert there.range == back.range
    assert there.closing_speed[0, 0] == pytest.approx(back.closing_speed[0, 0], abs=1e-6)
    assert there.heading_crossing[0, 0] == pytest.approx(back.heading_crossing[0, 0], abs=1e-9)
    if there.range[0, 0] > 1.0:  # my aspect on you is the supplement of your antenna train angle on me
        assert there.aspect[0, 0] == pytest.approx(math.pi - back.antenna_train[0, 0], abs=1e-6)


GUN = GunSpec(min_range=100.0, max_range=900.0, angle=0.1, damage=1.0, hit_points=2.0)


@pytest.mark.parametrize(
    ("x", "y", "inside"),
    [
        (500, 0, True), (99, 0, False), (901, 0, False), (500, 49, True), (500, 51, False), (-500, 0, False),
        (100, 0, True),
    ],
)
def test_the_zone_is_a_cone_between_two_ranges(x, y, inside):
    guns = Guns(GUN, ([0], [1]), 2, 0.05, XP)
    zone, distance = guns.zone(state_of((0, 0, 0, 0.0, 200), (x, y, 0, 0.0, 200)), [0], [1])
    assert bool(zone[0, 0, 0]) is inside
    assert distance[0, 0, 0] == pytest.approx(math.hypot(x, y))


def rules(teams=("pursuers", "evaders"), gun=GUN, **more):
    spec = RulesSpec(combat=CombatSpec(gun=gun), time_limit=3600.0, **more)
    return Rules(spec, teams, 72_000, XP, tick=50_000_000)


def judged(judge, state, ticks, failed=None):
    """Judge the same state tick after tick until the end; return verdict and ticks taken."""
    alive = np.ones((state.block.shape[1], 1), bool)
    judge.reset(state, None)
    for tick in range(1, ticks + 1):
        verdict = judge.judge(state, alive, np.asarray([tick]), failed)
        alive = verdict.alive
        if verdict.terminated[0]:
            break
    return verdict, tick


def outcome(verdict):
    return OUTCOMES[int(verdict.outcome[0])]


def test_hit_points_run_out_after_their_time_in_the_zone():
    behind = state_of((0, 0, 0, 0.0, 200), (500, 0, 0, 0.0, 200))
    verdict, tick = judged(rules(), behind, 100)
    assert (outcome(verdict), tick) == ("pursuers_win", 40)  # 2 hit points at 1 per second, 20 ticks a second
    assert verdict.alive[:, 0].tolist() == [True, False]


def test_the_evader_shoots_too_unless_told_otherwise():
    in_front = state_of((500, 0, 0, 0.0, 200), (0, 0, 0, 0.0, 200))
    assert outcome(judged(rules(), in_front, 100)[0]) == "evaders_win"
    one_sided = GUN.model_copy(update={"teams": "pursuers"})
    assert outcome(judged(rules(gun=one_sided), in_front, 100)[0]) == ""


def test_head_on_both_are_lost_at_once():
    head_on = state_of((0, 0, 0, 0.0, 200), (500, 0, 0, math.pi, 200))
    verdict, tick = judged(rules(), head_on, 100)
    assert (outcome(verdict), tick) == ("mutual_loss", 40)


def test_two_guns_on_one_take_half_the_time_and_each_fires_at_the_nearest():
    teams = ("pursuers", "pursuers", "evaders", "evaders")
    state = state_of((0, 0, 0, 0, 200), (0, 20, 0, 0, 200), (500, 10, 0, 0, 200), (800, 10, 0, 0, 200))
    judge = rules(teams)
    alive = np.ones((4, 1), bool)
    judge.reset(state, None)
    for tick in range(1, 200):
        verdict = judge.judge(state, alive, np.asarray([tick]), None)
        if alive[2, 0] and not verdict.alive[2, 0]:
            assert tick == 20
            assert verdict.alive[3, 0]
        alive = verdict.alive
        if verdict.terminated[0]:
            break
    assert (outcome(verdict), tick) == ("pursuers_win", 40)


def test_with_rules_of_combat_a_crash_loses_too():
    apart = state_of((0, 0, 0, 0.0, 200), (5000, 0, 0, 0.0, 200))
    assert outcome(judged(rules(), apart, 3, np.asarray([[True], [False]]))[0]) == "evaders_win"
    assert outcome(judged(rules(), apart, 3, np.asarray([[True], [True]]))[0]) == "mutual_loss"
    assert outcome(judged(rules(gun=None), apart, 3, np.asarray([[False], [True]]))[0]) == "pursuers_win"


def test_capture_and_timeout_keep_their_names():
    close = state_of((0, 0, 0, 0.0, 200), (0.5, 0, 0, 0.0, 200))
    assert outcome(judged(rules(), close, 3)[0]) == "capture"
    apart = state_of((0, 0, 0, 0.0, 200), (5000, 0, 0, 0.0, 200))
    spec = RulesSpec(combat=CombatSpec(), time_limit=0.5)
    verdict, tick = judged(Rules(spec, ("pursuers", "evaders"), 10, XP, tick=50_000_000), apart, 10)
    assert (outcome(verdict), tick, bool(verdict.truncated[0])) == ("timeout", 10, True)


def test_hit_points_are_restored_in_the_engagements_that_begin_anew():
    state = State(np.repeat(state_of((0, 0, 0, 0, 200), (500, 0, 0, 0, 200)).block, 2, axis=2))
    judge = rules()
    judge.reset(state, None)
    alive = np.ones((2, 2), bool)
    for tick in range(1, 21):
        judge.judge(state, alive, np.asarray([tick, tick]), None)
    judge.reset(state, np.asarray([1]))
    assert judge.guns.hit_points[1] == pytest.approx([1.0, 2.0])


def rewarded(term, state, team="pursuers", **more):
    spec = RewardSpec(terms=(RewardTerm(term=term, team=team, weight=1.0, **more),))
    judge = rules(rewards=spec)
    judge.reset(state, None)
    return judge.judge(state, np.ones((2, 1), bool), np.asarray([1]), None).rewards[:, 0].tolist()


def test_rewards_are_made_of_the_geometry():
    crossing = state_of((0, 0, 4000, 0.0, 200), (1000, 0, 4000, math.pi / 2, 100))
    assert rewarded("range", crossing) == [pytest.approx(1000.0), 0.0]
    assert rewarded("closing_speed", crossing) == [pytest.approx(200.0), 0.0]
    assert rewarded("antenna_train", crossing, "evaders") == [0.0, pytest.approx(math.pi / 2)]
    assert rewarded("aspect", crossing) == [pytest.approx(math.pi / 2), 0.0]
    assert rewarded("heading_crossing", crossing) == [pytest.approx(math.pi / 2), 0.0]
    assert rewarded("sight_rate", crossing) == [pytest.approx(0.1), 0.0]
    assert rewarded("specific_energy", crossing) == [pytest.approx(4000 + 4e4 / 19.6133), 0.0]


def test_hits_are_rewarded_in_hit_points():
    behind = state_of((0, 0, 0, 0.0, 200), (500, 0, 0, 0.0, 200))
    assert rewarded("hit", behind) == [pytest.approx(0.05), 0.0]
    assert rewarded("hurt", behind, "evaders") == [0.0, pytest.approx(0.05)]
    assert rewarded("hurt", behind, "pursuers") == [0.0, 0.0]
    assert rewarded("hit", behind, "pursuers", credit="agent") == [pytest.approx(0.05), 0.0]


@pytest.mark.parametrize(
    ("gun", "rule"),
    [
        ({"min_range": 900, "max_range": 100}, "min_range must be below max_range"),
        ({"angle": "5 m"}, "wrong unit: expected a quantity in rad"),
        ({"hitpoints": 3}, "did you mean 'hit_points'"),
    ],
)
def test_impossible_guns_are_refused(gun, rule):
    evader = role("evaders", start={"points": [[900, 0, 6000]]})
    with pytest.raises(EngagementError, match=rule):
        parse(duel(role("pursuers"), evader, rules={"combat": {"gun": gun}}))
