"""Several Gymnasium environments stepped together, with automatic reset and episode scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from pe_sim.errors import PeError
from pe_sim.learning.agents.environment_slot import EnvironmentSlot
from pe_sim.learning.agents.vector_base import EnvVector, InThisProcess

Infos = list[dict[str, Any]]
Step = tuple[NDArray[Any], NDArray[np.float32], NDArray[np.bool_], NDArray[np.bool_], Infos]
Maker = Callable[[], gym.Env[Any, Any]]


class VecEnv(EnvVector):
    """Environments stepped together.

    An environment that ends is reset within the step: the observation returned is the last of the episode, and
    ``infos[i]['reset_obs']`` the first of the next, with 'episode_step' and 'episode_score' of the one that ended.

    Args:
        num_envs: number of environments.
        described: spaces and step limit of the first one.
        env_seed: environment i is first reset with ``env_seed`` + i; None for no seed.

    Attributes:
        num_envs: number of environments.
        observation_space, action_space: of each.
        max_episode_steps: step limit of the first one, or 0 where it says none.
        buf_obs: present observations, (num_envs, ...).
    """

    def __init__(
        self, num_envs: int, described: tuple[gym.Space[Any], gym.Space[Any], int], env_seed: int | None
    ) -> None:
        super().__init__(num_envs, env_seed)
        self.observation_space, self.action_space, self.max_episode_steps = described
        shape = (self.num_envs, *(self.observation_space.shape or ()))
        self.buf_obs = np.zeros(shape, self.observation_space.dtype)

    def reset(self) -> tuple[NDArray[Any], Infos]:
        """Begin an episode everywhere; return observations and infos."""
        begun = self._begin()
        for i, (seen, _) in enumerate(begun):
            self.buf_obs[i] = seen
        return self.buf_obs.copy(), [info for _, info in begun]

    def step(self, actions: NDArray[Any]) -> Step:
        """Step every environment; return observations, rewards, terminals, truncations, infos.

        Raises:
            PeError: if there is not one action for each environment.
        """
        if len(actions) != self.num_envs:
            raise PeError("actions", f"must be one for each of {self.num_envs} environments", len(actions))
        stepped = self._each("step", [(action,) for action in actions])
        obs = np.zeros_like(self.buf_obs)
        for i, (seen, _, _, _, info) in enumerate(stepped):
            obs[i] = seen
            self.buf_obs[i] = info.get("reset_obs", seen)
        rewards = np.asarray([one[1] for one in stepped], np.float32)
        terminals, truncations = (np.asarray([one[k] for one in stepped], np.bool_) for k in (2, 3))
        return obs, rewards, terminals, truncations, [one[4] for one in stepped]

    def state(self) -> dict[str, Any]:
        """Return how the present states came about, as plain data."""
        return {"envs": self._each("state", [()] * self.num_envs), "obs": self.buf_obs.copy()}

    def restore(self, state: dict[str, Any]) -> None:
        """Come back to a :meth:`state`, by the seeds, generators and actions that led there.

        Raises:
            PeError: if the number of environments differs, or one does not come back to where it was.
        """
        for i, observation in enumerate(self._come_back(state["envs"])):
            self.buf_obs[i] = observation
            self._require_return(i, same=np.array_equal(self.buf_obs[i], state["obs"][i], equal_nan=True))


class DummyVecEnv(InThisProcess, VecEnv):
    """Environments stepped one after another in this process.

    Args:
        env_fns: what makes each environment.
        env_seed: environment i is first reset with ``env_seed`` + i; None for no seed.

    Attributes:
        envs: the environments.
    """

    def __init__(self, env_fns: list[Maker], env_seed: int | None = None) -> None:
        self._slots = slots = [EnvironmentSlot(make) for make in env_fns]
        self.envs = [slot.env for slot in slots]
        super().__init__(len(env_fns), slots[0].describe(), env_seed)
