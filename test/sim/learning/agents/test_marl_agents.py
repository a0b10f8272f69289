"""Multi-agent cores: the interface that users of XuanCe 1.4.4 know, counted exactly, for every algorithm alike."""

from __future__ import annotations

import copy
import inspect
import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")

import torch

from pe_sim.errors import PeError
from pe_sim.learning.agents.callbacks import BaseCallback
from pe_sim.learning.agents.marl_coma import COMAAgents
from pe_sim.learning.agents.marl_ippo import IPPOAgents
from pe_sim.learning.agents.marl_iql import IQLAgents
from pe_sim.learning.agents.marl_maddpg import MADDPGAgents
from pe_sim.learning.agents.marl_mappo import MAPPOAgents
from pe_sim.learning.agents.marl_qmix import QMIXAgents
from pe_sim.learning.agents.marl_vdn import VDNAgents
from pe_sim.learning.agents.off_policy_marl import OffPolicyMARLAgents
from pe_sim.learning.agents.on_policy_marl import OnPolicyMARLAgents

from .marl_games import Meet, Remember, TwoStep, Unequal, same, settings, vector

GOLDEN = json.loads((Path(__file__).parent / "xuance_1_4_4.json").read_text())
ON = (IPPOAgents, MAPPOAgents, COMAAgents)
OFF = (IQLAgents, VDNAgents, QMIXAgents)
EVERY = (*ON, *OFF, MADDPGAgents)


def build(kind, game=None, envs=4, callback=None, **changes):
    game = game or (Meet if kind is MADDPGAgents else Unequal)
    off = {"buffer_size": 400, "batch_size": 16, "n_epochs": 1, "start_greedy": 0.5, "end_greedy": 0.1,
           "decay_step_greedy": 200, "start_noise": 0.5, "end_noise": 0.1, "running_steps": 200, "sequence_length": 4}
    given = {"buffer_size": 8 * envs, **(off if issubclass(kind, OffPolicyMARLAgents) else {}), **changes}
    if given.get("use_rnn"):
        given.setdefault("sequence_length", 4)
    return kind(settings(**given), vector(game, envs), callback=callback)


def weights(agents) -> list[torch.Tensor]:
    return [p.detach().clone() for p in agents.policy.parameters()]


def equal(a, b) -> bool:
    return all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


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


def spaces(game):
    envs = vector(game, 1)
    return {"observation_space": envs.observation_space, "action_space": envs.action_space,
            "state_space": envs.state_space}


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


class Log(BaseCallback):
    def __init__(self, stop_after: int = 10**9) -> None:
        self.calls: list[str] = []
        self._stop_after = stop_after

    def on_update_start(self, iterations, **kwargs):
        self.calls.append("update")

    def on_update_end(self, iterations, **kwargs):
        self.calls.append("updated")
        return {"mine": 7.0}

    def on_train_step(self, current_step, **kwargs):
        assert {"obs", "acts", "next_obs", "rewards", "state", "next_state", "terminals", "truncations"} <= set(kwargs)
        self.calls.append("step")

    def on_train_epochs_end(self, current_step, **kwargs):
        assert kwargs["update_info"]["mine"] == 7.0
        self.calls.append("epochs")

    def on_train_episode_info(self, **kwargs):
        assert "episode_score" in kwargs["infos"][kwargs["env_id"]]
        self.calls.append("episode")

    def on_train_step_end(self, current_step, **kwargs):
        self.calls.append("end")
        self.stop_training = current_step >= self._stop_after

    def on_test_step(self, **kwargs):
        self.calls.append("test step")

    def on_test_end(self, **kwargs):
        self.calls.append("test end")


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


@pytest.mark.parametrize(
    ("kind", "recurrent"),
    [(kind, False) for kind in EVERY] + [(kind, True) for kind in (IPPOAgents, COMAAgents, IQLAgents)],
)
def test_a_test_writes_nothing_and_touches_no_training_environment(kind, recurrent):
    log = Log()
    agents = build(kind, callback=log, use_obsnorm=True, use_rnn=recurrent)
    agents.train(6)
    game = Meet if kind is MADDPGAgents else Unequal
    tests, before = vector(game, 3), copy.deepcopy(agents.state())
    log.calls.clear()
    scores = agents.test(7, test_envs=tests, close_envs=False)
    assert len(scores) == 7
    assert same(before, agents.state())  # weights, statistics, memory, counts, random generators, environments
    assert not any(env.closed for env in tests.envs)
    assert agents.test(7, test_envs=tests) == scores  # deterministic by default, in a world without chance
    assert all(env.closed for env in tests.envs)
    assert set(log.calls) == {"test step", "test end"}
    assert log.calls.count("test end") == 2
    for envs in (None, agents.train_envs):
        with pytest.raises(ValueError, match="not tested in"):
            agents.test(1, test_envs=envs)
        if envs is None:
            with pytest.raises(ValueError, match="not tested in"):
                agents.run_episodes(1, test_mode=True)
    assert len(agents.run_episodes(4, run_envs=vector(game, 3), test_mode=True)) == 4


def test_statistics_are_frozen_in_tests_unless_told_otherwise_and_are_exported():
    agents = build(IPPOAgents, use_obsnorm=True)
    agents.train(16)
    count = agents.obs_rms["scout_0"].count
    assert count == 4 * (2 * 3 + 1)  # decided at steps 1 and 2 of episodes of five, in two horizons of eight
    agents.test(3, test_envs=vector(Unequal, 2))
    assert agents.obs_rms["scout_0"].count == count
    exported = agents.export("scout_0")
    assert exported["normalisation.mean"] == pytest.approx(agents.obs_rms["scout_0"].mean)
    agents.config.update_rms = True
    agents.test(3, test_envs=vector(Unequal, 2))
    assert agents.obs_rms["scout_0"].count > count


def test_a_score_is_the_mean_over_the_agents():
    agents = build(IPPOAgents, TwoStep)
    assert agents.score({"episode_score": {"a_0": 1.0, "a_1": 4.0}}) == 2.5


def test_a_shorter_episode_is_not_counted_more_often():
    class Uneven(Unequal):
        made = 0

        def __init__(self):
            super().__init__()
            Uneven.made += 1
            self.limit = 2 if Uneven.made % 2 else 8

    agents = build(IPPOAgents, use_actions_mask=True)
    lengths = []
    agents.callback.on_test_step = lambda **now: lengths.extend(
        info["episode_step"] for info in now["infos"] if "reset_obs" in info
    )
    Uneven.made = 0
    assert len(agents.test(6, test_envs=vector(Uneven, 2))) == 6
    assert lengths.count(8) == 3


@pytest.mark.parametrize(
    ("kind", "recurrent"),
    [(kind, None) for kind in EVERY] + [(MAPPOAgents, "LSTM"), (COMAAgents, "GRU"), (QMIXAgents, "GRU")],
)
def test_saved_and_loaded_a_training_goes_on_to_the_same_bits(tmp_path, kind, recurrent):
    changes = {"use_rnn": recurrent is not None, "rnn": recurrent, "use_obsnorm": True, "use_value_norm": True,
               "start_training": 10}
    one = build(kind, **changes)
    one.train(11)
    path = one.save_model("agents.bin", tmp_path)
    one.train(14)
    other = build(kind, **changes, seed=5)
    other.load_model(tmp_path, "agents.bin")
    assert other.current_step == 44
    other.train(14)
    assert same(one.state(), other.state())
    loose = kind(settings(**vars(one.config)), **spaces(Meet if kind is MADDPGAgents else Unequal))
    loose.load_model(path)  # to infer
    whole = path.read_bytes()
    path.write_bytes(whole[:-3])
    with pytest.raises(PeError, match="damaged"):
        other.load_model(path)
    path.write_bytes(whole)
    before = weights(other)
    for agents, match in ((build(kind, hidden=(9,), fc_hidden_sizes=(9,)), "has the shape"),
                          (build(IQLAgents if kind is not IQLAgents else VDNAgents), "is of"),
                          (build(kind, envs=3, **changes), "4 environments")):
        with pytest.raises(PeError, match=match):
            agents.load_model(path)
    assert equal(before, weights(other))


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


class Drawn(Unequal):
    """Its picture tells the environment's time."""

    def render(self):
        return np.full((2, 2, 3), self.time, np.uint8)


def test_the_video_of_the_best_episode_has_its_steps_and_one_picture_more(tmp_path):
    agents = build(IPPOAgents, render=True, render_mode="rgb_array", fps=5, log_dir=str(tmp_path))
    agents.test(3, test_envs=vector(Drawn, 2))
    assert agents.best_episode_video is not None
    if agents.best_episode_video.suffix == ".npz":
        assert np.load(agents.best_episode_video)["frames"][:, 0, 0, 0].tolist() == [0, 1, 2, 3, 4, 5]
    agents.config.render = False
    agents.test(1, test_envs=vector(Unequal, 2))
    assert agents.best_episode_video is None
