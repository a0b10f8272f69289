"""Many runs of one engagement file for multi-agent cores, stepped together in one batch: the fast way to train."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from pe_sim.engagement import Engagement
from pe_sim.envs.vector_pursuit import VectorPursuit, VectorStep
from pe_sim.errors import PeError
from pe_sim.learning.agents.marl_env import Info, Observations, joint_space
from pe_sim.learning.agents.marl_env_slot import Results
from pe_sim.learning.agents.marl_vector_env import VecMultiAgentEnv
from pe_sim.learning.env_state import environment_state, restore_environment

Rows = list[dict[str, Any]]
"""By engagement and agent."""


class BatchedPursuitEnv(VecMultiAgentEnv):
    """Engagements in which the agents of some roles act and the others follow the file's policies.

    A step is a decision stride of :class:`~pe_sim.envs.vector_pursuit.VectorPursuit`. The global state is what all
    agents that act see, one after another. A reset begins another run: of ``env_seed``, then ``env_seed`` + 1, and so
    on.

    Args:
        engagement: the engagement, or the path of its file.
        num_envs: how many at once.
        roles: whose agents act; default all.
        env_seed: first seed; default the file's.
        threads: how many threads step them.
    """

    def __init__(
        self, engagement: Engagement | str | Path, num_envs: int, roles: tuple[str, ...] | None = None,
        env_seed: int | None = None, threads: int = 1,
    ) -> None:
        self.env = VectorPursuit(engagement, num_envs, roles=roles, threads=threads)
        named = self.env.engagement
        self._place: dict[str, tuple[str, int]] = {}
        for role in self.env.roles:
            members = [agent for agent in named.agents if named.role_of(agent) == role]
            self._place |= {agent: (role, number) for number, agent in enumerate(members)}
        observation = {agent: self.env.observation_spaces[role] for agent, (role, _) in self._place.items()}
        action = {agent: self.env.action_spaces[role] for agent, (role, _) in self._place.items()}
        spaces = (list(self._place), observation, action, joint_space(dict(observation)), 0)
        super().__init__(spaces, num_envs, named.seed if env_seed is None else env_seed)
        self._all = {a: np.ones(int(s.n), np.bool_) for a, s in action.items() if isinstance(s, gym.spaces.Discrete)}
        self._run = 0
        self._out = np.zeros((num_envs, len(self.agents)), np.bool_)
        self._steps, self._scores = np.zeros(num_envs, np.int64), np.zeros(self._out.shape)
        self._due, self._alive = self._out.copy(), ~self._out

    def reset(self) -> tuple[list[Observations], list[Info]]:
        """Begin a run; return observations and infos, by environment."""
        assert self._seed is not None
        step = self.env.reset(self._seed + self._run)
        self._run += 1
        self._steps[:], self._scores[:], self._out[:] = 0, 0.0, False
        obs = self._seen(step.observations)
        self._due, self._alive = self._joined(step.due), self._joined(step.alive)
        nobody = np.zeros(len(self.agents), np.bool_)
        infos = [self._info(e, obs[e], nobody, nobody, nobody) for e in range(self.num_envs)]
        for e, info in enumerate(infos):
            self._present(e, obs[e], info)
        return obs, infos

    def _each(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        if method != "step":
            cure = "take TeamPursuit in a DummyVecMultiAgentEnv"
            raise PeError("a batch of engagements", f"cannot {method}", cure=cure)
        return self._step([part for (part,) in arguments])

    def _step(self, actions: Rows) -> list[Results]:
        counted, waiting, gone = self._due & self._alive, self._alive & ~self._due, self._out.copy()
        given = {
            role: np.stack([[one[a] for a, (r, _) in self._place.items() if r == role] for one in actions])
            for role in self.env.roles
        }
        step = self.env.step(given)
        self._steps += 1
        rewards = self._joined(step.rewards)
        self._scores += rewards
        alive, over = self._joined(step.alive), step.terminated | step.truncated
        cut = step.truncated[:, None] & ~self._out
        self._out |= step.terminated[:, None] | (~alive & ~over[:, None])
        ended, seen = self._out.copy(), self._seen(step.observations)
        self._due, self._alive = self._joined(step.due), alive
        last = self._last(step)
        out: list[Results] = []
        for e in range(self.num_envs):
            obs = last.get(e, seen[e])
            for i in np.flatnonzero(gone[e]):
                obs[self.agents[i]][:] = 0.0
            info = self._info(e, obs, counted[e], waiting[e], cut[e])
            if over[e]:
                info |= {"reset_obs": seen[e], "reset_avail_actions": self._all or None}
                info["reset_state"] = self._state(seen[e])
                self._steps[e], self._scores[e], self._out[e] = 0, 0.0, False
            paid, parts = self._named(rewards[e]), self._named(ended[e])
            out.append((obs, paid, parts, bool(step.truncated[e]), info))
        return out

    def _named(self, values: NDArray[Any]) -> dict[str, Any]:
        """Return values (N,) by agent."""
        return dict(zip(self.agents, values.tolist(), strict=True))

    def _last(self, step: VectorStep) -> dict[int, Observations]:
        """Return what was seen last where episodes have ended."""
        seen = self._seen(step.finals.observations)
        return {int(row): seen[i] for i, row in enumerate(step.finals.rows)}

    def _seen(self, observations: dict[str, Any]) -> list[Observations]:
        """Return observations by environment and agent."""
        columns = {a: np.array(observations[role][:, number]) for a, (role, number) in self._place.items()}
        count = len(columns[self.agents[0]])
        return [{agent: values[e] for agent, values in columns.items()} for e in range(count)]

    def _joined(self, values: dict[str, Any]) -> NDArray[Any]:
        """Return values of all agents, (B, N)."""
        return np.stack([values[role][:, number] for role, number in self._place.values()], axis=1)

    def _info(self, e: int, obs: Observations, counted: Any, waiting: Any, cut: Any) -> Info:
        return {
            "infos": {}, "episode_step": int(self._steps[e]), "episode_score": self._named(self._scores[e]),
            "agent_mask": self._named(counted), "waiting": self._named(waiting), "truncations": self._named(cut),
            "avail_actions": self._all or None, "state": self._state(obs),
            "acting": self._named(self._due[e] & self._alive[e]),
        }

    def _state(self, obs: Observations) -> NDArray[np.float32]:
        return np.concatenate([obs[agent] for agent in self.agents])

    def state(self) -> dict[str, Any]:
        """Return everything needed to go on to the same bits, as plain data.

        Raises:
            PeError: if the world keeps its state elsewhere.
        """
        own = {"run": self._run, "out": self._out.copy(), "steps": self._steps.copy(), "scores": self._scores.copy()}
        masks = {"due": self._due.copy(), "alive": self._alive.copy()}
        return {**own, **masks, "obs": [dict(one) for one in self.buf_obs], "env": environment_state(self.env)}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from :meth:`state`.

        Raises:
            PeError: if that is of another engagement, batch or roles.
        """
        restore_environment(self.env, state["env"])
        self._run = int(state["run"])
        for name in ("out", "steps", "scores", "due", "alive"):
            setattr(self, f"_{name}", state[name].copy())
        nobody = np.zeros(len(self.agents), np.bool_)
        for e, obs in enumerate(state["obs"]):
            self._present(e, dict(obs), self._info(e, obs, nobody, nobody, nobody))

    def close(self) -> None:
        """Release worlds and threads."""
        self.env.close()
