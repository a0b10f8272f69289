"""Each on-policy algorithm takes the right gradient, and learns."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")

import torch

from pe_sim.engagement import parse
from pe_sim.envs.single_pursuit import SinglePursuit
from pe_sim.learning.agents.a2c import A2CAgent
from pe_sim.learning.agents.ppo import PPOAgent
from pe_sim.learning.agents.vector_env import DummyVecEnv

from ...files import grid_file  # noqa: TID252 - shared by one room
from .tasks import Line, Target, Track, best_track_score, many, on_policy_settings


def lines(count: int = 4) -> DummyVecEnv:
    return many(Line, count)


def agent(envs: DummyVecEnv, **changes) -> PPOAgent:
    return PPOAgent(on_policy_settings(**changes), envs)


def test_ppo_learns_to_walk_to_the_end():
    built = agent(lines(8))
    before = np.mean(built.test(8, test_envs=lines(8)))
    built.train(16 * 15)
    after = np.mean(built.test(8, test_envs=lines(8)))
    assert after == pytest.approx(1.0 - 4 * 0.05)  # four steps, the fewest
    assert before < after


def test_ppo_learns_a_continuous_action_within_its_bounds():
    built = agent(DummyVecEnv([Target for _ in range(8)]), gamma=0.0, learning_rate=0.02)
    built.train(16 * 20)
    action = built.get_actions(np.zeros((1, 1), np.float32), deterministic=True)["actions"]
    assert action[0, 0] == pytest.approx(3.0, abs=0.3)


def test_a2c_takes_the_policy_gradient():
    built = A2CAgent(on_policy_settings(vf_coef=0.0, grad_clip_norm=None), lines())
    seen, drawn = np.eye(5, dtype=np.float32)[:2], np.asarray([0.0, 1.0], np.float32)
    advantages = np.asarray([2.0, -1.0])
    head = built.policy["actor"].body.head
    probabilities = torch.softmax(built.policy["actor"].body(torch.tensor(seen)), -1).detach().numpy()
    built.learner.optimisers["policy"].step = lambda: None  # the gradient stays to be looked at
    built.learner.update(seen, drawn, np.zeros(2), np.zeros(2), advantages, {"drawn": drawn})
    # d(-A log p(a))/d(logits) = -A (onehot(a) - p), averaged
    expected = -(advantages[:, None] * (np.eye(2)[drawn.astype(int)] - probabilities)).mean(axis=0)
    assert head.bias.grad.numpy() == pytest.approx(expected, abs=1e-6)


def test_a2c_learns_to_walk_to_the_end():
    built = A2CAgent(on_policy_settings(n_epochs=1, n_minibatch=1), lines(8))
    built.train(16 * 40)
    assert np.mean(built.test(8, test_envs=lines(8))) == pytest.approx(1.0 - 4 * 0.05)


def test_a2c_learns_values():
    built = A2CAgent(on_policy_settings(n_epochs=1, n_minibatch=2, learning_rate=0.01, gamma=0.9), many(Track, 8))
    before = np.mean(built.test(40, test_envs=many(Track, 4, 100)))
    built.train(16 * 60)
    after = np.mean(built.test(40, test_envs=many(Track, 4, 100)))
    best = np.mean([best_track_score(x) for x in np.linspace(-1, 1, 101)])
    assert after - before > 0.9 * (best - before)


def test_it_trains_on_an_engagement_file():
    engagement = parse(grid_file(rules={"max_step": 8}))
    envs = DummyVecEnv([lambda: SinglePursuit(engagement, "pursuer_0") for _ in range(2)], env_seed=3)
    built = agent(envs, horizon_size=8)
    metrics = built.train(16)
    assert np.isfinite(metrics["critic_loss"])
    assert built.current_episode.sum() >= 2


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", [PPOAgent, A2CAgent])
def test_the_pole_is_balanced(kind):
    changes = {"n_epochs": 1, "n_minibatch": 1, "horizon_size": 32, "learning_rate": 7e-4} if kind is A2CAgent else {}
    config = on_policy_settings(**{
        "gamma": 0.98, "horizon_size": 128, "n_epochs": 8, "n_minibatch": 8, "learning_rate": 1e-3, "hidden": (64, 64),
        "use_obsnorm": True, **changes,
    })
    built, best = kind(config, many(lambda: gym.make("CartPole-v1"), 8)), 0.0
    for _ in range(4):
        built.train(3200)
        best = max(best, np.mean(built.test(20, test_envs=many(lambda: gym.make("CartPole-v1"), 4, 99))))
    assert best > 450.0
