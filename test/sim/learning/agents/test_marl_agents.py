"""Multi-agent cores: the interface that users of XuanCe 1.4.4 know, for every algorithm alike."""

from __future__ import annotations

import inspect
import json
from argparse import Namespace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")

import torch

from pe_sim.errors import PeError
from pe_sim.learning.agents.dqn import DQNAgent
from pe_sim.learning.agents.marl_coma import COMAAgents
from pe_sim.learning.agents.marl_ippo import IPPOAgents
from pe_sim.learning.agents.marl_iql import IQLAgents
from pe_sim.learning.agents.marl_maddpg import MADDPGAgents
from pe_sim.learning.agents.marl_mappo import MAPPOAgents
from pe_sim.learning.agents.marl_qmix import QMIXAgents
from pe_sim.learning.agents.off_policy_marl import OffPolicyMARLAgents
from pe_sim.learning.agents.on_policy_marl import OnPolicyMARLAgents
from pe_sim.learning.agents.ppo import PPOAgent
from pe_sim.learning.agents.vector_env import DummyVecEnv

from .marl_builds import EVERY, OFF, ON, build, spaces
from .marl_games import Meet, Remember, TwoStep, same, settings, vector

GOLDEN = json.loads((Path(__file__).parent / "xuance_1_4_4.json").read_text())


def signature(function) -> list[list[Any]]:
    out = []
    for p in list(inspect.signature(function).parameters.values())[1:]:
        name = f"**{p.name}" if p.kind is p.VAR_KEYWORD else p.name
        out.append([name] if p.default is p.empty else [name, p.default])
    return out


@pytest.mark.parametrize(
    ("core", "method"), [(c, m) for c in (OnPolicyMARLAgents, OffPolicyMARLAgents) for m in GOLDEN[c.__name__]]
)
def test_signatures_are_those_of_the_golden_file(core, method):
    assert signature(getattr(core, method)) == GOLDEN[core.__name__][method]


@pytest.mark.parametrize("kind", EVERY)
def test_algorithms_keep_the_signatures_of_their_core(kind):
    core = OnPolicyMARLAgents if issubclass(kind, OnPolicyMARLAgents) else OffPolicyMARLAgents
    for method in GOLDEN[core.__name__]:
        assert signature(getattr(kind, method)) == GOLDEN[core.__name__][method]


@pytest.mark.parametrize("kind", EVERY)
def test_built_from_spaces_they_only_infer_and_missing_spaces_raise(kind):
    game = Meet if kind is MADDPGAgents else TwoStep
    given = spaces(game)
    config = settings()
    for name in ("buffer_size", "n_minibatch", "gae_lambda"):
        delattr(config, name)  # what only learning needs
    agents = kind(config, num_agents=2, agent_keys=["a_0", "a_1"], **given)
    obs = [{a: s.sample() for a, s in given["observation_space"].items()} for _ in range(3)]
    masks = [{a: np.ones(2, bool) for a in given["observation_space"]} for _ in range(3)]
    found = agents.get_actions(obs, avail_actions_dict=masks, test_mode=True)["actions"]
    assert len(found) == 3
    assert all(given["action_space"][a].contains(x) for one in agents.to_env(found) for a, x in one.items()
               if isinstance(given["action_space"][a], gym.spaces.Box))
    assert kind(config, **given).agent_keys == ["a_0", "a_1"]  # inferred
    for act in (lambda: agents.train(1), lambda: agents.run_episodes(1)):
        with pytest.raises(ValueError, match="only infer"):
            act()
    for missing in ("observation_space", "action_space"):
        with pytest.raises(ValueError, match="action_space"):
            kind(config, **{**given, missing: None})
    with pytest.raises(ValueError, match="state_space"):
        kind(settings(use_global_state=True), **{**given, "state_space": None})
    with pytest.raises(ValueError, match="num_agents"):
        kind(config, num_agents=3, **given)


def test_spaces_that_no_network_takes_are_refused_by_name():
    given = spaces(TwoStep)
    for name, wrong in (
        ("action_space", gym.spaces.MultiDiscrete([2, 2])), ("action_space", gym.spaces.Discrete(2, start=1)),
        ("observation_space", gym.spaces.Dict({})),
    ):
        with pytest.raises(PeError, match=f"{name} of a_1"):
            IPPOAgents(settings(), **{**given, name: {**given[name], "a_1": wrong}})


def present(agents):
    envs = agents.train_envs
    return {"obs_dict": list(envs.buf_obs), "avail_actions_dict": list(envs.buf_avail_actions)}


@pytest.mark.parametrize("kind", ON)
def test_on_policy_actions_come_with_five_keys_empty_in_test_mode(kind):
    agents = build(kind)
    out = agents.get_actions(**present(agents), state=agents.train_envs.buf_state)
    assert set(out) == {"rnn_hidden_actor", "rnn_hidden_critic", "actions", "log_pi", "values"}
    for name in ("log_pi", "values"):
        assert {a: v.shape for a, v in out[name].items()} == dict.fromkeys(agents.agent_keys, (4,))
    assert [set(one) for one in out["actions"]] == [set(agents.agent_keys)] * 4
    tested = agents.get_actions(**present(agents), test_mode=True)  # no state: actors act without critic
    assert tested["values"] == tested["log_pi"] == tested["rnn_hidden_critic"] == {}


@pytest.mark.parametrize("kind", [*OFF, MADDPGAgents])
def test_off_policy_actions_come_with_two_keys_and_are_deterministic_in_test_mode(kind):
    agents = build(kind, start_greedy=1.0, end_greedy=1.0, start_noise=1.0, end_noise=1.0)
    assert set(agents.get_actions(**present(agents))) == {"hidden_state", "actions"}
    tested = [str(agents.get_actions(**present(agents), test_mode=True)["actions"]) for _ in range(3)]
    assert len(set(tested)) == 1
    explored = [str(agents.get_actions(**present(agents))["actions"]) for _ in range(3)]
    assert len(set(explored)) == 3


@pytest.mark.parametrize("rnn", ["GRU", "LSTM"])
@pytest.mark.parametrize("sharing", ["none", "role", "all"])
@pytest.mark.parametrize("kind", [MAPPOAgents, IQLAgents])
def test_recurrent_states_have_a_row_for_each_agent_that_shares(kind, sharing, rnn):
    agents = build(kind, Remember, use_rnn=True, rnn=rnn, parameter_sharing=sharing)
    rows = 4 if sharing == "none" else 4 * 2
    first = agents.init_rnn_hidden(4)
    states = first if kind is MAPPOAgents else (first,)
    for state in states:
        assert set(state) == set(agents.model_keys)
        for h, c in state.values():
            assert h.shape == (1, rows, 16)
            assert (c is not None) == (rnn == "LSTM")
            assert c is None or c.shape == h.shape
    agents.train(2)
    moved = agents.hidden if kind is MAPPOAgents else (agents.hidden,)
    fresh = agents.init_hidden_item(1, *moved)
    fresh = fresh if kind is MAPPOAgents else (fresh,)
    size = rows // 4
    for before, after in zip(moved, fresh, strict=True):
        for key, (h, _) in before.items():
            assert h[:, size : 2 * size].any()
            assert not after[key][0][:, size : 2 * size].any()
            assert torch.equal(after[key][0][:, 2 * size :], h[:, 2 * size :])


def test_without_recurrent_networks_there_is_no_state_to_reset():
    for kind in (IPPOAgents, IQLAgents):
        agents = build(kind)
        with pytest.raises(ValueError, match="use_rnn"):
            agents.init_hidden_item(0)
    assert build(IPPOAgents).init_rnn_hidden(2) == (None, None)
    assert build(IQLAgents).init_rnn_hidden(2) is None


class Button(gym.Env):
    observation_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.ones(1, np.float32), {}

    def step(self, action):
        return np.ones(1, np.float32), float(action), True, False, {}


@pytest.mark.parametrize("kind", [QMIXAgents, COMAAgents, PPOAgent, DQNAgent])
def test_algorithms_for_one_and_for_many_attach_through_the_same_interface(tmp_path, kind):
    def envs():
        many = kind in {QMIXAgents, COMAAgents}
        return vector(TwoStep, 4) if many else DummyVecEnv([Button] * 4, env_seed=1)

    config = Namespace(**{
        **vars(settings()), "buffer_size": 32, "batch_size": 8, "horizon_size": 8, "start_greedy": 0.5,
        "end_greedy": 0.1, "decay_step_greedy": 100, "use_obsnorm": False, "use_rewnorm": False, "sync_frequency": 4,
        "n_epochs": 1,
    })
    agents = kind(config, envs())
    info = agents.train(20)
    assert agents.current_step == 80
    assert all(np.isfinite(value) for value in info.values() if value is not None)
    scores = agents.test(5, test_envs=envs(), close_envs=True)
    assert len(scores) == 5
    again = kind(config, envs())
    again.load_model(agents.save_model("model", tmp_path))
    assert again.test(5, test_envs=envs()) == scores
    assert same(again.state()["step"], 80)
