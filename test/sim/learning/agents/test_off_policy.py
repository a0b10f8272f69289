"""The off-policy agent: the interface that users of XuanCe 1.4.4 know, exploring within bounds, counted exactly."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")

import torch
from torch import nn

from pe_sim.errors import PeError
from pe_sim.learning.agents.callbacks import BaseCallback
from pe_sim.learning.agents.ddpg import DDPGAgent
from pe_sim.learning.agents.dqn import DQNAgent
from pe_sim.learning.agents.off_policy import OffPolicyAgent
from pe_sim.learning.agents.sac import SACAgent
from pe_sim.learning.agents.td3 import TD3Agent

from .tasks import Clock, Line, Track, many, off_policy_settings, signature_of

GOLDEN = json.loads((Path(__file__).parent / "xuance_1_4_4.json").read_text())["OffPolicyAgent"]
BOUNDED = (DDPGAgent, TD3Agent, SACAgent)


class Idle(OffPolicyAgent):
    """Learns nothing, and counts how often."""

    def _build_policy(self):
        self.learner = SimpleNamespace(iterations=0)
        self.learner.update = self._learn
        return nn.ModuleDict()

    def _learn(self, **samples):
        self.learner.iterations += 1
        return {"number": float(self.learner.iterations)}

    def _best_actions(self, observations):
        return np.zeros((len(observations), *self.scale.shape), np.int64 if self.discrete else np.float32)


def spaces_only(agent, space, **changes):
    return agent(off_policy_settings(**changes), None, Line.observation_space, space)


@pytest.mark.parametrize("method", GOLDEN)
def test_signatures_are_those_of_the_golden_file(method):
    assert signature_of(getattr(OffPolicyAgent, method)) == GOLDEN[method]


@pytest.mark.parametrize("kind", [DQNAgent, *BOUNDED])
def test_built_from_spaces_it_infers_and_missing_spaces_raise(kind):
    space = gym.spaces.Discrete(3) if kind is DQNAgent else gym.spaces.Box(-2.0, 5.0, (2,), np.float32)
    built = spaces_only(kind, space)
    actions = built.get_actions(np.eye(5, dtype=np.float32))["actions"]
    assert len(actions) == 5
    assert all(space.contains(action) for action in actions)
    for call in (lambda: built.train(1), built.train_epochs):
        with pytest.raises(ValueError, match="only infers"):
            call()
    with pytest.raises(ValueError, match="observation_space"):
        kind(off_policy_settings())


@pytest.mark.parametrize(("kind", "space"), [
    (DQNAgent, gym.spaces.Box(-1.0, 1.0, (1,), np.float32)),
    *[(kind, gym.spaces.Discrete(2)) for kind in BOUNDED],
    *[(kind, gym.spaces.Box(-np.inf, np.inf, (1,), np.float32)) for kind in BOUNDED],
])
def test_spaces_that_an_algorithm_cannot_do_are_refused(kind, space):
    with pytest.raises(PeError, match="action_space"):
        spaces_only(kind, space)


@pytest.mark.parametrize("kind", [DQNAgent, *BOUNDED])
def test_in_test_mode_nothing_is_drawn(kind):
    built = kind(off_policy_settings(), many(Line if kind is DQNAgent else Track))
    seen = np.random.default_rng(1).uniform(-1, 1, (50, built.inputs)).astype(np.float32)
    before = built.generator.get_state()
    first, second = (built.get_actions(seen, test_mode=True)["actions"] for _ in range(2))
    assert np.array_equal(first, second)
    assert torch.equal(before, built.generator.get_state())
    explored = built.get_actions(seen)["actions"]
    assert not np.array_equal(explored, first)
    assert explored.shape == first.shape


def test_choices_are_replaced_for_every_environment_by_itself_with_their_probability():
    built = spaces_only(Idle, gym.spaces.Discrete(4), start_greedy=0.4, end_greedy=0.4)
    count = 20_000
    found = np.bincount(built.exploration(np.full(count, 2)), minlength=4)
    expected = count * np.asarray([0.1, 0.1, 0.7, 0.1])
    assert ((found - expected) ** 2 / expected).sum() < 16.3  # 3 degrees of freedom, 0.1 %


def test_noise_is_drawn_for_every_environment_in_parts_of_half_the_width_and_stays_within_bounds():
    low, high = np.asarray([-1.0, 0.0], np.float32), np.asarray([3.0, 10.0], np.float32)
    built = spaces_only(Idle, gym.spaces.Box(low, high), start_noise=0.1, end_noise=0.1)
    middle = np.tile((low + high) / 2, (20_000, 1))
    drawn = built.exploration(middle) - middle
    assert drawn.std(axis=0) == pytest.approx([0.1 * 2, 0.1 * 5], rel=0.03)  # 3 % is six standard errors
    assert np.corrcoef(drawn.T)[0, 1] == pytest.approx(0.0, abs=0.05)
    wide = spaces_only(Idle, gym.spaces.Box(low, high), start_noise=50.0, end_noise=50.0).exploration(middle)
    assert (wide >= low).all()
    assert (wide <= high).all()
    assert wide.dtype == np.float32


def test_without_settings_for_it_nothing_is_explored():
    built = spaces_only(Idle, gym.spaces.Discrete(4), start_greedy=None)
    assert built.e_greedy is None
    assert np.array_equal(built.exploration(np.arange(4)), np.arange(4))


@given(
    start=st.floats(0, 1), end=st.floats(0, 1), duration=st.integers(1, 1000), step=st.integers(0, 3000),
)
def test_a_schedule_is_a_straight_line_to_its_floor(start, end, duration, step):
    built = SCHEDULED
    built.config.start_greedy, built.config.end_greedy, built.config.decay_step_greedy = start, end, duration
    built.current_step = step
    expected = end if step >= duration else start + step / duration * (end - start)
    assert built.e_greedy == pytest.approx(expected, abs=1e-12)
    assert min(start, end) - 1e-12 <= built.e_greedy <= max(start, end) + 1e-12
    if step >= duration:
        assert built.e_greedy == end


SCHEDULED = spaces_only(Idle, gym.spaces.Discrete(4))


@settings(max_examples=40)
@given(
    n_envs=st.integers(1, 5), frequency=st.integers(1, 7), start=st.integers(0, 20), steps=st.integers(1, 15),
    epochs=st.integers(1, 2), split=st.integers(0, 15),
)
def test_updates_are_counted_exactly(n_envs, frequency, start, steps, epochs, split):
    config = off_policy_settings(training_frequency=frequency, start_training=start, n_epochs=epochs)
    built = Idle(config, many(Line, n_envs))
    built.train(min(split, steps))
    built.train(steps - min(split, steps))
    assert built.current_step == steps * n_envs
    assert built.learner.iterations == max(0, steps * n_envs - start) // frequency * epochs


class Order(BaseCallback):
    def __init__(self, stop_after: int = 10**9) -> None:
        self.calls, self._stop_after = [], stop_after

    def on_train_step(self, current_step, **kwargs):
        self.calls.append("step")
        assert {"obs", "acts", "next_obs", "rewards", "terminals", "truncations", "infos"} <= set(kwargs)

    def on_train_episode_info(self, **kwargs):
        self.calls.append("episode")
        assert kwargs["infos"][kwargs["env_id"]]["episode_step"] == 4

    def on_update_start(self, iterations, **kwargs):
        self.calls.append("update")

    def on_update_end(self, iterations, **kwargs):
        self.calls.append("updated")

    def on_train_epochs_end(self, current_step, **kwargs):
        self.calls.append("epochs")

    def on_train_step_end(self, current_step, **kwargs):
        self.calls.append("end")
        self.stop_training = current_step >= self._stop_after


def test_the_callback_is_called_at_each_stage_in_order_and_can_stop_the_training():
    order = Order(stop_after=8)
    config = off_policy_settings(training_frequency=4, start_training=4, start_greedy=0.0, end_greedy=0.0)
    built = Idle(config, many(lambda: Line(4), 2), callback=order)
    info = built.train(1000)
    learned = ["update", "updated", "epochs"]
    assert order.calls == [*["step", "end"] * 3, "step", "episode", "episode", *learned, "end"]
    assert built.current_step == 8
    assert info == {"number": 1.0, "epsilon-greedy": 0.0, "noise_scale": None}
    assert built.current_episode.tolist() == [1, 1]


def test_what_is_stored_is_what_was_seen_done_and_seen_next():
    built = Idle(off_policy_settings(start_greedy=1.0, end_greedy=1.0), many(lambda: Line(6), 3))
    built.train(200)
    data = built.memory.transitions()
    assert len(data) == 600
    before, after = data.observations.argmax(-1), data.next_observations.argmax(-1)
    moved = np.where(data.actions == 1, np.minimum(before + 1, 4), np.maximum(before - 1, 0))
    assert np.array_equal(moved, after)  # also where an episode ended: not what the next began with
    assert np.array_equal(data.terminals, after == 4)
    assert data.terminals.any()
    assert data.rewards == pytest.approx(np.where(after == 4, 0.95, -0.05))


@pytest.mark.parametrize("kind", [DQNAgent, SACAgent])
def test_a_test_counts_episodes_writes_nothing_and_leaves_the_training_alone(kind):
    make = (lambda: Line(5)) if kind is DQNAgent else Track
    built = kind(off_policy_settings(use_obsnorm=True), many(make))
    built.train(30)
    before = built.state()
    tests = many(make, 3, 9)
    scores = built.test(7, test_envs=tests, close_envs=False)
    assert len(scores) == 7
    np.testing.assert_equal(built.state(), before)
    if kind is DQNAgent:
        assert not any(env.closed for env in tests.envs)
        assert built.test(7, test_envs=tests) == scores
        assert all(env.closed for env in tests.envs)
    for envs in (None, built.train_envs):
        with pytest.raises(ValueError, match="test_envs"):
            built.test(1, test_envs=envs)
    built.config.update_rms = True
    count = built.obs_rms.count
    built.test(2, test_envs=many(make, 2))
    assert built.obs_rms.count > count


def test_every_environment_runs_its_share_of_a_test_however_short_its_episodes_are():
    lengths = [1, 9, 3]

    class Lasting(Line):
        def __init__(self, limit):
            super().__init__(limit)

        def step(self, action):
            self.time += 1
            return self._seen(), 1.0, False, self.time >= self.limit, {}

    from pe_sim.learning.agents.vector_env import DummyVecEnv

    tests = DummyVecEnv([lambda limit=limit: Lasting(limit) for limit in lengths])
    scores = spaces_only(Idle, Line.action_space).test(7, test_envs=tests)
    assert sorted(scores) == [1.0, 1.0, 1.0, 3.0, 3.0, 9.0, 9.0]


def test_samples_are_scaled_by_the_statistics_of_their_time():
    built = Idle(off_policy_settings(use_obsnorm=True, use_rewnorm=True), many(Track))
    seen = {}
    built.learner.update = lambda **samples: (seen.update(samples), {})[1]
    built.train(50)
    built.train_epochs(1)
    data = built.memory.transitions()
    raw = seen["obs"] * built.obs_rms.deviation + built.obs_rms.mean
    nearest = np.abs(raw[:, None] - data.observations[None]).min(axis=1)
    assert nearest.max() < 1e-5
    assert np.abs(seen["rewards"]).max() <= 5.0


def test_an_empty_memory_and_wrong_settings_are_named():
    with pytest.raises(PeError, match="holds no steps"):
        Idle(off_policy_settings(), many(Line)).train_epochs()
    with pytest.raises(PeError, match="training_frequency"):
        Idle(off_policy_settings(training_frequency=0), many(Line))
    with pytest.raises(PeError, match="buffer_size"):
        Idle(off_policy_settings(buffer_size=3), many(Line, 4))
    config = off_policy_settings()
    del config.buffer_size
    with pytest.raises(PeError, match=r"config\.buffer_size"):
        Idle(config, many(Line))


def test_noise_on_continuous_clock_keeps_its_shape():
    space = gym.spaces.Box(-1.0, 1.0, (2, 3), np.float32)
    built = TD3Agent(off_policy_settings(start_training=8), many(lambda: Clock(space, ends=True), 2))
    built.train(8)
    assert built.get_actions(np.eye(5, dtype=np.float32))["actions"].shape == (5, 2, 3)
    assert built.learner.iterations == 2
