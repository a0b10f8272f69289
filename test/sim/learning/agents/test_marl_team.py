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


@pytest.mark.parametrize(("algorithm", "file", "changes"), [
    ("mappo", plane_file(roles={"pursuer": {"count": 2}}), {"use_obsnorm": True, "use_parameter_sharing": True}),
    ("ippo", plane_file(roles={"pursuer": {"count": 2}}), {"use_rnn": True}),
    ("ippo", plane_file(roles={"pursuer": {"count": 2}}), {"use_rnn": True, "rnn": "LSTM", "parameter_sharing": "all"}),
    ("maddpg", plane_file(roles={"pursuer": {"count": 2}}), {"use_obsnorm": True}),
    ("qmix", grid_file(roles={"pursuer": {"count": 2}}), {"use_parameter_sharing": True}),
])
def test_what_was_learnt_flies_from_a_bundle_with_the_same_actions(tmp_path, algorithm, file, changes):
    pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")
    from pe_sim.learning.agents.marl_bundle import write_role_bundle
    from pe_sim.learning.agents.marl_ippo import IPPOAgents
    from pe_sim.learning.agents.marl_maddpg import MADDPGAgents
    from pe_sim.learning.agents.marl_mappo import MAPPOAgents
    from pe_sim.learning.agents.marl_qmix import QMIXAgents
    from pe_sim.learning.agents.marl_vector_env import DummyVecMultiAgentEnv
    from pe_sim.policies.loader import load_policy

    from .marl_games import settings

    engagement = parse(file)
    kind = {"mappo": MAPPOAgents, "ippo": IPPOAgents, "qmix": QMIXAgents, "maddpg": MADDPGAgents}[algorithm]
    config = settings(batch_size=8, start_greedy=0.5, end_greedy=0.1, decay_step_greedy=100, n_epochs=1, **changes)
    make = partial(TeamPursuit, engagement, ["pursuer"])
    agents = kind(config, DummyVecMultiAgentEnv([make] * 2, 1))
    agents.train(40)
    bundle = write_role_bundle(agents, engagement, "pursuer", tmp_path / "pursuer")
    assert bundle.description.members == 2
    assert bundle.description.provenance["steps"] == 80
    tests, decisions = DummyVecMultiAgentEnv([make], 9), 0
    simulation = tests.envs[0].env.simulation
    role = simulation.roles["pursuer"]
    flown = load_policy(engagement, "pursuer", role.action, xp=np, use=str(tmp_path / "pursuer"))
    for _ in range(4):
        tests.reset()
        flown.reset(simulation.roots, None)
        hidden, infos = agents.first_hidden(1), [{}]
        while "reset_obs" not in infos[0]:
            values = flown.decide(role.perception.view(simulation.now), simulation.now, np.ones((2, 1), bool))
            out, hidden = agents.test_actions(tests, hidden, deterministic=True)
            actions = agents.to_env(out["actions"])
            for i, agent in enumerate(("pursuer_0", "pursuer_1")):
                assert values[:, i, 0] == pytest.approx(np.reshape(actions[0][agent], -1), abs=1e-4)
            *_, infos = tests.step(actions)
            decisions += 1
    assert decisions > 8


def test_what_no_bundle_can_hold_is_refused(tmp_path):
    pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")
    from pe_sim.errors import PeError
    from pe_sim.learning.agents.marl_bundle import write_role_bundle
    from pe_sim.learning.agents.marl_ippo import IPPOAgents
    from pe_sim.learning.agents.marl_vector_env import DummyVecMultiAgentEnv

    from .marl_games import settings

    engagement = parse(plane_file())
    envs = DummyVecMultiAgentEnv([partial(TeamPursuit, engagement, ["pursuer"])], 1)
    for agents, role, match in (
        (IPPOAgents(settings(use_rnn=True, N_recurrent_layers=2), envs), "pursuer", "bundle holds"),
        (IPPOAgents(settings(), envs), "evader", "no role whose agents learnt"),
    ):
        with pytest.raises(PeError, match=match):
            write_role_bundle(agents, engagement, role, tmp_path / "b")
        assert not (tmp_path / "b").exists()
