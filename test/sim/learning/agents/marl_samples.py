"""Multi-agent cores and samples of what they did, for tests of what an algorithm computes."""

from __future__ import annotations

import copy

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")

import torch

from .marl_games import Game, Unequal, settings, vector

REMEMBERING = {"buffer_size": 400, "batch_size": 16, "n_epochs": 1, "sequence_length": 4, "start_training": 10**9}


def on(kind, game=Unequal, envs=4, **changes):
    return kind(settings(**{"buffer_size": 8 * envs, "sequence_length": 4, **changes}), vector(game, envs))


def off(kind, game=Unequal, envs=4, **changes):
    return kind(settings(**{**REMEMBERING, **changes}), vector(game, envs))


def horizon(agents) -> dict:
    """One horizon, not learnt from."""
    kept: list[dict] = []

    def take(sample):
        kept.append(agents.memory.sample(np.arange(agents.memory.units)))  # in order, not shuffled
        return {}

    agents.update = take
    agents.n_epochs, agents.n_minibatch = 1, 1
    agents.train(agents.memory.steps)
    del agents.update
    return kept[0]


def past(agents, steps=12) -> dict:
    agents.train(steps)
    return agents.memory.sample(np.random.default_rng(0))


def learnt(agents, sample, names=None) -> dict:
    """The weights after an update, all the rest being as it was."""
    before = copy.deepcopy(agents.state())
    agents.update(sample)
    out = {n: p.detach().clone() for n, p in agents.policy.named_parameters() if names is None or n.startswith(names)}
    agents._restore(before)
    return out


def close(a, b) -> bool:
    return a.keys() == b.keys() and all(torch.allclose(a[n], b[n], atol=1e-6) for n in a)


def spoilt(sample, names, agent=None):
    """The sample with garbage wherever an agent did not decide; or everywhere, of one agent."""
    out, rng = copy.deepcopy(sample), np.random.default_rng(5)
    for name in names:
        for a, values in out[name].items():
            places = ~sample["agent_mask"][a] if agent is None else np.full(values.shape[:2], a == agent)
            if values.dtype.kind == "f":
                values[places] = rng.normal(50.0, 10.0, values[places].shape)
            elif values.dtype.kind == "i":
                values[places] = 2
    return out


def certain(agents, values):
    """Have every network say the same of every observation: values[name][choice]."""
    with torch.no_grad():
        for name, biases in values.items():
            for net in agents.policy[name].values():
                net.head.weight.zero_()
                net.head.bias.copy_(torch.tensor(biases))


def hand_sample(agents, steps, rewards, terminals, actions=0) -> dict:
    """One sample of steps of two agents that see nothing."""
    shape = (1, len(steps))
    column = {a: np.zeros((*shape, 1), np.float32) for a in agents.agent_keys}
    return {
        "obs": column, "obs_next": column, "episode_steps": np.asarray([steps]),
        "actions": {a: np.full(shape, actions) for a in column},
        "agent_mask": {a: np.ones(shape, bool) for a in column},
        "rewards": {a: np.asarray([rewards], np.float32) + i for i, a in enumerate(column)},
        "terminals": {a: np.asarray([terminals]) for a in column},
    }


class Clock(Game):
    """The state is the time and the number of the environment; time is up after three steps."""

    limit, made = 3, 0
    state_space = gym.spaces.Box(0.0, 99.0, (2,), np.float32)

    def __init__(self):
        super().__init__()
        self.number = Clock.made
        Clock.made += 1

    def state(self):
        return np.asarray([self.time, self.number], np.float32)

    def play(self, actions):
        return dict.fromkeys(actions, 1.0), {"a_1"} if self.number == 1 and self.time == 3 else set()
