"""Replay memory of an off-policy agent: the latest steps of all its environments."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pe_sim.errors import PeError


@dataclass(frozen=True)
class Transitions:
    """Steps, one after another; nothing is scaled.

    Attributes:
        observations, next_observations: before and after the step, (N, ...); after the last step of an episode what was
            seen last, not the first of the next.
        actions: (N, ...).
        rewards: (N,).
        terminals: whether the game ended, bool (N,); a time limit ends no game.
    """

    observations: NDArray[Any]
    actions: NDArray[Any]
    rewards: NDArray[Any]
    next_observations: NDArray[Any]
    terminals: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.rewards)

    def at(self, places: Any) -> dict[str, NDArray[Any]]:
        """Return the parts of some steps by the names a learner has for them."""
        return {
            "obs": self.observations[places], "actions": self.actions[places], "rewards": self.rewards[places],
            "obs_next": self.next_observations[places], "terminals": self.terminals[places],
        }


PARTS = tuple(field.name for field in fields(Transitions))


class ReplayBuffer:
    """The latest steps of E environments: the oldest give way.

    Args:
        n_envs: E.
        buffer_size: steps that it holds, rounded down to a multiple of E.
        batch_size: steps in a sample.
        observation: shape of an observation.
        action: shape of an action.
        generator: draws the samples.

    Attributes:
        ptr: place of the next step, 0 to n_size - 1.
        size: steps of each environment that it holds.
        n_size: how many it can hold.

    Raises:
        PeError: if it cannot hold one step of every environment.
    """

    def __init__(
        self, n_envs: int, buffer_size: int, batch_size: int, observation: tuple[int, ...], action: tuple[int, ...], *,
        generator: torch.Generator,
    ) -> None:
        self.n_envs, self.n_size, self.batch_size = n_envs, buffer_size // n_envs, batch_size
        if self.n_size < 1 or batch_size < 1:
            raise PeError("config.buffer_size", f"must hold a step of each of {n_envs} environments", buffer_size)
        self._generator = generator
        full = (self.n_size, n_envs)
        self._kept = Transitions(
            np.zeros((*full, *observation), np.float32), np.zeros((*full, *action), np.float32),
            np.zeros(full, np.float32), np.zeros((*full, *observation), np.float32), np.zeros(full, np.bool_),
        )
        self.ptr = self.size = 0

    @property
    def full(self) -> bool:
        """Whether the oldest steps give way from now on."""
        return self.size >= self.n_size

    def store(
        self, obs: NDArray[Any], acts: NDArray[Any], rewards: NDArray[Any], terminals: NDArray[Any],
        next_obs: NDArray[Any],
    ) -> None:
        """Store one step of every environment."""
        for name, values in zip(PARTS, (obs, acts, rewards, next_obs, terminals), strict=True):
            getattr(self._kept, name)[self.ptr] = values
        self.ptr = (self.ptr + 1) % self.n_size
        self.size = min(self.size + 1, self.n_size)

    def sample(self, batch_size: int | None = None) -> dict[str, NDArray[Any]]:
        """Return steps drawn evenly, with repetition: 'obs', 'actions', 'rewards', 'obs_next', 'terminals'.

        Raises:
            PeError: if there are none.
        """
        if self.size == 0:
            raise PeError("memory", "holds no steps to learn from")
        count = self.batch_size if batch_size is None else batch_size
        drawn = torch.randint(self.size * self.n_envs, (count,), generator=self._generator).numpy()
        return self._kept.at(np.divmod(drawn, self.n_envs))

    def clear(self) -> None:
        """Forget everything."""
        self.ptr = self.size = 0

    def transitions(self) -> Transitions:
        """Return all steps, environment by environment, the oldest of each first."""
        order = np.arange(self.ptr - self.size, self.ptr) % self.n_size
        flat = []
        for name in PARTS:
            values = np.swapaxes(getattr(self._kept, name)[order], 0, 1)
            flat.append(values.reshape(-1, *values.shape[2:]))
        return Transitions(*flat)

    def state(self) -> dict[str, Any]:
        """Return what is stored."""
        return {"ptr": self.ptr, **{name: getattr(self._kept, name)[: self.size].copy() for name in PARTS}}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from :meth:`state`.

        Raises:
            PeError: if it is of a larger memory, or of a full one of another size.
        """
        count, ptr = len(state["rewards"]), int(state["ptr"])
        if count > self.n_size or (count < self.n_size and ptr != count):
            rule = f"differs from the memory that was saved, of {count * self.n_envs} steps"
            raise PeError("config.buffer_size", rule, self.n_size * self.n_envs)
        for name in PARTS:
            getattr(self._kept, name)[:count] = state[name]
        self.size, self.ptr = count, ptr % self.n_size
