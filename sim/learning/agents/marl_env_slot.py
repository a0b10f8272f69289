"""One multi-agent environment of a vector: it resets itself, hands out frames and can come back to where it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from pe_sim.learning.agents.marl_env import Flags, Info, JointEnv, Observations
from pe_sim.learning.agents.slot import RESUMABLE, Slot

Results = tuple[Observations, dict[str, float], Flags, bool, Info]


class JointEnvSlot(Slot):
    """A :class:`JointEnv` with automatic reset.

    Args:
        make: makes the environment.
    """

    env: JointEnv
    undrawn: ClassVar[tuple[type[Exception], ...]] = (NotImplementedError, AttributeError)

    def __init__(self, make: Callable[[], Any]) -> None:
        super().__init__(JointEnv(make()))

    @property
    def inner(self) -> Any:
        """The environment itself, of whatever convention."""
        return self.env.env

    def describe(self) -> tuple[Any, ...]:
        """Return agents, observation spaces, action spaces, state space and the limit of steps."""
        env = self.env
        return env.agents, env.observation_space, env.action_space, env.state_space, env.max_episode_steps

    def reset(self, seed: int | None) -> tuple[Observations, Info]:
        """Begin an episode, with a seed also a new sequence of episodes."""
        if seed is not None:
            self._seed, self._random = seed, None
        else:
            self._random = self._generator.bit_generator.state if self._generator is not None else None
        return self._begin(*self.env.reset(seed))

    @property
    def _generator(self) -> Any:
        """The environment's own random generator, or None."""
        env = getattr(self.inner, "unwrapped", self.inner)
        return getattr(env, "np_random", None)

    def _begin(self, obs: Observations, info: Info) -> tuple[Observations, Info]:
        episodes = [own["episode"] for own in info["infos"].values() if isinstance(own, dict) and "episode" in own]
        self._episode = int(episodes[0]) if episodes else None
        self._actions = []
        return obs, {**info, "frame": self.render()} if self._recording else info

    def step(self, actions: dict[str, Any]) -> Results:
        """Act; where the episode ends, begin the next one.

        What is returned is the last of the episode; the infos 'reset_obs', 'reset_avail_actions', 'reset_state' and
        'reset_frame' are the first of the next one. The info 'acting' tells who acts next in either case.
        """
        if len(self._actions) <= RESUMABLE:
            self._actions.append({agent: np.array(action) for agent, action in actions.items()})
        obs, rewards, terminated, truncated, info = self.env.step(actions)
        if self._recording:
            info["frame"] = self.render()
        if self.env.over:
            first, begun = self.reset(None)
            names = ("avail_actions", "state", "frame")
            info |= {"reset_obs": first, **{f"reset_{name}": begun[name] for name in names if name in begun}}
            info["acting"] = begun["acting"]
        return obs, rewards, terminated, truncated, info

    def state(self) -> dict[str, Any]:
        """Return how the present state came about, as plain data."""
        return {**self._origin(len(self._actions)), "actions": list(self._actions)}

    def restore(self, state: dict[str, Any]) -> tuple[Observations, Info]:
        """Come back to a :meth:`state` and return what is seen there."""
        self._seed, self._random = state["seed"], state["random"]
        obs, info = self._begin(*self.env.reset(state["seed"]))
        if state["random"] is not None:
            self._generator.bit_generator.state = state["random"]
        if state["random"] is not None or state["episode"] is not None:
            options = None if state["episode"] is None else {"episode": state["episode"]}
            obs, info = self._begin(*self.env.reset(None, options))
        for actions in state["actions"]:
            self._actions.append(actions)
            obs, _, _, _, info = self.env.step(actions)
        return obs, info
