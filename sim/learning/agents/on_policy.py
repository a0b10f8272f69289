"""The on-policy agent: collects a horizon of steps, learns from it, forgets it."""

from __future__ import annotations

from abc import abstractmethod
from argparse import Namespace
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from numpy.typing import NDArray

from pe_sim.learning.agents.agent import Agent
from pe_sim.learning.agents.callbacks import BaseCallback
from pe_sim.learning.agents.on_policy_memory import OnPolicyMemory
from pe_sim.learning.agents.settings import setting
from pe_sim.learning.agents.vector_env import VecEnv


class OnPolicyAgent(Agent):
    """Base of on-policy agents.

    Args:
        config: settings: those of :class:`~pe_sim.learning.agents.agent.Agent`, horizon_size, n_minibatch, gae_lambda,
            use_gae (without it an advantage is what the horizon returned less the value), use_advnorm, and those of the
            algorithm.
        envs: training environments.
        observation_space, action_space: where there are no environments.
        callback: called at each stage.
    """

    def __init__(
        self,
        config: Namespace,
        envs: VecEnv | None = None,
        observation_space: gym.Space[Any] | None = None,
        action_space: gym.Space[Any] | None = None,
        callback: BaseCallback | None = None,
    ) -> None:
        super().__init__(config, envs, observation_space, action_space, callback)
        self.gae_lam = float(setting(config, "gae_lambda")) if getattr(config, "use_gae", True) else 1.0
        self.horizon_size, self.n_minibatch = int(setting(config, "horizon_size")), int(setting(config, "n_minibatch"))
        self.memory: OnPolicyMemory = self._build_memory()

    def _build_memory(self, auxiliary_info_shape: Any = None) -> OnPolicyMemory:
        """Return an empty memory of one horizon; auxiliary values take the shape of what is stored first."""
        del auxiliary_info_shape
        self.buffer_size = self.n_envs * self.horizon_size
        self.batch_size = self.buffer_size // self.n_minibatch
        return OnPolicyMemory(
            self.n_envs, self.horizon_size, self.observation_space.shape or (), self.action_space.shape or (),
            gamma=self.gamma, gae_lambda=self.gae_lam,
        )

    @abstractmethod
    def _evaluate(self, observations: NDArray[Any], deterministic: bool) -> dict[str, Any]:
        """Return 'actions', 'values' (None without a critic) and 'log_pi' for scaled observations."""

    @abstractmethod
    def _distributions(self, observations: NDArray[Any]) -> list[Any]:
        """Return the distribution of actions for each of some scaled observations."""

    def get_terminated_values(
        self, observations_next: NDArray[Any], rewards: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        """Return the critic's values of what was seen last, (n_envs,); 0 without a critic."""
        del rewards
        values = self._evaluate(self._process_observation(observations_next), True)["values"]  # noqa: FBT003
        return np.zeros(len(observations_next)) if values is None else np.asarray(values)

    def get_actions(
        self, observations: NDArray[Any], deterministic: bool = False, return_dists: bool = False,
        return_logpi: bool = False,
    ) -> dict[str, Any]:
        """Return 'actions', 'values', 'dists' and 'log_pi' for scaled observations.

        'values' is 0 without a critic; the last two are None unless asked for.
        """
        out = self._evaluate(observations, deterministic)
        return {
            "actions": out["actions"], "values": 0 if out["values"] is None else out["values"],
            "dists": self._distributions(observations) if return_dists else None,
            "log_pi": out["log_pi"] if return_logpi else None,
        }

    def get_aux_info(self, policy_output: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return what else is to be stored with a step."""
        del policy_output
        return {}

    def train_epochs(self, n_epochs: int = 1) -> dict[str, float]:
        """Learn from the memory; every epoch goes over every step once. Return the last minibatch's metrics."""
        info: dict[str, float] = {}
        self.memory.prepare(use_advnorm=bool(self.config.use_advnorm))
        for _ in range(n_epochs):
            order = torch.randperm(self.buffer_size, generator=self.generator).numpy()
            for part in np.array_split(order, self.n_minibatch):
                info = self._update(self.memory.sample(part))
        return info

    def train(self, train_steps: int) -> dict[str, Any]:
        """Step all environments ``train_steps`` times; learn whenever the memory is full; return its last metrics."""
        envs, info = self.training_envs(), {}
        for _ in range(train_steps):
            raw = envs.buf_obs.copy()
            self.obs_rms.update(raw.reshape(self.n_envs, -1))
            obs = self._process_observation(raw)
            out = self.get_actions(obs, return_logpi=True)
            next_obs, rewards, terminals, truncations, infos = envs.step(self._to_env(out["actions"]))
            aux = self.get_aux_info(out)
            self.callback.on_train_step(
                self.current_step, envs=envs, policy=self.policy, obs=obs, policy_out=out, acts=out["actions"],
                vals=out["values"], next_obs=next_obs, rewards=rewards, terminals=terminals, truncations=truncations,
                infos=infos, aux_info=aux, train_steps=train_steps,
            )
            self.memory.store(obs, out["actions"], self._process_reward(rewards), out["values"], terminals, aux)
            self._end_paths(next_obs, rewards, terminals, truncations)
            self._end_episodes(rewards, terminals | truncations, infos, train_steps)
            if self.memory.full:
                info.update(self.train_epochs(self.n_epochs))
                self.callback.on_train_epochs_end(
                    self.current_step, policy=self.policy, memory=self.memory, update_info=info,
                    current_episode=self.current_episode, train_steps=train_steps,
                )
                self.memory.clear()
            self.current_step += self.n_envs
            self.callback.on_train_step_end(
                self.current_step, envs=envs, policy=self.policy, train_steps=train_steps, train_info=info
            )
            if self.callback.stop_training:
                break
        return info

    def _end_paths(self, next_obs: NDArray[Any], rewards: NDArray[Any], terminals: Any, truncations: Any) -> None:
        """End paths: with 0 at a terminal state, with the value of what was seen last where time or memory is over."""
        cut = np.nonzero(~terminals & (truncations | self.memory.full))[0]
        for i in np.nonzero(terminals)[0]:
            self.memory.finish_path(0.0, int(i))
        if len(cut):
            values = self.get_terminated_values(next_obs, rewards)
            for i in cut:
                self.memory.finish_path(float(values[i]), int(i))

    def test(
        self, test_episodes: int, deterministic_policy: bool = True, test_envs: VecEnv | None = None,
        close_envs: bool = True,
    ) -> list[float]:
        """Run episodes to their ends and return the score of each; nothing is stored and no training env is touched.

        Raises:
            ValueError: without ``test_envs``.
        """
        if test_envs is None:
            raise ValueError("give test_envs: the training environments are not tested in")
        return self._run_test(
            lambda obs: self.get_actions(obs, deterministic=deterministic_policy), test_episodes, test_envs,
            close_envs=close_envs,
        )
