"""A team learns in an engagement whose other roles follow the file's policies."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from pe_sim.engagement import parse
from pe_sim.envs.single_pursuit import SinglePursuit
from pe_sim.errors import EngagementError
from pe_sim.learning.agents.marl_env import JointEnv
from pe_sim.learning.agents.marl_team import TeamPursuit

from ...files import grid_file, plane_file  # noqa: TID252 - shared by one room


@pytest.mark.parametrize("seed", [3, 4])
@pytest.mark.parametrize("file", [
    grid_file(rules={"max_step": 12}),
    plane_file(roles={"evader": {"policy": {"rate": 20}}}),
    plane_file(roles={"evader": {"count": 2, "policy": {"rate": 7}}}),
])
def test_a_team_of_one_sees_what_the_single_agent_environment_shows(file, seed):
    engagement, rng = parse(file), np.random.default_rng(0)
    one, team = SinglePursuit(engagement, "pursuer_0", seed=seed), TeamPursuit(engagement, ["pursuer"], seed=seed)
    assert team.possible_agents == ["pursuer_0"]
    for _ in range(3):
        expected, (found, infos) = one.reset()[0], team.reset()
        assert set(found) == set(infos) == {"pursuer_0"}
        over = False
        while not over:
            assert np.array_equal(found["pursuer_0"], expected)
            space = one.action_space
            action = int(rng.integers(space.n)) if hasattr(space, "n") else rng.uniform(space.low, space.high)
            expected, reward, terminal, truncated, _ = one.step(action)
            found, rewards, terminations, truncations, _ = team.step({"pursuer_0": action})
            assert rewards["pursuer_0"] == pytest.approx(reward, abs=1e-6)
            assert (terminations["pursuer_0"], truncations["pursuer_0"]) == (terminal, truncated)
            over = terminal or truncated
        assert np.array_equal(found["pursuer_0"], expected)
        assert team.agents == []


def test_a_role_that_is_not_there_is_named():
    with pytest.raises(EngagementError, match="pursuer"):
        TeamPursuit(parse(grid_file()), ["persuer"])


def test_a_team_is_trained_against_a_role_that_is_scripted():
    pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")
    from pe_sim.learning.agents.marl_mappo import MAPPOAgents
    from pe_sim.learning.agents.marl_qmix import QMIXAgents
    from pe_sim.learning.agents.marl_vector_env import DummyVecMultiAgentEnv

    from .marl_games import settings

    make = partial(TeamPursuit, parse(grid_file(rules={"max_step": 10}, roles={"pursuer": {"count": 2}})), ["pursuer"])
    env = JointEnv(make())
    assert env.agents == ["pursuer_0", "pursuer_1"]
    for kind in (MAPPOAgents, QMIXAgents):
        config = settings(batch_size=8, start_greedy=0.5, end_greedy=0.1, decay_step_greedy=100, n_epochs=1)
        agents = kind(config, DummyVecMultiAgentEnv([make] * 2, 1))
        info = agents.train(40)
        assert agents.current_episode.sum() >= 4
        assert all(np.isfinite(value) for value in info.values() if value is not None)
        assert len(agents.test(3, test_envs=DummyVecMultiAgentEnv([make]))) == 3
