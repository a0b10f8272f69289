"""Memory of an on-policy agent: one horizon of steps of all its environments."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pe_sim.errors import PeError
from pe_sim.learning.advantage import gae

PARTS = ("observations", "actions", "rewards", "values", "bootstrap", "ended")
"""What is stored of every step."""


class OnPolicyMemory:
    """Steps of E environments, T each.

    Args:
        n_envs: E.
        horizon_size: T.
        observation: shape of an observation.
        action: shape of an action.
        gamma, gae_lambda: of the advantages.

    Attributes:
        ptr: steps stored.
    """

    def __init__(
        self, n_envs: int, horizon_size: int, observation: tuple[int, ...], action: tuple[int, ...], *, gamma: float,
        gae_lambda: float,
    ) -> None:
        full = (horizon_size, n_envs)
        self.n_envs, self.horizon_size = n_envs, horizon_size
        self._gamma, self._lambda = gamma, gae_lambda
        self.observations = np.zeros((*full, *observation), np.float32)
        self.actions = np.zeros((*full, *action), np.float32)
        self.rewards, self.values, self.bootstrap = np.zeros(full), np.zeros(full), np.zeros(full)
        self.ended = np.zeros(full, np.bool_)
        self.aux: dict[str, NDArray[Any]] = {}
        self.ptr = 0

    @property
    def full(self) -> bool:
        """Whether the horizon is reached."""
        return self.ptr >= self.horizon_size

    def store(
        self, obs: NDArray[Any], acts: NDArray[Any], rewards: NDArray[Any], values: NDArray[Any],
        terminals: NDArray[Any], aux_info: dict[str, NDArray[Any]],
    ) -> None:
        """Store one step of every environment."""
        self.observations[self.ptr], self.actions[self.ptr] = obs, acts
        self.rewards[self.ptr], self.values[self.ptr] = rewards, values
        self.ended[self.ptr], self.bootstrap[self.ptr] = terminals, 0.0
        for name, part in aux_info.items():
            kept = self.aux.setdefault(name, np.zeros((self.horizon_size, *part.shape), np.float32))
            kept[self.ptr] = part
        self.ptr += 1

    def finish_path(self, value: float, i: int) -> None:
        """End what environment ``i`` has done so far; ``value`` follows: 0 after a terminal state."""
        self.ended[self.ptr - 1, i], self.bootstrap[self.ptr - 1, i] = True, value

    def advantages(self) -> NDArray[np.float64]:
        """Return the advantages of the whole horizon, (T, E)."""
        values = np.concatenate([self.values, self.values[-1:]])
        return gae(self.rewards, values, self.ended, self.bootstrap, gamma=self._gamma, gae_lambda=self._lambda)

    def prepare(self, *, use_advnorm: bool) -> None:
        """Compute advantages and returns once for all epochs."""
        advantages = self.advantages()
        self._returns = advantages + self.values
        self._advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8) if use_advnorm else advantages

    def sample(self, indexes: NDArray[np.int64]) -> dict[str, Any]:
        """Return a minibatch by places in 0 to T * E - 1."""
        t, e = np.divmod(indexes, self.n_envs)
        return {
            "obs": self.observations[t, e], "actions": self.actions[t, e], "returns": self._returns[t, e],
            "values": self.values[t, e], "advantages": self._advantages[t, e],
            "aux_batch": {name: part[t, e] for name, part in self.aux.items()},
        }

    def clear(self) -> None:
        """Forget everything."""
        self.ptr = 0

    def state(self) -> dict[str, Any]:
        """Return what is stored so far."""
        kept = {name: getattr(self, name)[: self.ptr].copy() for name in PARTS}
        return {**kept, "aux": {name: part[: self.ptr].copy() for name, part in self.aux.items()}}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from :meth:`state`.

        Raises:
            PeError: if it is of a memory with another horizon.
        """
        count = len(state["rewards"])
        if count > self.horizon_size:
            raise PeError("config.horizon_size", f"is less than the {count} steps that are stored", self.horizon_size)
        for name in PARTS:
            getattr(self, name)[:count] = state[name]
        self.aux = {}
        for name, part in state["aux"].items():
            self.aux[name] = np.zeros((self.horizon_size, *part.shape[1:]), np.float32)
            self.aux[name][:count] = part
        self.ptr = count
