"""The on-policy agent: collects a horizon of steps, learns from it, forgets it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from argparse import Namespace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from numpy.typing import NDArray

from pe_sim.learning.agents.callbacks import BaseCallback
from pe_sim.learning.agents.on_policy_memory import OnPolicyMemory
from pe_sim.learning.agents.vector_env import DummyVecEnv
from pe_sim.learning.checkpoint import read_checkpoint, write_checkpoint
from pe_sim.learning.networks import plain, tensors
from pe_sim.learning.normaliser import RunningNormaliser


class OnPolicyAgent(ABC):
    """Base of on-policy agents; an algorithm builds networks (:meth:`_build_policy`) and a learner.

    Built without environments, from spaces, it only infers.

    Args:
        config: settings: seed, gamma, horizon_size, n_epochs, n_minibatch, gae_lambda, use_advnorm, use_obsnorm,
            use_rewnorm, obsnorm_range, rewnorm_range, parallels, render, fps, render_mode, update_rms (whether tests
            change the statistics of observations: default no), and those of the algorithm.
        envs: training environments.
        observation_space, action_space: where there are no environments.
        callback: called at each stage.

    Attributes:
        current_step: environment steps so far.
        current_episode: episodes ended in each environment, (n_envs,).
        learner: has ``update(**samples) -> dict`` and ``policy``.
    """

    learner: Any

    def __init__(
        self,
        config: Namespace,
        envs: DummyVecEnv | None = None,
        observation_space: gym.Space[Any] | None = None,
        action_space: gym.Space[Any] | None = None,
        callback: BaseCallback | None = None,
    ) -> None:
        self.config, self.train_envs = config, envs
        if envs is None:
            if observation_space is None or action_space is None:
                raise ValueError("give observation_space and action_space where there are no envs: networks need them")
            self.n_envs = int(config.parallels)
            self.observation_space, self.action_space = observation_space, action_space
        else:
            envs.reset()
            self.n_envs = envs.num_envs
            self.observation_space, self.action_space = envs.observation_space, envs.action_space
        self.callback = callback or BaseCallback()
        self.generator = torch.Generator().manual_seed(int(config.seed))
        self.gamma, self.gae_lam = float(config.gamma), float(config.gae_lambda)
        self.horizon_size, self.n_epochs = int(config.horizon_size), int(config.n_epochs)
        self.n_minibatch = int(config.n_minibatch)
        self.discrete = isinstance(self.action_space, gym.spaces.Discrete)
        self.obs_rms = RunningNormaliser(int(np.prod(self.observation_space.shape or (1,))))
        self.ret_rms = RunningNormaliser(1)
        self.returns = np.zeros(self.n_envs)
        self.current_step, self.current_episode = 0, np.zeros(self.n_envs, np.int32)
        self.policy = self._build_policy()
        self.memory = self._build_memory()

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
    def _build_policy(self) -> Any:
        """Return the networks and set :attr:`learner`."""

    @abstractmethod
    def _evaluate(self, observations: NDArray[Any], deterministic: bool) -> dict[str, Any]:
        """Return 'actions', 'values', 'dists' and 'log_pi' for scaled observations."""

    def _process_observation(self, observations: NDArray[Any]) -> NDArray[np.float32]:
        """Return observations scaled by the running statistics, if so configured."""
        if not self.config.use_obsnorm:
            return np.asarray(observations, np.float32)
        bound = float(self.config.obsnorm_range)
        mean, deviation = (x.reshape(observations.shape[1:]) for x in (self.obs_rms.mean, self.obs_rms.deviation))
        scaled: NDArray[np.float32] = np.clip((observations - mean) / deviation, -bound, bound).astype(np.float32)
        return scaled

    def _process_reward(self, rewards: NDArray[Any]) -> NDArray[Any]:
        """Return rewards divided by the deviation of returns, if so configured."""
        if not self.config.use_rewnorm:
            return rewards
        bound = float(self.config.rewnorm_range)
        scaled: NDArray[Any] = np.clip(rewards / max(float(self.ret_rms.deviation[0]), 0.1), -bound, bound)
        return scaled

    def get_terminated_values(
        self, observations_next: NDArray[Any], rewards: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        """Return the critic's values of what was seen last, (n_envs,)."""
        del rewards
        values: NDArray[Any] = self._evaluate(self._process_observation(observations_next), True)["values"]  # noqa: FBT003
        return values

    def get_actions(
        self, observations: NDArray[Any], deterministic: bool = False, return_dists: bool = False,
        return_logpi: bool = False,
    ) -> dict[str, Any]:
        """Return 'actions', 'values', 'dists' and 'log_pi' for scaled observations; the last two None unless asked."""
        out = self._evaluate(observations, deterministic)
        return {
            "actions": out["actions"], "values": out["values"], "dists": out["dists"] if return_dists else None,
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
                info = self.learner.update(**self.memory.sample(part))
        return info

    def train(self, train_steps: int) -> dict[str, Any]:
        """Step all environments ``train_steps`` times; learn whenever the memory is full; return its last metrics."""
        envs, info = self.train_envs, {}
        if envs is None:
            raise ValueError("this agent was built without envs: it only infers")
        for _ in range(train_steps):
            raw = envs.buf_obs.copy()
            self.obs_rms.update(raw.reshape(self.n_envs, -1))
            obs = self._process_observation(raw)
            out = self.get_actions(obs, return_logpi=True)
            next_obs, rewards, terminals, truncations, infos = envs.step(self._to_env(out["actions"]))
            stage = {
                "envs": envs, "policy": self.policy, "obs": obs, "policy_out": out, "acts": out["actions"],
                "vals": out["values"], "next_obs": next_obs, "rewards": rewards, "terminals": terminals,
                "truncations": truncations, "infos": infos, "train_steps": train_steps,
            }
            self.callback.on_train_step(self.current_step, **stage)
            aux = self.get_aux_info(out)
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

    def _end_episodes(self, rewards: NDArray[Any], over: Any, infos: list[dict[str, Any]], train_steps: int) -> None:
        self.returns = self.gamma * self.returns + rewards
        self.ret_rms.update(self.returns[:, None])
        for i in np.nonzero(over)[0]:
            self.returns[i] = 0.0
            self.current_episode[i] += 1
            self.callback.on_train_episode_info(
                envs=self.train_envs, policy=self.policy, env_id=int(i), infos=infos, current_step=self.current_step,
                current_episode=self.current_episode, train_steps=train_steps,
            )

    def _to_env(self, actions: NDArray[Any]) -> NDArray[Any]:
        """Return actions as the environments take them: continuous ones clipped to the space."""
        space = self.action_space
        return np.clip(actions, space.low, space.high) if isinstance(space, gym.spaces.Box) else actions

    def test(
        self, test_episodes: int, deterministic_policy: bool = True, test_envs: DummyVecEnv | None = None,
        close_envs: bool = True,
    ) -> list[float]:
        """Run episodes to their ends and return the score of each; nothing is stored and no training env is touched."""
        if test_envs is None:
            raise ValueError("give test_envs: the training environments are not tested in")
        scores: list[float] = []
        obs, _ = test_envs.reset()
        while len(scores) < test_episodes:
            if getattr(self.config, "update_rms", False):
                self.obs_rms.update(obs.reshape(len(obs), -1))
            out = self.get_actions(self._process_observation(obs), deterministic=deterministic_policy)
            obs, rewards, terminals, truncations, infos = test_envs.step(self._to_env(out["actions"]))
            self.callback.on_test_step(
                envs=test_envs, policy=self.policy, obs=obs, policy_out=out, rewards=rewards, terminals=terminals,
                truncations=truncations, infos=infos, current_train_step=self.current_step,
                current_episode=len(scores),
            )
            for i in np.nonzero(terminals | truncations)[0]:
                obs[i] = infos[i]["reset_obs"]
                if len(scores) < test_episodes:
                    scores.append(infos[i]["episode_score"])
        self.callback.on_test_end(
            envs=test_envs, policy=self.policy, current_train_step=self.current_step, scores=scores,
            best_score=max(scores, default=-np.inf),
        )
        if close_envs:
            test_envs.close()
        return scores

    def save_model(self, model_name: str, model_path: str | Path | None = None) -> Path:
        """Write networks, optimiser, statistics and random generator to ``model_path``/``model_name``.

        Raises:
            PeError: if it cannot be written.
        """
        path = Path(model_path or ".") / model_name
        state = {
            "policy": plain(self.policy.state_dict()), "learner": plain(self.learner.state()),
            "obs_rms": self.obs_rms.state(), "ret_rms": self.ret_rms.state(), "step": self.current_step,
            "generator": self.generator.get_state().numpy().copy(),
        }
        write_checkpoint(path, state)
        return path

    def load_model(self, path: str | Path, model: str | None = None) -> None:
        """Read what :meth:`save_model` wrote; ``model`` is its name where ``path`` is the directory.

        Raises:
            PeError: if it is missing, damaged or no such file.
        """
        state = read_checkpoint(Path(path) / model if model else Path(path))
        self.policy.load_state_dict(tensors(state["policy"]))
        self.learner.restore(tensors(state["learner"]))
        self.obs_rms.restore(state["obs_rms"])
        self.ret_rms.restore(state["ret_rms"])
        self.current_step = int(state["step"])
        self.generator.set_state(torch.tensor(state["generator"]))
