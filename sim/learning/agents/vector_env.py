"""Several Gymnasium environments stepped together, with automatic reset and episode scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from pe_sim.errors import PeError
from pe_sim.learning.agents.environment_slot import EnvironmentSlot

Infos = list[dict[str, Any]]
Step = tuple[NDArray[Any], NDArray[np.float32], NDArray[np.bool_], NDArray[np.bool_], Infos]
Maker = Callable[[], gym.Env[Any, Any]]


class VecEnv(ABC):
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
        self.num_envs, self._seed = num_envs, env_seed
        self.observation_space, self.action_space, self.max_episode_steps = described
        shape = (self.num_envs, *(self.observation_space.shape or ()))
        self.buf_obs = np.zeros(shape, self.observation_space.dtype)

    @abstractmethod
    def _each(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call a method of every environment's slot, each with its arguments; return the results in order."""

    def reset(self) -> tuple[NDArray[Any], Infos]:
        """Begin an episode everywhere; return observations and infos."""
        seeds = [None if self._seed is None else self._seed + i for i in range(self.num_envs)]
        begun = self._each("reset", [(seed,) for seed in seeds])
        self._seed = None
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

    def render(self, mode: str = "rgb_array") -> list[Any]:
        """Return a frame of every environment."""
        del mode  # Gymnasium's environments know their mode from the beginning
        return self._each("render", [()] * self.num_envs)

    def record(self, *, on: bool) -> None:
        """Add 'frame' to every info, drawn before an automatic reset, and 'reset_frame', drawn after it; or stop."""
        self._each("record", [(on,)] * self.num_envs)

    def state(self) -> dict[str, Any]:
        """Return how the present states came about, as plain data."""
        return {"envs": self._each("state", [()] * self.num_envs), "obs": self.buf_obs.copy()}

    def restore(self, state: dict[str, Any]) -> None:
        """Come back to a :meth:`state`, by the seeds, generators and actions that led there.

        Raises:
            PeError: if the number of environments differs, or one does not come back to where it was.
        """
        if len(state["envs"]) != self.num_envs:
            raise PeError("envs", f"must be {len(state['envs'])}, as they were", self.num_envs)
        seen = self._each("restore", [(one,) for one in state["envs"]])
        self._seed = None
        for i, observation in enumerate(seen):
            self.buf_obs[i] = observation
            if not np.array_equal(self.buf_obs[i], state["obs"][i], equal_nan=True):
                cure = "draw from its np_random only, and make it with what it was made with"
                raise PeError(f"environment {i}", "does not come back to where it was", cure=cure)

    @abstractmethod
    def close(self) -> None:
        """Close all environments."""


class DummyVecEnv(VecEnv):
    """Environments stepped one after another in this process.

    Args:
        env_fns: what makes each environment.
        env_seed: environment i is first reset with ``env_seed`` + i; None for no seed.

    Attributes:
        envs: the environments.
    """

    def __init__(self, env_fns: list[Maker], env_seed: int | None = None) -> None:
        self._slots = [EnvironmentSlot(make) for make in env_fns]
        self.envs = [slot.env for slot in self._slots]
        super().__init__(len(env_fns), self._slots[0].describe(), env_seed)

    def _each(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        return [getattr(slot, method)(*given) for slot, given in zip(self._slots, arguments, strict=True)]

    def close(self) -> None:
        """Close all environments."""
        for slot in self._slots:
            slot.close()
