"""Multi-agent cores in training: steps, updates and episodes counted exactly; what is not learnt from."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")

import torch

from pe_sim.engagement import parse
from pe_sim.envs.rllib import RLlibPursuit
from pe_sim.errors import PeError
from pe_sim.learning.agents.marl_ippo import IPPOAgents
from pe_sim.learning.agents.marl_iql import IQLAgents
from pe_sim.learning.agents.marl_maddpg import MADDPGAgents
from pe_sim.learning.agents.marl_mappo import MAPPOAgents
from pe_sim.learning.agents.marl_qmix import QMIXAgents
from pe_sim.learning.agents.marl_vdn import VDNAgents
from pe_sim.learning.agents.marl_vector_env import DummyVecMultiAgentEnv

from ...files import plane_file  # noqa: TID252 - shared by one room
from .marl_builds import EVERY, ON, Log, build
from .marl_games import Unequal, settings, vector
from .marl_samples import REMEMBERING, off, on


@pytest.mark.parametrize("kind", ON)
def test_steps_updates_and_episodes_are_counted_exactly_on_policy(kind):
    log = Log()
    agents = build(kind, Unequal, 3, log, buffer_size=3 * 6 + 2, n_epochs=2, n_minibatch=3)  # 2 find no room
    info = agents.train(20)
    assert agents.current_step == 20 * 3
    assert log.calls.count("epochs") == 20 // 6
    assert agents.iterations == log.calls.count("update") == 20 // 6 * 2 * 3
    assert log.calls.count("step") == log.calls.count("end") == 20
    assert log.calls.count("episode") == agents.current_episode.sum() == 3 * 4  # of five steps each
    assert log.calls[0] == "step"
    for i in (i for i, call in enumerate(log.calls) if call == "epochs"):
        assert log.calls[i + 1] == "end"
        assert log.calls[i - 1] == "updated"
    assert info["mine"] == 7.0


@pytest.mark.parametrize(("envs", "frequency"), [(3, 7), (3, 1), (4, 8), (5, 2)])
def test_updates_are_counted_exactly_also_where_environments_do_not_divide_the_frequency(envs, frequency):
    log = Log()
    agents = build(IQLAgents, Unequal, envs, log, training_frequency=frequency, start_training=11)
    agents.train(20)
    assert agents.current_step == 20 * envs
    assert log.calls.count("epochs") == (20 * envs - 11) // frequency == agents.iterations


@pytest.mark.parametrize("kind", [IPPOAgents, QMIXAgents])
def test_a_callback_can_stop_the_training(kind):
    agents = build(kind, callback=Log(stop_after=12))
    agents.train(1000)
    assert agents.current_step == 12


@pytest.mark.parametrize("kind", [MAPPOAgents, VDNAgents])
def test_episodes_run_are_counted_exactly_and_learnt_from(kind):
    agents = build(kind, envs=3, buffer_size=3 * 7 if kind is MAPPOAgents else 300)
    scores = agents.run_episodes(7)
    assert len(scores) == 7
    assert agents.current_episode.tolist() == [3, 3, 3]  # an environment goes on while others have episodes to run
    assert agents.current_step == 3 * 15
    assert agents.iterations > 0
    assert agents.memory.size > 0
    other = vector(Unequal, 3)
    before = [env.resets for env in agents.train_envs.envs]
    assert len(agents.run_episodes(2, run_envs=other)) == 2
    assert [env.resets for env in agents.train_envs.envs] == before
    with pytest.raises(ValueError, match="must be 3 environments"):
        agents.run_episodes(1, run_envs=vector(Unequal, 2))


@pytest.mark.parametrize("kind", EVERY)
def test_a_loss_that_is_not_finite_stops_the_training(kind):
    agents = build(kind)
    with torch.no_grad():
        for values in agents.policy.parameters():
            values.fill_(float("nan"))
    sample_of = build(kind)
    sample_of.train(7)
    if kind in ON:
        sample_of.memory.prepare(use_advnorm=False)
        sample = sample_of.memory.sample(np.arange(8))
    else:
        sample = sample_of.memory.sample(np.random.default_rng(0))
    with pytest.raises(PeError, match="not finite"):
        agents.update(sample)


def test_what_an_algorithm_adds_is_stored_with_each_step():
    class More(IQLAgents):
        def get_aux_info(self, policy_output=None):
            assert set(policy_output) == {"hidden_state", "actions"}
            return {"extra": np.arange(4.0), "each": {a: np.full(4, 2.0) for a in self.agent_keys}}

    agents = build(More)
    agents.train(3)
    found = agents.memory.sample(np.random.default_rng(0))
    assert set(found["extra"].reshape(-1)) <= {0.0, 1.0, 2.0, 3.0}
    assert (found["each"]["scout_0"] == 2.0).all()
    assert agents.iterations > 0
    assert build(IPPOAgents).get_aux_info() == {}


def test_a_memory_with_too_little_is_not_learnt_from():
    with pytest.raises(PeError, match="must hold 4 steps"):
        off(IQLAgents, use_rnn=True).train_epochs()
    with pytest.raises(PeError, match="buffer_size"):
        off(IQLAgents, use_rnn=True, sequence_length=101)
    assert on(IPPOAgents).train_epochs() == {}
    with pytest.raises(PeError, match="training_frequency"):
        off(IQLAgents, training_frequency=0)


def test_half_a_horizon_can_be_learnt_from_and_every_epoch_goes_over_each_step_once():
    agents, seen, ends = on(IPPOAgents, Unequal, 3, n_minibatch=4), [], {}
    agents.train(3)
    agents.memory.finish_path = ends.__setitem__
    expected = agents.get_terminated_values(agents.train_envs.buf_obs)
    agents.train_epochs(0)
    assert [ends[e] for e in range(3)] == expected  # what would have followed is worth what the critic says
    assert all(one["hunter_0"] != 0.0 for one in expected)
    del agents.memory.finish_path
    agents.train(5)
    sample = agents.memory.sample
    agents.memory.sample = lambda indexes: (seen.append(indexes), sample(indexes))[1]
    assert agents.train_epochs(2)["critic_loss"] > 0.0
    assert len(seen) == 2 * 4
    assert sorted(np.concatenate(seen[:4])) == list(range(15)) == sorted(np.concatenate(seen[4:]))
    assert agents.memory.size == 0


def test_off_policy_agents_with_rates_of_their_own_are_refused_by_name():
    data = plane_file(roles={"evader": {"policy": {"rate": 20}}, "pursuer": {"count": 2}})
    envs = DummyVecMultiAgentEnv([partial(RLlibPursuit, parse(data))], 1)
    agents = MADDPGAgents(settings(**REMEMBERING, start_noise=0.1, end_noise=0.1), envs)
    with pytest.raises(PeError, match=r"pursuer_0: is in play but does not decide"):
        agents.train(5)
