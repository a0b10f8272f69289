"""One environment of a vector: it counts, resets itself, hands out frames and can come back to where it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from pe_sim.learning.agents.slot import RESUMABLE, Slot

Step = tuple[NDArray[Any], float, bool, bool, dict[str, Any]]


class EnvironmentSlot(Slot):
    """An environment of the Gymnasium kind, with automatic reset.

    Args:
        make: makes the environment.

    Attributes:
        env: the environment.
    """

    env: gym.Env[Any, Any]

    def __init__(self, make: Callable[[], gym.Env[Any, Any]]) -> None:
        super().__init__(make())
        self._steps, self._score = 0, 0.0

    @property
    def inner(self) -> Any:
        """The environment itself, without what is wrapped around it."""
        return self.env.unwrapped

    def describe(self) -> tuple[gym.Space[Any], gym.Space[Any], int]:
        """Return observation space, action space and the limit of steps, 0 where there is none."""
        spec = self.env.spec
        limit = int((spec.max_episode_steps if spec is not None else None) or 0)
        return self.env.observation_space, self.env.action_space, limit

    def reset(self, seed: int | None) -> tuple[NDArray[Any], dict[str, Any]]:
        """Begin an episode, with a seed also a new sequence of episodes."""
        if seed is not None:
            self._seed, self._random = seed, None
            return self._begin(*self.env.reset(seed=seed))
        self._random = self.inner.np_random.bit_generator.state
        return self._begin(*self.env.reset())

    def _begin(self, observation: NDArray[Any], info: dict[str, Any]) -> tuple[NDArray[Any], dict[str, Any]]:
        episode = info.get("episode")
        self._episode = episode if isinstance(episode, int) else None
        self._actions, self._steps, self._score = [], 0, 0.0
        return observation, {**info, "frame": self.render()} if self._recording else info

    def step(self, action: Any) -> Step:
        """Act; where the episode ends, begin the next: 'reset_obs' is what it shows, 'reset_frame' its picture."""
        observation, reward, terminal, truncated, info = self.env.step(action)
        self._count(action, float(reward))
        info = {**info, "episode_step": self._steps, "episode_score": self._score}
        if self._recording:
            info["frame"] = self.render()
        if terminal or truncated:
            first, begun = self.reset(None)
            info["reset_obs"] = np.array(first)
            if self._recording:
                info["reset_frame"] = begun["frame"]
        return observation, float(reward), bool(terminal), bool(truncated), info

    def _count(self, action: Any, reward: float) -> None:
        self._steps += 1
        self._score += reward
        if self._steps <= RESUMABLE:
            self._actions.append(np.array(action))

    def state(self) -> dict[str, Any]:
        """Return how the present state came about, as plain data."""
        origin = self._origin(self._steps)
        actions = np.stack(self._actions) if self._actions else np.zeros(0)
        return {**origin, "actions": actions, "score": self._score}

    def restore(self, state: dict[str, Any]) -> NDArray[Any]:
        """Come back to a :meth:`state` and return what is seen there."""
        observation, _ = self.reset(state["seed"])
        if state["random"] is not None:
            self.inner.np_random.bit_generator.state = state["random"]
            self._random = state["random"]
            options = None if state["episode"] is None else {"episode": state["episode"]}
            observation, _ = self._begin(*self.env.reset(options=options))
        for action in state["actions"]:
            observation, reward, *_ = self.env.step(action)
            self._count(action, float(reward))
        return observation
