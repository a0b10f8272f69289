"""Small environments with known answers, and the settings that agents need for them."""

from __future__ import annotations

import inspect
from argparse import Namespace

import gymnasium as gym
import numpy as np

from pe_sim.learning.agents.vector_env import DummyVecEnv


class Line(gym.Env):
    """Five places; the last one pays and ends, and time is up after ``limit`` steps."""

    observation_space = gym.spaces.Box(-1.0, 1.0, (5,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def __init__(self, limit: int = 20) -> None:
        self.limit, self.closed, self.resets = limit, False, 0

    def _seen(self):
        return np.eye(5, dtype=np.float32)[self.place]

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.time = 0, 0
        self.resets += 1
        return self._seen(), {}

    def step(self, action):
        assert self.action_space.contains(int(action))
        self.place = min(4, self.place + 1) if action else max(0, self.place - 1)
        self.time += 1
        done = self.place == 4
        return self._seen(), float(done) - 0.05, done, self.time >= self.limit and not done, {}

    def close(self):
        self.closed = True


class Target(gym.Env):
    """Paid for nearness of the action to 3 in [0, 4]; every episode one step."""

    observation_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)
    action_space = gym.spaces.Box(0.0, 4.0, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action):
        assert self.action_space.contains(action)
        return np.zeros(1, np.float32), -abs(float(action[0]) - 3.0), True, False, {}


class Track(gym.Env):
    """A point on a line that is to be at 0: it moves up to half a unit a step, costs its square, and has 8 steps.

    Actions are from -1 to 3, so that 1 is to stay: scaling is needed.
    """

    observation_space = gym.spaces.Box(-2.0, 2.0, (1,), np.float32)
    action_space = gym.spaces.Box(-1.0, 3.0, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.time = self.np_random.uniform(-1.0, 1.0), 0
        return np.asarray([self.x], np.float32), {}

    def step(self, action):
        assert self.action_space.contains(action)
        self.x = float(np.clip(self.x + 0.25 * (float(action[0]) - 1.0), -2.0, 2.0))
        self.time += 1
        return np.asarray([self.x], np.float32), -(self.x**2), False, self.time >= 8, {}


def best_track_score(x: float) -> float:
    """The highest score from x: as far towards 0 as a step goes."""
    score = 0.0
    for _ in range(8):
        x -= np.clip(x, -0.5, 0.5)
        score -= x**2
    return score


class Clock(gym.Env):
    """Pays 1 a step for five steps. Ending, it shows the time; where only time runs out, it shows nothing."""

    observation_space = gym.spaces.Box(0.0, 1.0, (5,), np.float32)

    def __init__(self, action_space: gym.Space, *, ends: bool) -> None:
        self.action_space, self.ends = action_space, ends

    def _seen(self):
        return np.eye(5, dtype=np.float32)[min(self.time, 4)] if self.ends else np.ones(5, np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        return self._seen(), {}

    def step(self, action):
        self.time += 1
        over = self.time == 5
        return self._seen(), 1.0, over and self.ends, over and not self.ends, {}


def on_policy_settings(**changes) -> Namespace:
    values = {
        "seed": 1, "gamma": 0.95, "gae_lambda": 0.95, "horizon_size": 16, "n_epochs": 4, "n_minibatch": 4,
        "use_advnorm": True, "use_obsnorm": False, "use_rewnorm": False, "obsnorm_range": 5, "rewnorm_range": 5,
        "parallels": 4, "learning_rate": 0.01, "clip_range": 0.2, "ent_coef": 0.0, "vf_coef": 0.25,
        "grad_clip_norm": 0.5, "hidden": (32,),
    }
    return Namespace(**{**values, **changes})


def off_policy_settings(**changes) -> Namespace:
    values = {
        "seed": 1, "gamma": 0.9, "parallels": 4, "buffer_size": 4000, "batch_size": 32, "start_training": 64,
        "training_frequency": 4, "learning_rate": 3e-3, "learning_rate_actor": 1e-3, "learning_rate_critic": 3e-3,
        "tau": 0.02, "sync_frequency": 20, "start_greedy": 1.0, "end_greedy": 0.1, "decay_step_greedy": 1000,
        "start_noise": 0.5, "end_noise": 0.1, "running_steps": 2000, "hidden": (32, 32),
    }
    return Namespace(**{**values, **changes})


def many(make, count: int = 4, seed: int | None = 1) -> DummyVecEnv:
    return DummyVecEnv([make] * count, env_seed=seed)


def signature_of(function) -> list[list]:
    """Parameters as the golden file has them."""
    parameters = list(inspect.signature(function).parameters.values())[1:]
    empty = inspect.Parameter.empty
    return [[p.name] if p.default is empty else [p.name, p.default] for p in parameters]
