"""Several multi-agent environments stepped together; in processes of their own: marl_subprocess_env."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pe_sim.learning.agents.marl_env import Flags, Info, Observations
from pe_sim.learning.agents.marl_env_slot import JointEnvSlot
from pe_sim.learning.agents.vector_base import EnvVector, InThisProcess

Step = tuple[list[Observations], list[dict[str, float]], list[Flags], list[bool], list[Info]]


class VecMultiAgentEnv(EnvVector):
    """Environments of the same agents, with automatic reset, and what is present in each.

    Args:
        spaces: what :meth:`JointEnvSlot.describe` tells.
        num_envs: number of environments.
        env_seed: environment i is first reset with ``env_seed`` + i; None for no seed.

    Attributes:
        num_envs: number of environments.
        agents, num_agents: all agents, in order, and how many.
        observation_space, action_space: agent -> space.
        state_space: of the global state.
        max_episode_steps: step limit of the first environment, or 0.
        buf_obs: present observations, by environment and agent.
        buf_state: present global states, float32 (num_envs, S).
        buf_avail_actions: present choices, by environment and agent; None in place of a dict without discrete agents.
        buf_acting: by environment, agent -> whether its next action counts.
    """

    def __init__(self, spaces: tuple[Any, ...], num_envs: int, env_seed: int | None) -> None:
        super().__init__(num_envs, env_seed)
        self.agents: list[str] = spaces[0]
        self.observation_space: dict[str, Any] = spaces[1]
        self.action_space: dict[str, Any] = spaces[2]
        self.state_space, self.max_episode_steps = spaces[3], int(spaces[4])
        self.num_agents = len(self.agents)
        self.buf_obs: list[Observations] = [{} for _ in range(num_envs)]
        self.buf_state = np.zeros((num_envs, *self.state_space.shape), np.float32)
        self.buf_avail_actions: list[dict[str, NDArray[np.bool_]] | None] = [None] * num_envs
        self.buf_acting: list[Flags] = [{} for _ in range(num_envs)]

    def reset(self) -> tuple[list[Observations], list[Info]]:
        """Begin an episode everywhere; return observations and infos, by environment."""
        begun = self._begin()
        for e, (obs, info) in enumerate(begun):
            self._present(e, obs, info)
        return list(self.buf_obs), [info for _, info in begun]

    def step(self, actions: Sequence[dict[str, Any]]) -> Step:
        """Step every environment.

        Returns:
            Observations, rewards, terminations, truncations and infos, by environment; where an episode ended, those of
            its end. :attr:`buf_obs` and the others are those of the next one then.
        """
        stepped = self._each("step", [(part,) for part in actions])
        for e, (obs, _, _, _, info) in enumerate(stepped):
            if "reset_obs" in info:
                begun = {"avail_actions": info["reset_avail_actions"], "state": info["reset_state"]}
                self._present(e, info["reset_obs"], {**info, **begun})
            else:
                self._present(e, obs, info)
        obs_list, rewards, terminated, truncated, infos = (list(part) for part in zip(*stepped, strict=True))
        return obs_list, rewards, terminated, truncated, infos

    def _present(self, e: int, obs: Observations, info: Info) -> None:
        self.buf_obs[e], self.buf_avail_actions[e] = obs, info["avail_actions"]
        self.buf_state[e], self.buf_acting[e] = info["state"], info["acting"]

    def state(self) -> dict[str, Any]:
        """Return how the present states came about, as plain data."""
        return {"envs": self._each("state", [()] * self.num_envs), "obs": list(self.buf_obs)}

    def restore(self, state: dict[str, Any]) -> None:
        """Come back to a :meth:`state`, by the seeds, generators and actions that led there.

        Raises:
            PeError: if the number of environments differs, or one does not come back to where it was.
        """
        for e, (obs, info) in enumerate(self._come_back(state["envs"])):
            self._present(e, obs, info)
            was = state["obs"][e]
            self._require_return(e, same=all(np.array_equal(obs[a], was[a], equal_nan=True) for a in self.agents))


class DummyVecMultiAgentEnv(InThisProcess, VecMultiAgentEnv):
    """Environments stepped one after another in this process.

    Args:
        env_fns: what makes each environment, of any convention that :class:`~pe_sim.learning.agents.marl_env.JointEnv`
            understands.
        env_seed: environment i is first reset with ``env_seed`` + i; None for no seed.

    Attributes:
        envs: the environments themselves.
    """

    def __init__(self, env_fns: Sequence[Callable[[], Any]], env_seed: int | None = None) -> None:
        self._slots = slots = [JointEnvSlot(make) for make in env_fns]
        self.envs = [slot.inner for slot in slots]
        super().__init__(slots[0].describe(), len(slots), env_seed)
