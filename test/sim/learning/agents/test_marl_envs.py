"""Environments of dicts as the multi-agent cores take them: masks, ends, resets, processes, coming back."""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("pettingzoo", reason="needs pettingzoo: install pe_ros[bench]")

from pe_sim.engagement import parse
from pe_sim.envs.parallel import ParallelPursuit
from pe_sim.envs.pursuit_env import PursuitEnv
from pe_sim.envs.rllib import RLlibPursuit
from pe_sim.errors import PeError, PluginError
from pe_sim.learning.agents.marl_env import JointEnv
from pe_sim.learning.agents.marl_subprocess_env import SubprocVecMultiAgentEnv
from pe_sim.learning.agents.marl_vector_env import DummyVecMultiAgentEnv

from ...files import grid_file, plane_file  # noqa: TID252 - shared by one room
from .marl_games import Matrix, Remember, TwoStep, Unequal, same, vector

GRID = parse(grid_file(rules={"max_step": 6}))


def rates() -> Any:
    """A pursuer at 10 Hz and an evader at 20 Hz."""
    return parse(plane_file(rules={"time_limit": "1 s"}, roles={"evader": {"policy": {"rate": 20}}}))


def drawn(envs, rng) -> list[dict[str, Any]]:
    out = []
    for masks in envs.buf_avail_actions:
        one = {}
        for a, space in envs.action_space.items():
            if isinstance(space, gym.spaces.Discrete):
                one[a] = int(rng.choice(np.flatnonzero(masks[a])))
            else:
                one[a] = rng.uniform(space.low, space.high).astype(np.float32)
        out.append(one)
    return out


def test_agents_spaces_and_a_state_are_found():
    envs = vector(Unequal, 2)
    assert envs.agents == ["scout_0", "hunter_0", "hunter_1"]
    assert envs.num_agents == 3
    assert envs.state_space.shape == (2 + 3 + 3,)
    envs.reset()
    assert envs.buf_state[0] == pytest.approx(np.concatenate([envs.buf_obs[0][a] for a in envs.agents]))
    assert vector(TwoStep, 1).state_space.shape == (3,)


def test_who_dies_early_is_masked_and_the_end_is_a_truncation_of_the_others():
    envs, rng = vector(Unequal, 1), np.random.default_rng(0)
    envs.reset()
    masks, lasts = [], []
    for _ in range(5):
        obs, rewards, terminated, truncated, infos = envs.step(drawn(envs, rng))
        masks.append([infos[0]["agent_mask"][a] for a in envs.agents])
        lasts.append((terminated[0]["scout_0"], truncated[0], "reset_obs" in infos[0]))
        seen = obs[0]["scout_0"]
    assert masks == [[True] * 3] * 2 + [[False, True, True]] * 3  # the step in which it ends still counts
    assert lasts == [(False, False, False)] + [(True, False, False)] * 3 + [(True, True, True)]
    assert not seen.any()
    assert infos[0]["truncations"] == {"scout_0": False, "hunter_0": True, "hunter_1": True}
    assert terminated[0] == {"scout_0": True, "hunter_0": False, "hunter_1": False}
    assert infos[0]["episode_step"] == 5
    assert rewards[0]["scout_0"] == 0.0


def test_the_last_observation_is_returned_and_the_first_of_the_next_episode_is_present():
    envs, rng = vector(TwoStep, 2), np.random.default_rng(0)
    first, _ = envs.reset()
    envs.step(drawn(envs, rng))
    obs, rewards, terminated, truncated, infos = envs.step(drawn(envs, rng))
    for e in range(2):
        assert all(terminated[e].values())
        assert not truncated[e]
        assert obs[e]["a_0"][0] == 0.0
        assert infos[e]["state"][0] == 0.0
        assert same(envs.buf_obs[e], first[e])
        assert same(infos[e]["reset_obs"], first[e])
        assert infos[e]["reset_state"].tolist() == envs.buf_state[e].tolist() == [1.0, 0.0, 0.0]
        assert infos[e]["episode_score"] == rewards[e]
        assert envs.envs[e].resets == 2


def test_action_masks_come_from_infos_and_change_with_the_step():
    envs = vector(Unequal, 1)
    envs.reset()
    assert envs.buf_avail_actions[0]["scout_0"].tolist() == [False, True, True, True]
    envs.step([dict.fromkeys(envs.agents, 1)])
    assert envs.buf_avail_actions[0]["hunter_1"].tolist() == [True, False, True]


class OfXuance:
    """An environment written for XuanCe: its own masks, one truncation for all."""

    agents = ("x", "y")
    observation_space = dict.fromkeys(agents, gym.spaces.Box(0, 1, (1,), np.float32))
    action_space = dict.fromkeys(agents, gym.spaces.Discrete(2))
    state_space = gym.spaces.Box(0, 9, (1,), np.float32)
    max_episode_steps = 3

    def reset(self):
        self.time = 0
        return {a: np.zeros(1, np.float32) for a in self.agents}, {}

    def step(self, actions):
        self.time += 1
        seen = {a: np.zeros(1, np.float32) for a in self.agents}
        return seen, dict.fromkeys(self.agents, 1.0), dict.fromkeys(self.agents, False), self.time >= 3, {}

    def state(self):
        return [float(self.time)]

    def agent_mask(self):
        return {"x": True, "y": self.time < 1}

    def avail_actions(self):
        return {"x": np.asarray([1, 0]), "y": np.asarray([1, 1])}

    def close(self):
        pass


def test_environments_written_for_xuance_are_understood():
    envs = DummyVecMultiAgentEnv([OfXuance])
    envs.reset()
    assert envs.max_episode_steps == 3
    assert envs.buf_avail_actions[0]["x"].tolist() == [True, False]
    masks = []
    for _ in range(3):
        _, _, terminated, truncated, infos = envs.step([{"x": 0, "y": 1}])
        masks.append(infos[0]["agent_mask"]["y"])
    assert masks == [True, False, False]
    assert truncated == [True]
    assert not any(terminated[0].values())
    assert infos[0]["state"].tolist() == [3.0]


def test_an_end_at_the_time_limit_is_an_end():
    class Both(OfXuance):
        def step(self, actions):
            seen, rewards, _, late, infos = super().step(actions)
            return seen, rewards, {"x": late, "y": False}, late, infos

    envs = DummyVecMultiAgentEnv([Both])
    envs.reset()
    for _ in range(3):
        _, _, terminated, truncated, infos = envs.step([{"x": 0, "y": 1}])
    assert terminated == [{"x": True, "y": False}]
    assert infos[0]["truncations"] == {"x": False, "y": True}
    assert truncated == [True]


@pytest.mark.parametrize("kind", [ParallelPursuit, RLlibPursuit, PursuitEnv])
def test_engagements_of_all_conventions_go_the_same_way(kind):
    envs, rng = DummyVecMultiAgentEnv([partial(kind, GRID)], 3), np.random.default_rng(0)
    reference, again = DummyVecMultiAgentEnv([partial(ParallelPursuit, GRID)], 3), np.random.default_rng(0)
    assert same(envs.reset()[0], reference.reset()[0])
    for _ in range(15):
        found, expected = envs.step(drawn(envs, rng)), reference.step(drawn(reference, again))
        assert same(found[:4], expected[:4])
        assert found[4][0]["agent_mask"] == expected[4][0]["agent_mask"]


@pytest.mark.parametrize("kind", [ParallelPursuit, RLlibPursuit])
def test_at_rates_of_their_own_agents_wait_and_no_reward_is_lost(kind):
    envs, rng = DummyVecMultiAgentEnv([partial(kind, rates())], 3), np.random.default_rng(0)
    envs.reset()
    counted, waited, paid, info = [], [], 0.0, {}
    while "reset_obs" not in info:
        _, rewards, _, _, (info,) = envs.step(drawn(envs, rng))
        counted.append(info["agent_mask"])
        waited.append(info["waiting"]["pursuer_0"])
        paid += rewards[0]["pursuer_0"]
    assert sum(one["evader_0"] for one in counted) == len(counted)
    assert sum(one["pursuer_0"] for one in counted) == -(-len(counted) // 2)
    assert waited == [not one["pursuer_0"] for one in counted]
    assert info["episode_score"]["pursuer_0"] == pytest.approx(paid)


def test_environments_in_processes_equal_those_in_this_one():
    makers = [partial(ParallelPursuit, GRID), partial(RLlibPursuit, GRID), partial(ParallelPursuit, GRID)]
    here, rng = DummyVecMultiAgentEnv(makers, 5), np.random.default_rng(1)
    there = SubprocVecMultiAgentEnv(makers, 5, in_series=2)
    try:
        assert there.agents == here.agents
        assert there.action_space == here.action_space
        assert same(there.reset(), here.reset())
        for _ in range(20):
            actions = drawn(here, rng)
            assert same(there.step(actions), here.step(actions))
            assert same(there.buf_obs, here.buf_obs)
            assert same(there.buf_state, here.buf_state)
            assert same(there.buf_avail_actions, here.buf_avail_actions)
            assert there.buf_acting == here.buf_acting
        assert same(there.state(), here.state())
        processes = there._workers
        with pytest.raises(PluginError, match="KeyError"):
            there.step([{}] * 3)
    finally:
        there.close()
    assert not any(process.is_alive() for process in processes)


def test_each_environment_has_a_seed_of_its_own_and_runs_repeat():
    def run(seed):
        envs, rng = vector(Remember, 3, seed), np.random.default_rng(0)
        envs.reset()
        out = []
        for _ in range(10):
            out.append(list(envs.buf_obs))
            envs.step(drawn(envs, rng))
        return out

    one = run(1)
    assert same(one, run(1))
    assert not same(one, run(2))
    assert not all(same(now[0], now[1]) for now in one)


@pytest.mark.parametrize("maker", [partial(ParallelPursuit, GRID), partial(RLlibPursuit, GRID), Unequal, Remember])
@pytest.mark.parametrize("steps", [0, 4, 13])
def test_environments_come_back_to_where_they_were(maker, steps):
    envs, rng = DummyVecMultiAgentEnv([maker] * 2, 7), np.random.default_rng(2)
    envs.reset()
    for _ in range(steps):
        envs.step(drawn(envs, rng))
    kept, then = envs.state(), rng.bit_generator.state
    expected = [envs.step(drawn(envs, rng)) for _ in range(12)]
    other = DummyVecMultiAgentEnv([maker] * 2, 99)
    other.reset()
    other.restore(kept)
    rng.bit_generator.state = then
    assert same([other.step(drawn(other, rng)) for _ in range(12)], expected)


def test_an_environment_that_draws_from_elsewhere_does_not_come_back_and_says_so():
    class Elsewhere(Matrix):
        places = iter(range(100))

        def look(self, agent):
            return np.full(1, next(self.places) / 100.0, np.float32)

    envs = DummyVecMultiAgentEnv([Elsewhere])
    envs.reset()
    with pytest.raises(PeError, match="does not come back"):
        envs.restore(envs.state())
    with pytest.raises(PeError, match="must be 1"):
        DummyVecMultiAgentEnv([Matrix] * 2).restore(envs.state())


def test_pictures_are_asked_of_environments_that_draw():
    with pytest.raises(PeError, match="draws no pictures"):
        vector(Matrix, 1).render()


def test_a_joint_environment_can_be_closed():
    env = JointEnv(Matrix())
    env.close()
    assert env.env.closed == 1
