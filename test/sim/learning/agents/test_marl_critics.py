"""What critics see and say, and what follows the last step of an episode."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")

import torch

from pe_sim.errors import PeError
from pe_sim.learning.agents.marl_coma import COMAAgents
from pe_sim.learning.agents.marl_ippo import IPPOAgents
from pe_sim.learning.agents.marl_iql import IQLAgents
from pe_sim.learning.agents.marl_maddpg import MADDPGAgents
from pe_sim.learning.agents.marl_mappo import MAPPOAgents
from pe_sim.learning.agents.marl_qmix import QMIXAgents

from .marl_games import Easy, Meet, Remember, TwoStep, Unequal, vector
from .marl_samples import Clock, certain, close, hand_sample, horizon, learnt, off, on, past


def test_the_central_critic_sees_what_all_see_and_never_what_they_do():
    agents = on(MAPPOAgents, parameter_sharing="role")
    assert {key: net.inputs for key, net in agents.policy["critic"].items()} == {"scout_0": 2 + 3 + 3, "hunter_0": 8}
    seen = {a: torch.randn(1, 4, n) for a, n in agents.sizes.items()}
    one, other = ({a: torch.full((1, 4), i) for a in agents.agent_keys} for i in (0, 2))
    first, second = agents.judge(seen, None, one, None)[0], agents.judge(seen, None, other, None)[0]
    moved = agents.judge({**seen, "scout_0": seen["scout_0"] + 1.0}, None, one, None)[0]
    for a in agents.agent_keys:
        assert torch.equal(first[a], second[a])
        assert not torch.allclose(first[a], moved[a])  # everybody's value depends on everybody's observation
    by_state = on(MAPPOAgents, TwoStep, use_global_state=True)
    assert {net.inputs for net in by_state.policy["critic"].values()} == {3}
    own = on(IPPOAgents)
    assert {key: net.inputs for key, net in own.policy["critic"].items()} == own.sizes


@pytest.mark.parametrize("recurrent", [False, True])
def test_the_central_critic_has_an_output_for_each_agent_of_a_group(recurrent):
    agents = on(MAPPOAgents, Easy, use_parameter_sharing=True, use_rnn=recurrent)
    certain(agents, {"critic": [1.0, 2.0]})
    found = agents.get_actions(agents.train_envs.buf_obs, None, None, *agents.hidden)["values"]
    assert {a: v.tolist() for a, v in found.items()} == {"a_0": [1.0] * 4, "a_1": [2.0] * 4}


@pytest.mark.parametrize("kind", [IPPOAgents, MAPPOAgents, COMAAgents])
def test_actors_act_without_critic_and_global_state(kind):
    agents = on(kind, use_global_state=True)
    expected = agents.test(4, test_envs=vector(Unequal, 2))
    del agents.policy["critic"]
    assert agents.test(4, test_envs=vector(Unequal, 2)) == expected


@pytest.mark.parametrize("kind", [MAPPOAgents, COMAAgents])
def test_the_state_is_kept_per_environment_and_what_follows_a_timeout_is_the_value_of_its_last_state(kind):
    Clock.made = 0
    agents = on(kind, Clock, 2, use_global_state=True, buffer_size=2 * 5)
    ends = {}
    finish, memory = agents.memory.finish_path, agents.memory
    memory.finish_path = lambda e, values: (ends.__setitem__((memory.size, e), values), finish(e, values))
    judged = []
    judge = agents.judge
    agents.judge = lambda seen, state, *rest: (judged.append(state), judge(seen, state, *rest))[1]
    sample = horizon(agents)
    assert sample["state"].reshape(5, 2, 2)[..., 0].tolist() == [[0, 0], [1, 1], [2, 2], [0, 0], [1, 1]]
    assert sample["state"].reshape(5, 2, 2)[..., 1].tolist() == [[0, 1]] * 5
    values = ends[3, 0]
    assert ends[3, 1]["a_1"] == 0.0  # for it the game has ended
    assert values["a_1"] != 0.0
    last = [state for state in judged if state[0, :, 0].tolist() == [3.0, 3.0]]
    assert len(last) == 1
    if kind is MAPPOAgents:
        seen = {a: torch.ones(1, 2, 1) for a in agents.agent_keys}
        expected = judge(seen, torch.tensor([[[3.0, 0.0], [3.0, 1.0]]]), {}, None)[0]
        assert values["a_0"] == pytest.approx(float(expected["a_0"].detach()[0, 0]), abs=1e-6)
        assert ends[3, 1]["a_0"] == pytest.approx(float(expected["a_0"].detach()[0, 1]), abs=1e-6)


def test_values_of_what_follows_are_those_of_the_environment_asked_for():
    for recurrent in (False, True):
        agents = on(MAPPOAgents, Remember, use_rnn=recurrent, parameter_sharing="all")
        agents.train(1)
        obs, hidden = agents.train_envs.buf_obs, agents.hidden
        ended = [{"a_0": e == 2, "a_1": False} for e in range(4)]
        found = agents.get_terminated_values(obs, None, ended, rnn_hidden=hidden)
        for e in range(4):
            after, expected = agents.values_next(e, obs[e], None, hidden[1])
            assert (after is None) is not recurrent
            assert found[e]["a_1"] == pytest.approx(expected["a_1"], abs=1e-6)
            assert found[e]["a_0"] == (0.0 if e == 2 else pytest.approx(expected["a_0"], abs=1e-6))
        words = {tuple(env.word.values()) for env in agents.train_envs.envs} if recurrent else {()}
        assert len({round(one["a_1"], 6) for one in found}) == len(words)  # it remembers what was said


def test_values_are_in_units_of_returns_and_the_critic_in_those_of_its_normaliser():
    agents = on(IPPOAgents, use_value_norm=True)
    plain = agents.get_actions(agents.train_envs.buf_obs, deterministic=True)["values"]["scout_0"]
    agents.value_rms["scout_0"].update(np.asarray([[90.0], [110.0]]))
    found = agents.get_actions(agents.train_envs.buf_obs, deterministic=True)["values"]["scout_0"]
    assert found == pytest.approx(100.0 + 10.0 * plain, rel=1e-5)
    agents.train(8)
    assert agents.value_rms["hunter_0"].count == 8 * 4


def test_comas_critic_knows_what_the_others_do_and_compares_with_what_else_could_be_done():
    agents = on(COMAAgents, parameter_sharing="role")
    seen, state = {a: torch.randn(1, 4, n) for a, n in agents.sizes.items()}, torch.randn(1, 4, 8)
    done = {a: torch.full((1, 4), 1) for a in agents.agent_keys}
    hunters = agents.groups[1]
    values = agents.choice_values(hunters, seen, state, done, "critic")
    assert {a: v.shape for a, v in values.items()} == dict.fromkeys(("hunter_0", "hunter_1"), (1, 4, 3))
    own = agents.choice_values(hunters, seen, state, {**done, "hunter_0": done["hunter_0"] + 1}, "critic")
    assert torch.equal(own["hunter_0"], values["hunter_0"])  # what it does itself is what is compared
    assert not torch.allclose(own["hunter_1"], values["hunter_1"])
    for other in ("scout_0", "hunter_1"):
        moved = agents.choice_values(hunters, seen, state, {**done, other: done[other] + 1}, "critic")
        assert not torch.allclose(moved["hunter_0"], values["hunter_0"])


def test_comas_actor_is_moved_towards_what_is_better_than_usual():
    agents = on(COMAAgents, Easy, learning_rate=0.01, ent_coef=0.0, parameter_sharing="none")
    certain(agents, {"critic": [0.0, 4.0], "actor": [0.0, 0.0]})
    for choice in (1, 0):
        sample = {**hand_sample(agents, [0], [0.0], [True], choice), "state": np.zeros((1, 1, 2), np.float32),
                  "returns": {a: np.zeros((1, 1), np.float32) for a in agents.agent_keys}}
        bias = learnt(agents, sample)["actor.a_0.head.bias"]
        assert float(bias[1] - bias[0]) > 0.0  # 4 is better, 0 worse than the usual 2
    assert agents.paid([{"a_0": 1.0, "a_1": 5.0}], [{"agent_mask": {"a_0": True, "a_1": True}}])[0]["a_1"] == 3.0
    assert agents.paid([{"a_0": 1.0, "a_1": 5.0}], [{"agent_mask": {"a_0": True, "a_1": False}}])[0]["a_0"] == 1.0


def test_maddpgs_critics_see_what_all_see_and_do_and_its_actors_only_their_own():
    agents = off(MADDPGAgents, Meet)
    assert {net.inputs for net in agents.policy["critic"].values()} == {2 * 1 + 1 + 2}
    assert {net.inputs for net in agents.policy["actor"].values()} == {1}
    sample = past(agents)
    gradients_of = learnt(agents, {**sample, "rewards": {**sample["rewards"], "a_1": sample["rewards"]["a_1"] + 9.0}})
    plain = learnt(agents, sample)
    own = [name for name in plain if ".a_0." in name]
    assert close({n: plain[n] for n in own}, {n: gradients_of[n] for n in own})
    assert not close(plain, gradients_of)
    with pytest.raises(PeError, match="with bounds"):
        off(MADDPGAgents, Easy)
    with pytest.raises(PeError, match="MADDPG"):
        off(MADDPGAgents, Meet, use_rnn=True)
    for kind, build in ((QMIXAgents, off), (IQLAgents, off), (COMAAgents, on)):
        with pytest.raises(PeError, match="must have choices"):
            build(kind, Meet)
