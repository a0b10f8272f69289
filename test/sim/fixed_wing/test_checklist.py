"""The environment's promises, one by one, for aircraft: keys, ends, spaces, rates, masking, stale actions."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from pe_sim.engagement import parse
from pe_sim.envs.pursuit_env import ALL, PursuitEnv
from pe_sim.simulation import Simulation
from pe_sim.worlds.jsbsim.aircraft import Failure

from .flying import duel, role, shipped

GUIDED = {"action": "guidance", "lateral": "bank", "vertical": "load_factor"}


def mixed(**rules: Any) -> Any:
    """An F-16 by bank and load factor at 20 Hz against a C172 by its surfaces at 10 Hz, far apart."""
    evader = role("evaders", "c172x", policy={"use": "guidance/random", "rate": 10})
    evader["start"]["points"] = [[3000.0, 0.0, 1000.0]]
    return parse(duel(role("pursuers", dynamics=GUIDED), evader, rules=rules))


def played(env: PursuitEnv, seed: int = 1, reverse: bool = False) -> list[Any]:
    """Play an episode with drawn actions; return everything that the env returned."""
    rng = np.random.default_rng(seed)
    trace: list[Any] = [env.reset(seed=seed)]
    while env.agents:
        spaces = {agent: env.action_spaces[agent] for agent in env.due}
        actions = {agent: 0.2 * rng.uniform(space.low, space.high) for agent, space in spaces.items()}
        trace.append(env.step(dict(reversed(actions.items())) if reverse else actions))
    return trace


def test_agents_appear_when_their_decision_is_due_and_ends_have_a_key_for_all():  # items 1, 2, 3, 14
    env = PursuitEnv(mixed(time_limit=0.5))
    trace = played(env)
    assert set(trace[0][0]) == {"pursuer_0", "evader_0"}
    assert [set(step[0]) for step in trace[1:4]] == [{"pursuer_0"}, {"pursuer_0", "evader_0"}, {"pursuer_0"}]
    for observations, rewards, terminations, truncations, infos in trace[1:]:
        assert set(observations) == set(rewards) == set(infos)
        assert ALL in terminations
        assert ALL in truncations


def test_a_time_limit_truncates_after_exactly_its_ticks_and_a_crash_terminates():  # items 4, 5
    env = PursuitEnv(mixed(max_step=9))
    last = played(env)[-1]
    assert last[3][ALL]
    assert not last[2][ALL]
    assert env.simulation.tick.tolist() == [9]
    diver = role("evaders", start={"points": [[3000.0, 0.0, 60.0]]})
    env = PursuitEnv(parse(duel(role("pursuers", dynamics=GUIDED), diver, rules={"time_limit": 30})))
    env.reset(seed=1)
    dive = {"evader_0": np.asarray([0, 0.5, 0, 0], np.float32), "pursuer_0": np.asarray([0, 1, 200], np.float32)}
    while env.agents:
        step = env.step({agent: dive[agent] for agent in env.due})
    assert step[2][ALL]
    assert not step[3][ALL]


def test_spaces_differ_and_are_float32():  # items 6, 7
    env = PursuitEnv(mixed(time_limit=1))
    pursuer, evader = (env.action_spaces[agent] for agent in env.possible_agents)
    assert isinstance(pursuer, gym.spaces.Box)
    assert pursuer.shape == (3,)
    assert evader.shape == (4,)
    for space in (pursuer, evader, *env.observation_spaces.values()):
        assert space.dtype == np.float32
    for step in played(env)[1:]:
        for agent, vector in step[0].items():
            assert vector.dtype == np.float32
            assert np.isfinite(vector).all()
            assert env.observation_spaces[agent].contains(vector)


def test_the_order_of_actions_does_not_matter_and_a_seed_repeats_itself():  # items 2, 8
    first, again, reverse = (played(PursuitEnv(mixed(time_limit=1)), reverse=r) for r in (False, False, True))
    for other in (again, reverse):
        for (a, *_), (b, *_) in zip(first, other, strict=True):
            assert a.keys() == b.keys()
            assert all(np.array_equal(a[agent], b[agent]) for agent in a)


def test_starts_keep_their_least_distances():  # item 9: places only, aircraft are not built for each
    from pe_sim.arrays import namespace
    from pe_sim.worlds.fixed_wing import FixedWingWorld

    engagement = shipped("fixed_wing_3v1")
    world = FixedWingWorld(engagement, 1, namespace())
    from pe_sim import streams
    from pe_sim.worlds.placement import place_agents

    numbers = np.arange(10_000)
    places = place_agents(engagement, namespace(), streams.episode_keys(numbers * 0 + 1, numbers), world._propose)
    xyz = np.asarray(places)
    for i in range(4):
        for j in range(i):
            apart = np.sqrt(((xyz[i] - xyz[j]) ** 2).sum(axis=0))
            assert apart.min() > (4000.0 if i == 3 else 500.0)


def test_what_a_radar_does_not_see_is_not_in_the_observation():  # items 12, 13
    behind = role("evaders", start={"points": [[-5000.0, 0.0, 5000.0]]})
    pursuer = role("pursuers", dynamics=GUIDED)
    pursuer["sensors"] = {"radar": {"kind": "radar", "rate": 20, "azimuth_field": "120 deg"}}
    simulation = Simulation(parse(duel(pursuer, behind)))
    simulation.reset(np.asarray([1]), np.asarray([0]))
    simulation.sense()
    view = simulation.roles["pursuer"].perception.view(simulation.now)["radar"]
    assert not view.valid.any()
    assert (view.values == 0.0).all()


def test_actions_take_effect_after_their_latency_expire_and_are_dropped_when_late():  # items 14, 15
    late = role("pursuers", dynamics=GUIDED, action={"latency": "100 ms", "valid_for": "200 ms", "on_expiry": "coast"})
    simulation = Simulation(parse(duel(late, role("evaders", start={"points": [[3000.0, 0.0, 6000.0]]}))))
    simulation.reset(np.asarray([1]), np.asarray([0]))
    hold = simulation.roles["pursuer"].hold
    action = np.asarray([1.0, 2.0, 220.0], np.float32)[:, None, None]
    simulation.submit("pursuer", action, np.ones((1, 1), bool))
    modes = []
    for _ in range(8):
        commands = simulation.commands()
        mode = commands["pursuer"].mode
        modes.append(0 if mode is None else int(mode[0, 0]))
        simulation.advance(commands)
    assert modes == [2, 2, 0, 0, 0, 0, 2, 2]  # coast, from 100 ms on the action, from 300 ms on coast again
    hold.put(action, np.ones((1, 1), bool), np.asarray([-50_000_000]), np.asarray([[0]]))
    simulation.commands()
    assert hold.stale.tolist() == [[1]]


def test_the_world_goes_on_while_nobody_decides():  # item 15
    simulation = Simulation(mixed())
    simulation.reset(np.asarray([1]), np.asarray([0]))
    for _ in range(20):
        simulation.advance()
    assert simulation.running.all()
    assert simulation.state.pos[0, 0, 0] == pytest.approx(200.0, abs=2.0)


def test_actions_under_way_in_ended_engagements_are_not_kept_for_ever():
    late = role("pursuers", dynamics=GUIDED, action={"latency": "100 ms"})
    evader = role("evaders", start={"points": [[3000.0, 0.0, 6000.0]]})
    simulation = Simulation(parse(duel(late, evader)), 2)
    simulation.reset(np.asarray([1, 1]), np.asarray([0, 1]))
    simulation.world._fleet.flights[0][1].failure = Failure.OVERSTRESS  # the first engagement ends at once
    hold = simulation.roles["pursuer"].hold
    action = np.tile(np.asarray([0.0, 1.0, 220.0], np.float32)[:, None, None], (1, 1, 2))
    longest = 0
    for _ in range(40):
        simulation.sense()
        due = simulation.due("pursuer")
        if due is not None:
            simulation.submit("pursuer", action, due)
        simulation.advance()
        longest = max(longest, len(hold._pending))
    assert simulation.running.tolist() == [False, True]
    assert longest < 6
