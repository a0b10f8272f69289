"""Memory of on-policy agents: one horizon of joint steps, and what each decision was worth."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pe_sim.learning.agents.marl_memory import JointMemory, Tree


class JointRollout(JointMemory):
    """One horizon of T joint steps of E environments with N agents.

    Args:
        agents: all agents, in order.
        n_envs: E.
        horizon: T.
        length: steps of a sequence that is learnt from as one, which must divide T; 1 without recurrent networks.
        gamma, gae_lambda: of the advantages.
    """

    def __init__(
        self, agents: list[str], n_envs: int, horizon: int, length: int, *, gamma: float, gae_lambda: float
    ) -> None:
        super().__init__(n_envs, horizon)
        if horizon % length:
            raise ValueError(f"sequence_length: must divide the horizon of {horizon} steps (got {length})")
        self.agents, self.length = agents, length
        self._gamma, self._lambda = gamma, gae_lambda
        full = (horizon, n_envs, len(agents))
        self._ended, self._bootstrap = np.zeros(full, np.bool_), np.zeros(full)
        self._advantages, self._returns, self._normal = np.zeros(full), np.zeros(full), np.zeros(full)

    @property
    def full(self) -> bool:
        """Whether the horizon is reached."""
        return self.size >= self.steps

    @property
    def units(self) -> int:
        """Number of sequences held."""
        return self.n_envs * (self.size // self.length)

    def store(self, **fields: Any) -> None:
        """Store one step of every environment: arrays (E, ...), or agent -> array."""
        self._ended[self.ptr], self._bootstrap[self.ptr] = False, 0.0
        super().store(**fields)

    def finish_path(self, i_env: int, value_next: dict[str, float]) -> None:
        """End what agents of environment ``i_env`` have done so far.

        Args:
            i_env: the environment.
            value_next: agent -> value that follows: 0 where the game has ended for it. Agents left out go on; those
                whose path has ended there already are left as they are.
        """
        for i, agent in enumerate(self.agents):
            if agent in value_next and not self._ended[self.ptr - 1, i_env, i]:
                self._ended[self.ptr - 1, i_env, i] = True
                self._bootstrap[self.ptr - 1, i_env, i] = float(value_next[agent])

    def everything(self) -> Tree:
        """Return all that is held, arrays (T, E, ...)."""
        return self.take(*np.meshgrid(np.arange(self.size), np.arange(self.n_envs), indexing="ij"))

    def targets(self) -> dict[str, NDArray[Any]]:
        """Return the returns of all decisions held, (D,) by agent."""
        counted = self.joined("agent_mask")
        return {a: self._returns[: self.size, :, i][counted[..., i]] for i, a in enumerate(self.agents)}

    def joined(self, name: str) -> NDArray[Any]:
        """Return a field of all agents, (T, E, N), of the steps held."""
        return np.stack([self._arrays[name, agent][: self.size] for agent in self.agents], axis=-1)

    def prepare(self, *, use_advnorm: bool) -> None:
        """Compute advantages and returns once for all epochs; ``use_advnorm`` scales the advantages of each agent."""
        held, counted = slice(0, self.size), self.joined("agent_mask")
        values = self.joined("values").astype(np.float64)
        advantages = joint_gae(
            self.joined("rewards"), values, self._ended[held], self._bootstrap[held], counted, gamma=self._gamma,
            gae_lambda=self._lambda,
        )
        self._returns[held] = advantages + values
        self._advantages[held] = advantages
        self._normal[held] = normalised(advantages, counted) if use_advnorm else advantages

    def sample(self, indexes: NDArray[np.int64]) -> Tree:
        """Return sequences by places in 0 to :attr:`units` - 1: arrays (length, U, ...)."""
        part, e = np.divmod(indexes, self.n_envs)
        t = part * self.length + np.arange(self.length)[:, None]
        e = np.broadcast_to(e, t.shape)
        found = self.take(t, e)
        for name, values in (("advantages", self._normal), ("returns", self._returns)):
            found[name] = {agent: values[t, e, i].astype(np.float32) for i, agent in enumerate(self.agents)}
        return found

    def state(self) -> dict[str, Any]:
        """Return everything needed to go on, as plain data."""
        return {**super().state(), "ended": self._ended.copy(), "bootstrap": self._bootstrap.copy()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from :meth:`state`."""
        super().restore(state)
        self._ended, self._bootstrap = state["ended"].copy(), state["bootstrap"].copy()


def joint_gae(
    rewards: NDArray[Any], values: NDArray[Any], ended: NDArray[np.bool_], bootstrap: NDArray[Any],
    counted: NDArray[np.bool_], *, gamma: float, gae_lambda: float,
) -> NDArray[np.float64]:
    """Return the advantages of agents that decide at some steps and end at any (Schulman et al., 2016).

    A decision is followed by the agent's next one; the rewards of all steps in between belong to it. After an end
    comes ``bootstrap``: 0 where the game has ended for the agent, else the critic's value of what it saw last.

    Args:
        rewards: (T, E, N).
        values: (T, E, N); read only where ``counted``.
        ended: whether the agent's part, or the horizon, ends after the step, bool (T, E, N).
        bootstrap: value after the end, (T, E, N); read only where ``ended``.
        counted: whether the agent decided at the step, bool (T, E, N); the others' advantage is 0.
        gamma: discount per decision.
        gae_lambda: weight of longer estimates.
    """
    advantages = np.zeros(rewards.shape)
    following, next_value, paid = (np.zeros(rewards.shape[1:]) for _ in range(3))
    for t in range(len(rewards) - 1, -1, -1):
        following, paid = np.where(ended[t], 0.0, following), np.where(ended[t], 0.0, paid)
        next_value = np.where(ended[t], bootstrap[t], next_value)
        paid = paid + rewards[t]
        estimate = paid + gamma * next_value - values[t] + gamma * gae_lambda * following
        advantages[t] = np.where(counted[t], estimate, 0.0)
        following = np.where(counted[t], estimate, following)
        next_value, paid = np.where(counted[t], values[t], next_value), np.where(counted[t], 0.0, paid)
    return advantages


def normalised(advantages: NDArray[Any], counted: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the advantages of each agent with mean 0 and deviation 1 over its decisions, (T, E, N)."""
    number = np.maximum(counted.sum((0, 1)), 1)
    mean = np.where(counted, advantages, 0.0).sum((0, 1)) / number
    deviation = np.sqrt(np.where(counted, (advantages - mean) ** 2, 0.0).sum((0, 1)) / number)
    scaled: NDArray[Any] = np.where(counted, (advantages - mean) / (deviation + 1e-8), 0.0)
    return scaled
