"""How agents for one learner train by acting: one step of every environment, then what is to be learnt from it."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pe_sim.learning.agents.agent import Agent
from pe_sim.learning.agents.vector_env import Infos


@dataclass(frozen=True)
class Step:
    """One step of all environments, by environment, E of them.

    Attributes:
        raw: what was seen, (E, ...).
        obs: the same, scaled.
        acts: what was done, (E, ...).
        next_obs: what was seen then, not scaled; at the end of an episode the last of it.
        rewards: what followed, (E,).
        terminals: where the game has ended, (E,).
        truncations: where time is over, (E,).
    """

    raw: NDArray[Any]
    obs: NDArray[np.float32]
    acts: NDArray[Any]
    next_obs: NDArray[Any]
    rewards: NDArray[np.float32]
    terminals: NDArray[np.bool_]
    truncations: NDArray[np.bool_]


class OnlineAgent(Agent):
    """Base of agents that learn from steps of their own."""

    @abstractmethod
    def _choose(self, observations: NDArray[np.float32]) -> dict[str, Any]:
        """Return 'actions' to train with, and what was thought, for scaled observations."""

    def _told(self, out: dict[str, Any]) -> dict[str, Any]:
        """Return what else callbacks are told of a step, by what was thought."""
        del out
        return {}

    @abstractmethod
    def _remember(self, step: Step, told: dict[str, Any]) -> None:
        """Store a step, and what else is :meth:`_told` of it."""

    @abstractmethod
    def _updates_due(self) -> int:
        """Return how often to learn after the latest step."""

    def _require_trainable(self) -> None:
        self.training_envs()

    def _advance(self, info: dict[str, Any], train_steps: int) -> None:
        envs = self.training_envs()
        raw = envs.buf_obs.copy()
        self.obs_rms.update(raw.reshape(self.n_envs, -1))
        obs = self._process_observation(raw)
        out = self._choose(obs)
        next_obs, rewards, terminals, truncations, infos = envs.step(self._to_env(out["actions"]))
        told = self._told(out)
        self.callback.on_train_step(
            self.current_step, envs=envs, policy=self.policy, obs=obs, policy_out=out, acts=out["actions"],
            next_obs=next_obs, rewards=rewards, terminals=terminals, truncations=truncations, infos=infos,
            train_steps=train_steps, **told,
        )
        self._remember(Step(raw, obs, out["actions"], next_obs, rewards, terminals, truncations), told)
        self._end_episodes(rewards, terminals | truncations, infos, train_steps)
        for _ in range(self._updates_due()):
            self._learn_once(info, train_steps)
        self.current_step += self.n_envs

    def _end_episodes(self, rewards: NDArray[Any], over: NDArray[Any], infos: Infos, train_steps: int) -> None:
        """Follow the discounted returns, and tell the callback of episodes that ended."""
        self.returns = self.gamma * self.returns + rewards
        self.ret_rms.update(self.returns[:, None])
        for i in np.nonzero(over)[0]:
            self.returns[i] = 0.0
            self.current_episode[i] += 1
            self.callback.on_train_episode_info(
                envs=self.train_envs, policy=self.policy, env_id=int(i), infos=infos, current_step=self.current_step,
                current_episode=self.current_episode, train_steps=train_steps,
            )
