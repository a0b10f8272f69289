"""A batch of engagements is for multi-agent cores what the same engagements are one by one."""

from __future__ import annotations

import copy
from functools import partial

import numpy as np
import pytest

from pe_sim.engagement import parse
from pe_sim.errors import PeError
from pe_sim.learning.agents.marl_batched_env import BatchedPursuitEnv
from pe_sim.learning.agents.marl_team import TeamPursuit
from pe_sim.learning.agents.marl_vector_env import DummyVecMultiAgentEnv

from ...files import grid_file, plane_file  # noqa: TID252 - shared by one room
from .marl_games import same, settings

FILES = {
    "grid": grid_file(rules={"max_step": 9}, roles={"pursuer": {"count": 2}}),
    "plane": plane_file(rules={"time_limit": "1 s"}, roles={"pursuer": {"count": 2}}),
}


def drawn(envs, rng):
    def one(space):
        return int(rng.integers(space.n)) if hasattr(space, "n") else rng.uniform(space.low, space.high).astype("f4")

    return [{a: one(space) for a, space in envs.action_space.items()} for _ in range(envs.num_envs)]


@pytest.mark.parametrize("roles", [("pursuer",), ("pursuer", "evader")])
@pytest.mark.parametrize("name", FILES)
def test_each_row_is_the_engagement_alone(name, roles):
    engagement, count = parse(FILES[name]), 3
    batch = BatchedPursuitEnv(engagement, count, roles, env_seed=4)
    alone = [DummyVecMultiAgentEnv([partial(TeamPursuit, engagement, roles)], 4) for _ in range(count)]
    assert batch.agents == alone[0].agents
    assert (batch.observation_space, batch.action_space) == (alone[0].observation_space, alone[0].action_space)
    first, _ = batch.reset()
    for row, envs in enumerate(alone):
        envs.reset()
        for _ in range(row):
            envs.reset()  # row i begins with episode i
        assert same(envs.buf_obs[0], first[row])
        assert same(envs.buf_state[0], batch.buf_state[row])
    rng, going, ends = np.random.default_rng(0), [True] * count, []
    while any(going):
        actions = drawn(batch, rng)
        results = batch.step(actions)
        for row, envs in enumerate(alone):
            if going[row]:
                expected = envs.step([actions[row]])
                assert results[1][row] == pytest.approx(expected[1][0])
                assert all(same(results[i][row], expected[i][0]) for i in (0, 2, 3))
                mine, theirs = results[4][row], expected[4][0]
                names = ("episode_step", "agent_mask", "waiting", "truncations", "state", "avail_actions")
                assert same({n: mine[n] for n in names}, {n: theirs[n] for n in names})
                assert mine["episode_score"] == pytest.approx(theirs["episode_score"])
                going[row] = "reset_obs" not in theirs
                assert ("reset_obs" in mine) is not going[row]
                ends.append(expected[3][0])
    assert True in ends or name == "plane"
    assert batch.buf_acting[0] == dict.fromkeys(batch.agents, True)


def test_resets_begin_other_runs_and_what_a_batch_cannot_is_told():
    one, other = (BatchedPursuitEnv(parse(FILES["grid"]), 2, env_seed=seed) for seed in (4, 5))
    first = copy.deepcopy(one.reset()[0])
    second = copy.deepcopy(one.reset()[0])
    assert not same(first, second)
    assert same(other.reset()[0], second)
    with pytest.raises(PeError, match="cannot render"):
        one.render()


@pytest.mark.parametrize("name", FILES)
def test_cores_train_in_a_batch_and_go_on_to_the_same_bits(tmp_path, name):
    pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")
    from pe_sim.learning.agents.marl_mappo import MAPPOAgents

    def build(seed):
        envs = BatchedPursuitEnv(parse(FILES[name]), 8, ("pursuer",), env_seed=seed)
        return MAPPOAgents(settings(seed=seed, buffer_size=64, use_obsnorm=True, parameter_sharing="role"), envs)

    one, other = build(1), build(2)
    one.train(21)
    path = one.save_model("model", tmp_path)
    one.train(21)
    other.load_model(path)
    other.train(21)
    assert one.current_episode.sum() >= 8
    assert same(other.state(), one.state())
    scores = one.test(10, test_envs=BatchedPursuitEnv(parse(FILES[name]), 4, ("pursuer",), env_seed=9))
    assert len(scores) == 10
