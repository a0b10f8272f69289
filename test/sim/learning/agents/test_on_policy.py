"""The on-policy agent: the interface that users of XuanCe 1.4.4 know, counted exactly, and it learns."""

from __future__ import annotations

import json
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")

import torch

from pe_sim.errors import PeError
from pe_sim.learning.agents.callbacks import BaseCallback
from pe_sim.learning.agents.on_policy import OnPolicyAgent
from pe_sim.learning.agents.on_policy_memory import OnPolicyMemory
from pe_sim.learning.agents.ppo import PPOAgent
from pe_sim.learning.agents.vector_env import DummyVecEnv

from .tasks import Line, Target, Track, many, on_policy_settings, signature_of

GOLDEN = json.loads((Path(__file__).parent / "xuance_1_4_4.json").read_text())


def lines(count: int = 4, limit: int = 20) -> DummyVecEnv:
    return DummyVecEnv([lambda: Line(limit) for _ in range(count)], env_seed=1)


def agent(callback: BaseCallback | None = None, envs: DummyVecEnv | None = None, **changes) -> PPOAgent:
    return PPOAgent(on_policy_settings(**changes), envs or lines(), callback=callback)


@pytest.mark.parametrize("method", GOLDEN["OnPolicyAgent"])
def test_signatures_are_those_of_the_golden_file(method):
    assert signature_of(getattr(OnPolicyAgent, method)) == GOLDEN["OnPolicyAgent"][method]


def test_built_from_spaces_it_infers_and_missing_spaces_raise():
    built = PPOAgent(on_policy_settings(), None, Line.observation_space, Line.action_space)
    assert built.get_actions(np.eye(5, dtype=np.float32))["actions"].shape == (5,)
    with pytest.raises(ValueError, match="only infers"):
        built.train(1)
    for given in ({}, {"observation_space": Line.observation_space}, {"action_space": Line.action_space}):
        with pytest.raises(ValueError, match="action_space"):
            PPOAgent(on_policy_settings(), **given)


def test_actions_come_with_four_keys_and_what_was_asked_for():
    seen = np.eye(5, dtype=np.float32)
    plain = agent().get_actions(seen)
    assert set(plain) == {"actions", "values", "dists", "log_pi"}
    assert plain["dists"] is None
    assert plain["log_pi"] is None
    full = agent().get_actions(seen, return_dists=True, return_logpi=True)
    expected = [float(d.log_prob(torch.tensor(a))) for d, a in zip(full["dists"], full["actions"], strict=True)]
    assert full["log_pi"] == pytest.approx(expected, abs=1e-6)


def test_log_probabilities_of_continuous_actions_are_those_in_their_units():
    built = PPOAgent(on_policy_settings(), None, Target.observation_space, Target.action_space)
    out = built.get_actions(np.zeros((6, 1), np.float32), return_dists=True, return_logpi=True)
    pairs = zip(out["dists"], out["actions"], strict=True)
    assert out["log_pi"] == pytest.approx([float(d.log_prob(torch.tensor(a)).sum()) for d, a in pairs], abs=1e-5)


def test_deterministic_actions_are_the_most_probable_and_draws_have_their_probabilities():
    built = agent()
    with torch.no_grad():
        built.policy["actor"].body.head.bias.copy_(torch.tensor([1.0, 0.0]))
        built.policy["actor"].body.head.weight.zero_()
    seen = np.zeros((10_000, 5), np.float32)
    assert not built.get_actions(seen, deterministic=True)["actions"].any()
    share = 1 / (1 + np.e)
    found = built.get_actions(seen)["actions"].sum()
    assert (found - 10_000 * share) ** 2 / (10_000 * share * (1 - share)) < 10.8  # 1 degree of freedom, 0.1 %


class Count(BaseCallback):
    def __init__(self, stop_after: int = 10**9) -> None:
        self.calls: list[str] = []
        self.updates = self.episodes = 0
        self._stop_after = stop_after

    def on_train_step(self, current_step, **kwargs):
        self.calls.append("step")

    def on_train_epochs_end(self, current_step, **kwargs):
        self.calls.append("epochs")
        self.updates += 1

    def on_train_episode_info(self, **kwargs):
        self.calls.append("episode")
        self.episodes += 1

    def on_train_step_end(self, current_step, **kwargs):
        self.calls.append("end")
        self.stop_training = current_step >= self._stop_after


def test_steps_updates_and_episodes_are_counted_exactly():
    count = Count()
    built = agent(count, lines(3, limit=4), horizon_size=8)
    built.train(20)
    assert built.current_step == 20 * 3
    assert count.updates == 20 // 8
    assert count.episodes == built.current_episode.sum() >= 3 * 5
    assert count.calls[0] == "step"
    assert count.calls[-1] == "end"
    assert count.calls.count("step") == count.calls.count("end") == 20
    where = count.calls.index("epochs")
    assert count.calls[where + 1] == "end"


def test_without_a_critic_values_are_0():
    class NoCritic(PPOAgent):
        def _evaluate(self, observations, deterministic):
            return {**super()._evaluate(observations, deterministic), "values": None}

    built = NoCritic(on_policy_settings(horizon_size=4), lines(2, limit=3))
    assert built.get_actions(np.eye(5, dtype=np.float32))["values"] == 0
    assert not built.get_terminated_values(np.eye(5, dtype=np.float32)).any()
    built.train(3)
    assert not built.memory.values.any()


def test_an_update_is_announced_and_what_the_callback_returns_is_added_to_the_metrics():
    class Adds(BaseCallback):
        def __init__(self):
            self.calls = []

        def on_update_start(self, iterations, **kwargs):
            self.calls.append(("start", iterations))
            assert {"policy", "obs", "advantages"} <= set(kwargs)

        def on_update_end(self, iterations, **kwargs):
            self.calls.append(("end", iterations))
            return {"mine": float(iterations)}

    callback = Adds()
    metrics = agent(callback, horizon_size=4, n_epochs=1, n_minibatch=2).train(4)
    assert callback.calls == [("start", 0), ("end", 1), ("start", 1), ("end", 2)]
    assert metrics["mine"] == 2.0


def test_the_statistics_scale_what_the_policy_sees_and_the_rewards_it_learns_from():
    built = PPOAgent(on_policy_settings(use_obsnorm=True, use_rewnorm=True, obsnorm_range=2), many(Track))
    built.train(10)
    mean, spread = built.obs_rms.mean, built.obs_rms.deviation
    given = np.asarray([[0.3], [100.0]])
    assert built._process_observation(given)[:, 0] == pytest.approx([(0.3 - mean[0]) / spread[0], 2.0], rel=1e-5)
    assert built._process_reward(np.asarray([0.2])) == pytest.approx(0.2 / max(built.ret_rms.deviation[0], 0.1))


def test_without_gae_an_advantage_is_what_was_returned_less_the_value():
    built = agent(None, lines(1), use_gae=False, horizon_size=4, gamma=0.5)
    assert built.gae_lam == 1.0
    built.train(3)
    rewards, values = built.memory.rewards[:, 0], built.memory.values[:, 0]
    built.memory.ptr = 3
    built.memory.finish_path(0.0, 0)
    returned = rewards[0] + 0.5 * rewards[1] + 0.25 * rewards[2]
    assert built.memory.advantages()[0, 0] == pytest.approx(returned - values[0])


def test_a_missing_setting_and_a_space_that_cannot_be_are_named():
    config = on_policy_settings()
    del config.learning_rate
    with pytest.raises(PeError, match=r"config\.learning_rate"):
        PPOAgent(config, lines())
    with pytest.raises(PeError, match=r"config\.device"):
        PPOAgent(on_policy_settings(device="cuda:0"), lines())
    for space in (gym.spaces.MultiDiscrete([2, 2]), gym.spaces.Discrete(2, start=1)):
        with pytest.raises(PeError, match="action_space"):
            PPOAgent(on_policy_settings(), None, Line.observation_space, space)
    with pytest.raises(PeError, match="observation_space"):
        PPOAgent(on_policy_settings(), None, gym.spaces.Dict({"a": Line.observation_space}), Line.action_space)


def test_a_loss_that_is_not_finite_is_an_error():
    built = agent(horizon_size=4)
    with torch.no_grad():
        built.policy["critic"].body.head.bias.fill_(float("nan"))
    with pytest.raises(PeError, match="not finite"):
        built.train(4)


def test_a_callback_can_stop_the_training():
    built = agent(Count(stop_after=12), lines(4))
    built.train(1000)
    assert built.current_step == 12


def test_minibatches_cover_every_index_once():
    built, seen = agent(), []
    built.train(15)
    built.memory.store(*(np.zeros(s, np.float32) for s in ((4, 5), 4, 4, 4)), np.zeros(4, bool),
                       {"old_logp": np.zeros(4), "drawn": np.zeros(4)})
    sample = built.memory.sample
    built.memory.sample = lambda indexes: (seen.append(indexes), sample(indexes))[1]
    metrics = built.train_epochs(2)
    assert len(seen) == 2 * 4
    assert sorted(np.concatenate(seen[:4])) == list(range(64)) == sorted(np.concatenate(seen[4:]))
    assert {"actor_loss", "critic_loss", "entropy"} <= set(metrics)


def test_a_terminal_state_is_worth_nothing_and_a_timeout_what_would_have_followed():
    stored: list[tuple[float, int]] = []
    built = agent(None, lines(2, limit=3), horizon_size=64)
    built.memory.finish_path = lambda value, i: stored.append((value, i))
    last = np.stack([np.eye(5)[4], np.eye(5)[2]]).astype(np.float32)
    built._end_paths(last, np.zeros(2), np.asarray([True, False]), np.asarray([False, True]))
    assert stored[0] == (0.0, 0)
    assert stored[1][0] == pytest.approx(float(built.get_terminated_values(last)[1]))
    assert stored[1][0] != 0.0


def test_the_memory_has_the_advantages_of_each_environment_alone():
    memory = OnPolicyMemory(2, 3, (1,), (), gamma=0.9, gae_lambda=0.8)
    for t in range(3):
        values, ended = np.asarray([0.5, 0.2]) * t, np.asarray([t == 1, False])
        memory.store(np.zeros((2, 1)), np.zeros(2), np.asarray([1.0, 2.0]), values, ended, {})
    memory.finish_path(3.0, 0)
    memory.finish_path(4.0, 1)
    found = memory.advantages()
    last = 1.0 + 0.9 * 3.0 - 1.0
    assert found[:, 0] == pytest.approx([1 + 0.9 * 0.5 - 0 + 0.72 * (1 - 0.5), 1 - 0.5, last])
    two = 2 + 0.9 * 4 - 0.4
    one = 2 + 0.9 * 0.4 - 0.2 + 0.72 * two
    assert found[:, 1] == pytest.approx([2 + 0.9 * 0.2 + 0.72 * one, one, two])


def test_a_test_counts_episodes_writes_nothing_and_leaves_the_training_alone():
    built, tests = agent(use_obsnorm=True), lines(3, limit=5)
    built.train(5)
    before = (built.obs_rms.state(), built.memory.ptr, built.current_step, built.train_envs.envs[0].resets)
    weights = [p.clone() for p in built.policy.parameters()]
    scores = built.test(7, test_envs=tests, close_envs=False)
    assert len(scores) == 7
    assert not any(env.closed for env in tests.envs)
    assert all(torch.equal(a, b) for a, b in zip(weights, built.policy.parameters(), strict=True))
    after = (built.obs_rms.state(), built.memory.ptr, built.current_step, built.train_envs.envs[0].resets)
    assert str(before) == str(after)
    again = built.test(7, test_envs=tests)
    assert again == scores  # deterministic by default, in a world without chance
    assert all(env.closed for env in tests.envs)
    for envs in (None, built.train_envs):
        with pytest.raises(ValueError, match="test_envs"):
            built.test(1, test_envs=envs)
    built.config.update_rms = True
    built.test(2, test_envs=lines(2))
    assert built.obs_rms.count > before[0]["count"]


def test_saved_and_loaded_it_goes_on_to_the_same_bits(tmp_path):
    one = agent()
    one.train(32)
    path = one.save_model("model.bin", tmp_path)
    other = agent(seed=5)
    other.load_model(tmp_path, "model.bin")
    assert other.current_step == one.current_step == 128
    seen = np.eye(5, dtype=np.float32)
    a, b = one.get_actions(seen, return_logpi=True), other.get_actions(seen, return_logpi=True)
    assert all(np.array_equal(a[key], b[key]) for key in ("actions", "values", "log_pi"))
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(PeError, match="damaged"):
        other.load_model(path)
