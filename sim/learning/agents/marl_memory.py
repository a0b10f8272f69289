"""Memory of joint steps: what all agents of several environments saw and did, step after step."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Tree = dict[str, Any]
"""Field -> array, or field -> agent -> array."""


class JointMemory:
    """A ring of the last steps of E environments. What it holds is decided by what is stored first.

    Args:
        n_envs: E.
        steps: T, how many steps there is room for.

    Attributes:
        ptr: place of the next step.
        size: steps held.
    """

    def __init__(self, n_envs: int, steps: int) -> None:
        if steps < 1:
            raise ValueError(f"buffer_size: must hold at least one step of each of the {n_envs} environments")
        self.n_envs, self.steps = n_envs, steps
        self.ptr, self.size = 0, 0
        self._arrays: dict[tuple[str, str], NDArray[Any]] = {}

    def store(self, **fields: Any) -> None:
        """Store one step of every environment: arrays (E, ...), or agent -> array."""
        for name, value in fields.items():
            for agent, part in value.items() if isinstance(value, dict) else (("", value),):
                self._put((name, agent), np.asarray(part))
        self.ptr = (self.ptr + 1) % self.steps
        self.size = min(self.size + 1, self.steps)

    def _put(self, key: tuple[str, str], part: NDArray[Any]) -> None:
        if key not in self._arrays:
            dtype = np.float32 if part.dtype == np.float64 else part.dtype
            self._arrays[key] = np.zeros((self.steps, *part.shape), dtype)
        self._arrays[key][self.ptr] = part

    def take(self, t: NDArray[np.int64], e: NDArray[np.int64]) -> Tree:
        """Return what is at places ``t`` of environments ``e``, indexes of one shape."""
        out: Tree = {}
        for (name, agent), values in self._arrays.items():
            if agent:
                out.setdefault(name, {})[agent] = values[t, e]
            else:
                out[name] = values[t, e]
        return out

    def clear(self) -> None:
        """Forget everything."""
        self.ptr = self.size = 0

    def state(self) -> dict[str, Any]:
        """Return everything needed to go on, as plain data."""
        arrays = [[name, agent, values.copy()] for (name, agent), values in self._arrays.items()]
        return {"ptr": self.ptr, "size": self.size, "arrays": arrays}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from :meth:`state`.

        Raises:
            ValueError: if that had another size.
        """
        arrays = {(name, agent): values.copy() for name, agent, values in state["arrays"]}
        room = (self.steps, self.n_envs)
        if any(values.shape[:2] != room for values in arrays.values()):
            raise ValueError(f"the memory kept is not one of {self.steps} steps of {self.n_envs} environments")
        self._arrays, self.ptr, self.size = arrays, int(state["ptr"]), int(state["size"])


class JointReplay(JointMemory):
    """Steps of the past to learn from again.

    Args:
        n_envs: E.
        buffer_size: joint steps of all environments together that there is room for.
        batch_size: how many are drawn at once.
        length: how many steps one after another; more than 1 for recurrent networks.
    """

    def __init__(self, n_envs: int, buffer_size: int, batch_size: int, length: int) -> None:
        super().__init__(n_envs, buffer_size // n_envs)
        self.batch_size, self.length = batch_size, length

    @property
    def ready(self) -> bool:
        """Whether there is enough to draw from."""
        return self.size >= self.length

    def sample(self, rng: np.random.Generator) -> Tree:
        """Draw ``batch_size`` sequences, arrays (length, batch_size, ...)."""
        first = rng.integers(0, self.size - self.length + 1, self.batch_size)
        oldest = self.ptr if self.size == self.steps else 0
        t = (oldest + first + np.arange(self.length)[:, None]) % self.steps
        e = rng.integers(0, self.n_envs, self.batch_size)
        return self.take(t, np.broadcast_to(e, t.shape))
