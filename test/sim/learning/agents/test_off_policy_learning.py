"""Each off-policy algorithm finds what is known exactly, and learns."""

from __future__ import annotations

import itertools

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")

import torch

from pe_sim.engagement import parse
from pe_sim.envs.single_pursuit import SinglePursuit
from pe_sim.learning.agents.callbacks import BaseCallback
from pe_sim.learning.agents.ddpg import DDPGAgent
from pe_sim.learning.agents.dqn import DQNAgent
from pe_sim.learning.agents.q_networks import SquashedGaussianActor
from pe_sim.learning.agents.sac import SACAgent
from pe_sim.learning.agents.td3 import TD3Agent
from pe_sim.learning.agents.vector_env import DummyVecEnv

from ...files import grid_file  # noqa: TID252 - shared by one room
from .tasks import Clock, Line, Track, best_track_score, many, off_policy_settings

KINDS = (DQNAgent, DDPGAgent, TD3Agent, SACAgent)


def exact_line_values(gamma: float) -> np.ndarray:
    """Q* of every place but the last, by value iteration: stay left or go right."""
    values, q = np.zeros(5), np.zeros((4, 2))
    for _ in range(200):
        for s in range(4):
            left, right = max(0, s - 1), s + 1
            q[s] = [gamma * values[left] - 0.05, (1.0 if right == 4 else gamma * values[right]) - 0.05]
        values[:4] = q.max(axis=1)
    return q


@pytest.mark.parametrize("double", [False, True])
def test_dqn_finds_the_exact_values_of_every_choice(double):
    config = off_policy_settings(end_greedy=1.0, start_greedy=1.0, use_double=double, sync_frequency=25)
    built = DQNAgent(config, many(Line))  # acts at random: what it learns is not what it does
    built.train(1200)
    with torch.no_grad():
        found = built.policy["q"](torch.eye(5))[:4].numpy()
    assert found == pytest.approx(exact_line_values(0.9), abs=0.04)
    assert built.test(4, test_envs=many(Line)) == pytest.approx([1.0 - 4 * 0.05] * 4)


def judged(built, seen: np.ndarray) -> np.ndarray:
    """What an agent thinks of doing its best."""
    seen = torch.tensor(seen)
    with torch.no_grad():
        if isinstance(built, DQNAgent):
            return built.policy["q"](seen).max(-1).values.numpy()
        critic, actor = built.policy["critic" if isinstance(built, DDPGAgent) else "critic_1"], built.policy["actor"]
        return critic(seen, actor.mode(seen) if isinstance(built, SACAgent) else actor(seen)).numpy()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ends", [False, True])
def test_time_that_runs_out_ends_no_game_and_a_game_that_ends_is_worth_nothing_more(kind, ends):
    space = gym.spaces.Discrete(2) if kind is DQNAgent else gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
    config = off_policy_settings(
        gamma=0.5, tau=0.1, sync_frequency=10, use_automatic_entropy_tuning=False, alpha=1e-6, hidden=(16,),
        learning_rate=0.01, learning_rate_critic=0.01, start_training=200, training_frequency=1, batch_size=64,
    )
    built = kind(config, many(lambda: Clock(space, ends=ends)))
    built.train(120)
    if ends:  # 1 + 1/2 + 1/4 + ... as far as the time left goes
        expected = [2.0 - 0.5**left for left in range(4, -1, -1)]
        assert judged(built, np.eye(5, dtype=np.float32)) == pytest.approx(expected, abs=0.1)
    else:  # 1 + 1/2 + 1/4 + ... for ever; were the last step an end, it would be 1.67
        assert judged(built, np.ones((1, 5), np.float32)) == pytest.approx([2.0], abs=0.1)


@pytest.mark.parametrize("kind", KINDS[1:])
def test_values_are_learned_nearly_to_the_best_score_there_is(kind):
    built = kind(off_policy_settings(batch_size=64), many(Track))
    before = np.mean(built.test(40, test_envs=many(Track, 4, 100)))
    built.train(500)
    after = np.mean(built.test(40, test_envs=many(Track, 4, 100)))
    best = np.mean([best_track_score(x) for x in np.linspace(-1, 1, 101)])
    assert after - before > 0.95 * (best - before)


def test_log_probabilities_of_squashed_draws_are_those_of_their_density():
    generator = torch.Generator().manual_seed(3)
    actor = SquashedGaussianActor(generator, (8,), 2, 1)
    seen = torch.tensor([[0.3, -0.7]]).expand(200_000, 2)
    with torch.no_grad():
        drawn, log_prob = actor.sample(seen, generator)
        mean, log_std = actor.body(seen[:1]).chunk(2, dim=-1)
        normal = torch.distributions.Normal(mean, log_std.exp())
        expected = torch.distributions.TransformedDistribution(normal, torch.distributions.TanhTransform())
        near = drawn[:, 0].abs() < 0.99  # torch inverts tanh, which rounding spoils at its ends
        assert torch.allclose(log_prob[near], expected.log_prob(drawn)[:, 0][near], atol=1e-3)
        # The density integrates to one: E[1/p] over draws is the length of the interval.
        inside = near.float()
        assert float((inside * (-log_prob).exp()).mean()) == pytest.approx(2 * 0.99, rel=0.03)
        assert torch.equal(actor.mode(seen[:1]), torch.tanh(mean))


@pytest.mark.parametrize(("aim", "sign"), [(-10.0, -1.0), (10.0, 1.0)])
def test_the_temperature_falls_where_there_is_more_entropy_than_aimed_at_and_rises_where_there_is_less(aim, sign):
    built = SACAgent(off_policy_settings(target_entropy=aim, alpha=0.3), many(Track))
    built.train(4)
    assert built.policy["temperature"].log_alpha.item() == pytest.approx(np.log(0.3))
    assert built.train_epochs(1)["alpha"] == pytest.approx(0.3)
    # The first step of Adam is as long as its learning rate.
    assert built.policy["temperature"].log_alpha.item() == pytest.approx(np.log(0.3) + sign * 1e-3, abs=1e-6)


def test_an_entropy_that_is_left_open_is_aimed_at_by_the_number_of_values():
    assert SACAgent(off_policy_settings(target_entropy=None), many(Track)).learner.target_entropy == -1.0


def test_followers_move_by_tau_and_copies_at_their_frequency():
    built = DDPGAgent(off_policy_settings(tau=0.25, start_training=0), many(Track))
    built.train(1)
    before = {name: p.clone() for name, p in built.policy["target_actor"].named_parameters()}
    built.train_epochs(1)
    for name, after in built.policy["target_actor"].named_parameters():
        source = dict(built.policy["actor"].named_parameters())[name]
        assert torch.allclose(after, before[name] + 0.25 * (source - before[name]), atol=1e-6)
    copies = DQNAgent(off_policy_settings(sync_frequency=3), many(Line))
    copies.train(2)
    equal = []
    for _ in range(6):
        copies.train_epochs(1)
        pairs = zip(copies.policy["q"].parameters(), copies.policy["target_q"].parameters(), strict=True)
        equal.append(all(torch.equal(a, b) for a, b in pairs))
    assert equal == [False, False, True, False, False, True]


def test_td3_waits_with_its_actor_and_judges_by_the_lower_opinion():
    built = TD3Agent(off_policy_settings(actor_update_delay=3, target_noise=0.0), many(Track))
    built.train(3)
    weights = []
    for _ in range(6):
        weights.append(built.policy["actor"].body.head.weight.clone())
        built.train_epochs(1)
    moved = [not torch.equal(a, b) for a, b in itertools.pairwise(weights)]
    assert moved == [False, False, True, False, False]
    with torch.no_grad():
        built.policy["target_critic_2"].body.head.bias -= 10.0
        lower = built.learner._following(np.zeros((4, 1), np.float32))
        seen = torch.zeros(4, 1)
        assert torch.allclose(lower, built.policy["target_critic_2"](seen, built.policy["target_actor"](seen)))


def pursuit_envs(count: int, seed: int) -> DummyVecEnv:
    terms = [
        {"term": "capture", "team": "pursuers", "weight": 1}, {"term": "distance", "team": "pursuers", "weight": -0.05}
    ]
    engagement = parse(grid_file(rules={"max_step": 30, "rewards": {"terms": terms}}))
    return DummyVecEnv([lambda: SinglePursuit(engagement, "pursuer_0")] * count, env_seed=seed)


class Durations(BaseCallback):
    def __init__(self) -> None:
        self.steps = []

    def on_test_step(self, **kwargs):
        over = kwargs["terminals"] | kwargs["truncations"]
        self.steps += [kwargs["infos"][i]["episode_step"] for i in np.nonzero(over)[0]]


def mean_time_to_capture(built) -> float:
    built.callback = Durations()
    built.test(40, test_envs=pursuit_envs(4, 500))
    return float(np.mean(built.callback.steps))


def test_dqn_learns_to_pursue_in_an_engagement():
    config = off_policy_settings(
        gamma=0.95, use_obsnorm=True, decay_step_greedy=1500, sync_frequency=50, learning_rate=2e-3, batch_size=64,
        start_training=200,
    )
    built = DQNAgent(config, pursuit_envs(4, 1))
    before = mean_time_to_capture(built)
    built.train(750)
    assert before > 10.0
    assert mean_time_to_capture(built) < 4.0


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", KINDS[1:])
def test_the_pendulum_is_swung_up(kind):
    config = off_policy_settings(
        gamma=0.98, buffer_size=50_000, batch_size=128, start_training=1000, training_frequency=2, hidden=(64, 64),
        running_steps=40_000, end_noise=0.05, start_noise=0.3, tau=0.01, learning_rate_critic=1e-3,
    )
    built = kind(config, many(lambda: gym.make("Pendulum-v1")))
    built.train(10_000)
    assert np.mean(built.test(20, test_envs=many(lambda: gym.make("Pendulum-v1"), 4, 99))) > -250.0


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_dqn_balances_the_pole():
    config = off_policy_settings(
        gamma=0.99, buffer_size=100_000, batch_size=64, start_training=1000, training_frequency=256, n_epochs=128,
        hidden=(256, 256), decay_step_greedy=8000, end_greedy=0.04, learning_rate=2.3e-3, sync_frequency=128,
    )
    built, best = DQNAgent(config, many(lambda: gym.make("CartPole-v1"))), 0.0
    for _ in range(6):  # it comes and goes, as is known of DQN here
        built.train(2500)
        best = max(best, np.mean(built.test(20, test_envs=many(lambda: gym.make("CartPole-v1"), 4, 99))))
    assert best > 400.0
