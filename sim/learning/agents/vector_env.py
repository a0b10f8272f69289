"""Several Gymnasium environments stepped together, with automatic reset and episode scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

Infos = list[dict[str, Any]]
Step = tuple[NDArray[Any], NDArray[np.float32], NDArray[np.bool_], NDArray[np.bool_], Infos]


class DummyVecEnv:
    """Environments stepped one after another in this process.

    An environment that ends is reset within the step: the observation returned is the last of the episode, and
    ``infos[i]['reset_obs']`` the first of the next, with 'episode_step' and 'episode_score' of the one that ended.

    Args:
        env_fns: what makes each environment.
        env_seed: environment i is first reset with ``env_seed`` + i; None for no seed.

    Attributes:
        num_envs: number of environments.
        max_episode_steps: step limit of the first one, or 0 where it says none.
        buf_obs: present observations, (num_envs, ...).
    """

    def __init__(self, env_fns: list[Callable[[], gym.Env[Any, Any]]], env_seed: int | None = None) -> None:
        self.envs = [make() for make in env_fns]
        self.num_envs = len(self.envs)
        self.observation_space, self.action_space = self.envs[0].observation_space, self.envs[0].action_space
        spec = self.envs[0].spec
        self.max_episode_steps = int((spec.max_episode_steps if spec is not None else None) or 0)
        self._seed = env_seed
        self._steps = np.zeros(self.num_envs, np.int64)
        self._scores = np.zeros(self.num_envs)
        shape = (self.num_envs, *(self.observation_space.shape or ()))
        self.buf_obs = np.zeros(shape, self.observation_space.dtype)

    def reset(self) -> tuple[NDArray[Any], Infos]:
        """Begin an episode everywhere; return observations and infos."""
        infos = []
        for i, env in enumerate(self.envs):
            seed = None if self._seed is None else self._seed + i
            self.buf_obs[i], info = env.reset(seed=seed)
            infos.append(info)
        self._seed = None
        self._steps[:], self._scores[:] = 0, 0.0
        return self.buf_obs.copy(), infos

    def step(self, actions: NDArray[Any]) -> Step:
        """Step every environment; return observations, rewards, terminals, truncations, infos."""
        obs, infos = np.zeros_like(self.buf_obs), []
        rewards = np.zeros(self.num_envs, np.float32)
        terminals, truncations = np.zeros(self.num_envs, np.bool_), np.zeros(self.num_envs, np.bool_)
        for i, (env, action) in enumerate(zip(self.envs, actions, strict=True)):
            obs[i], reward, terminals[i], truncations[i], info = env.step(action)
            rewards[i] = float(reward)
            self._steps[i] += 1
            self._scores[i] += float(reward)
            info = {**info, "episode_step": int(self._steps[i]), "episode_score": float(self._scores[i])}
            self.buf_obs[i] = obs[i]
            if terminals[i] or truncations[i]:
                self.buf_obs[i], _ = env.reset()
                info["reset_obs"] = self.buf_obs[i].copy()
                self._steps[i], self._scores[i] = 0, 0.0
            infos.append(info)
        return obs, rewards, terminals, truncations, infos

    def render(self, mode: str = "rgb_array") -> list[Any]:
        """Return a frame of every environment."""
        del mode  # Gymnasium's environments know their mode from the beginning
        return [env.render() for env in self.envs]

    def close(self) -> None:
        """Close all environments."""
        for env in self.envs:
            env.close()
