"""What vectors of environments have in common, for one learner or for many, in this process or in others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from pe_sim.errors import PeError
from pe_sim.learning.agents.slot import Slot


class EnvVector(ABC):
    """Environments stepped together, with automatic reset.

    Args:
        num_envs: number of environments.
        env_seed: environment i is first reset with ``env_seed`` + i; None for no seed.
    """

    def __init__(self, num_envs: int, env_seed: int | None) -> None:
        self.num_envs, self._seed = num_envs, env_seed

    @abstractmethod
    def _each(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call a method of every environment's slot, each with its arguments; return the results in order."""

    def _begin(self) -> list[Any]:
        """Begin an episode everywhere; return what each environment shows, and its info."""
        seeds = [None if self._seed is None else self._seed + i for i in range(self.num_envs)]
        begun = self._each("reset", [(seed,) for seed in seeds])
        self._seed = None
        return begun

    def render(self, mode: str = "rgb_array") -> list[Any]:
        """Return a frame of every environment."""
        del mode  # environments know their mode from the beginning
        return self._each("render", [()] * self.num_envs)

    def record(self, *, on: bool) -> None:
        """Add 'frame' to every info, drawn before an automatic reset, and 'reset_frame', drawn after it; or stop."""
        self._each("record", [(on,)] * self.num_envs)

    def _come_back(self, states: Sequence[dict[str, Any]]) -> list[Any]:
        """Bring each environment back to a state of its slot; return what each shows there.

        Raises:
            PeError: if the number of environments differs.
        """
        if len(states) != self.num_envs:
            raise PeError("envs", f"must be {len(states)}, as they were", self.num_envs)
        shown = self._each("restore", [(state,) for state in states])
        self._seed = None
        return shown

    @staticmethod
    def _require_return(i: int, *, same: bool) -> None:
        """Refuse an environment that does not show what it showed.

        Raises:
            PeError: with its number.
        """
        if not same:
            cure = "draw from its np_random only, and make it with what it was made with"
            raise PeError(f"environment {i}", "does not come back to where it was", cure=cure)

    @abstractmethod
    def close(self) -> None:
        """Close all environments."""


class InThisProcess:
    """Environments stepped one after another in this process."""

    _slots: Sequence[Slot]

    def _each(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        return [getattr(slot, method)(*given) for slot, given in zip(self._slots, arguments, strict=True)]

    def close(self) -> None:
        """Close all environments."""
        for slot in self._slots:
            slot.close()
