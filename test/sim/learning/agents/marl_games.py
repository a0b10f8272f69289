"""Small games with several agents whose best results are known."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import gymnasium as gym
import numpy as np

from pe_sim.learning.agents.marl_vector_env import DummyVecMultiAgentEnv


class Game:
    """A game of the PettingZoo parallel kind; what happens is in :meth:`play`."""

    possible_agents: tuple[str, ...] = ("a_0", "a_1")
    limit = 10

    def __init__(self) -> None:
        self.observation_spaces = {a: self.sees(a) for a in self.possible_agents}
        self.action_spaces = {a: self.does(a) for a in self.possible_agents}
        self.resets = self.closed = 0
        self.np_random = np.random.default_rng(0)

    def sees(self, agent: str) -> gym.Space:
        return gym.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def does(self, agent: str) -> gym.Space:
        return gym.spaces.Discrete(2)

    def look(self, agent: str) -> Any:
        return np.ones(1, np.float32)

    def begin(self) -> None:
        """Put everything where an episode begins."""

    def play(self, actions: dict[str, Any]) -> tuple[dict[str, float], set[str]]:
        """Return rewards, and for whom the game has ended."""
        raise NotImplementedError

    def own_infos(self) -> dict[str, Any]:
        return {a: {} for a in self.possible_agents}

    def reset(self, seed=None, options=None):
        if seed is not None:
            self.np_random = np.random.default_rng(seed)
        self.time, self.agents = 0, list(self.possible_agents)
        self.resets += 1
        self.begin()
        return {a: self.look(a) for a in self.agents}, self.own_infos()

    def step(self, actions):
        assert sorted(actions) == sorted(self.agents)
        assert all(self.action_spaces[a].contains(x) or isinstance(x, int) for a, x in actions.items())
        self.time += 1
        before = self.agents
        rewards, ended = self.play(actions)
        late = self.time >= self.limit
        self.agents = [] if late else [a for a in before if a not in ended]
        return (
            {a: self.look(a) for a in before}, {a: rewards.get(a, 0.0) for a in before},
            {a: a in ended for a in before}, {a: late and a not in ended for a in before}, self.own_infos(),
        )

    def close(self):
        self.closed += 1


class Matrix(Game):
    """One step; both get the payoff of their pair of choices."""

    payoff = ((11.0, -30.0, 0.0), (-30.0, 7.0, 6.0), (0.0, 0.0, 5.0))
    """The climbing game (Claus and Boutilier, 1998)."""

    def does(self, agent):
        return gym.spaces.Discrete(len(self.payoff))

    def play(self, actions):
        value = self.payoff[actions["a_0"]][actions["a_1"]]
        return dict.fromkeys(actions, value), set(actions)


class Easy(Matrix):
    """The best pair is the best for each whatever the other does."""

    payoff = ((0.0, 1.0), (1.0, 3.0))


class TwoStep(Game):
    """Rashid et al. (2018): the first agent picks one of two matrices; the best is 8, a sum of values finds only 7."""

    payoffs = ((7.0, 7.0), (7.0, 7.0)), ((0.0, 1.0), (1.0, 8.0))
    state_space = gym.spaces.Box(0.0, 1.0, (3,), np.float32)

    def sees(self, agent):
        return gym.spaces.Box(0.0, 1.0, (3,), np.float32)

    def look(self, agent):
        return self.state()

    def state(self):
        return np.eye(3, dtype=np.float32)[self.place]

    def begin(self):
        self.place = 0

    def play(self, actions):
        if self.place == 0:
            self.place = 1 + actions["a_0"]
            return dict.fromkeys(actions, 0.0), set()
        value = self.payoffs[self.place - 1][actions["a_0"]][actions["a_1"]]
        return dict.fromkeys(actions, value), set(actions)


class Unequal(Game):
    """Agents with unequal observations and actions; one leaves after two steps, time is up after five."""

    possible_agents = ("scout_0", "hunter_0", "hunter_1")
    limit = 5

    def sees(self, agent):
        return gym.spaces.Box(-1.0, 1.0, (2,) if agent == "scout_0" else (3,), np.float32)

    def does(self, agent):
        return gym.spaces.Discrete(4) if agent == "scout_0" else gym.spaces.Discrete(3)

    def look(self, agent):
        return np.full(self.observation_spaces[agent].shape, 0.1 * min(self.time + 1, self.limit), np.float32)

    def own_infos(self):
        return {a: {"action_mask": np.arange(self.action_spaces[a].n) != self.time % 2} for a in self.possible_agents}

    def play(self, actions):
        for agent, action in actions.items():
            assert action != (self.time - 1) % 2, f"{agent} did what it may not"
        return {a: float(x) for a, x in actions.items()}, {"scout_0"} if self.time == 2 else set()


class Remember(Game):
    """What is to be said at the end is only shown at the beginning: there is no doing well without memory."""

    limit = 3
    state_space = gym.spaces.Box(-1.0, 3.0, (3,), np.float32)

    def state(self):
        return np.asarray([self.time, *self.word.values()], np.float32)

    def begin(self):
        self.word = {a: int(self.np_random.integers(2)) for a in self.possible_agents}

    def look(self, agent):
        return np.asarray([2.0 * self.word[agent] - 1.0 if self.time == 0 else 0.0], np.float32)

    def play(self, actions):
        over = self.time == self.limit
        return {a: float(over and actions[a] == self.word[a]) for a in actions}, set(actions) if over else set()


class Credit(Game):
    """Each of three is shown which of three choices is right; all are paid the share of those who were."""

    possible_agents = ("a_0", "a_1", "a_2")
    limit = 1

    def sees(self, agent):
        return gym.spaces.Box(0.0, 1.0, (3,), np.float32)

    def does(self, agent):
        return gym.spaces.Discrete(3)

    def begin(self):
        self.right = {a: int(self.np_random.integers(3)) for a in self.possible_agents}

    def look(self, agent):
        return np.eye(3, dtype=np.float32)[self.right[agent]]

    def play(self, actions):
        return dict.fromkeys(actions, float(np.mean([actions[a] == self.right[a] for a in actions]))), set(actions)


class Chase(Game):
    """Two pursuers with four directions after one that walks at random on 5 x 5; every step costs 0.1."""

    limit = 25
    moves = ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))

    def sees(self, agent):
        return gym.spaces.Box(-1.0, 1.0, (6,), np.float32)

    def does(self, agent):
        return gym.spaces.Discrete(5)

    def begin(self):
        self.prey = self.np_random.integers(0, 5, 2)
        self.at = {a: self.np_random.integers(0, 5, 2) for a in self.possible_agents}

    def look(self, agent):
        other = self.at["a_1" if agent == "a_0" else "a_0"]
        mine = self.at[agent]
        return np.concatenate([self.prey - mine, other - mine, mine - 2]).astype(np.float32) / 4.0

    def caught(self):
        return any(np.array_equal(self.prey, place) for place in self.at.values())

    def play(self, actions):
        for agent, action in actions.items():
            self.at[agent] = np.clip(self.at[agent] + self.moves[action], 0, 4)
        if not self.caught():
            self.prey = np.clip(self.prey + self.moves[self.np_random.integers(5)], 0, 4)
        return dict.fromkeys(actions, -0.1), set(actions) if self.caught() else set()

    def greedy(self, agent):
        """The direction that brings it nearer, along the longer way first."""
        d = self.prey - self.at[agent]
        axis = int(np.argmax(np.abs(d)))
        return 0 if not d.any() else (1 if axis == 0 else 3) + int(d[axis] < 0)


class Meet(Game):
    """Continuous: best, at 0, is the first at -1.5 and the sum of all values at -0.5; in the middle it is -4.5."""

    limit = 1

    def does(self, agent):
        low, high, size = (-2.0, 2.0, 1) if agent == "a_0" else (0.0, 1.0, 2)
        return gym.spaces.Box(low, high, (size,), np.float32)

    def play(self, actions):
        total = float(sum(np.sum(x) for x in actions.values()))
        return dict.fromkeys(actions, -((total + 0.5) ** 2) - (float(actions["a_0"][0]) + 1.5) ** 2), set(actions)


def vector(game: type[Game], count: int = 4, seed: int | None = 1) -> DummyVecMultiAgentEnv:
    return DummyVecMultiAgentEnv([game] * count, seed)


def settings(**changes: Any) -> Namespace:
    values = {
        "seed": 1, "gamma": 0.95, "gae_lambda": 0.95, "buffer_size": 64, "n_epochs": 4, "n_minibatch": 2,
        "use_advnorm": True, "parallels": 4, "learning_rate": 0.01, "clip_range": 0.2, "ent_coef": 0.01, "vf_coef": 0.5,
        "grad_clip_norm": 1.0, "hidden": (16,), "use_parameter_sharing": False, "use_actions_mask": True,
        "fc_hidden_sizes": (16,), "recurrent_hidden_size": 16,
    }
    return Namespace(**{**values, **changes})


def same(a: Any, b: Any) -> bool:
    """Whether two nested values are the same to the bit."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return bool(np.array_equal(a, b, equal_nan=True)) if isinstance(a, np.ndarray | float) else a == b
