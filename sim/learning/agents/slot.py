"""What environments of both kinds of vectors have in common: pictures, and how they come back to where they were."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from pe_sim.errors import PeError

RESUMABLE = 100_000
"""Steps of an episode that are remembered: longer ones cannot be come back to."""


class Slot(ABC):
    """One environment of a vector, with automatic reset.

    Its state is told by how it came about: the seed, the random generator at the episode's beginning, the number of the
    episode where ``info`` tells it, and the actions since. An environment whose randomness is in its ``np_random``, or
    determined by seed and episode, comes back exactly.

    Args:
        env: the environment.
    """

    undrawn: ClassVar[tuple[type[Exception], ...]] = (NotImplementedError,)
    """What an environment raises that draws no pictures."""

    def __init__(self, env: Any) -> None:
        self.env = env
        self._recording = False
        self._seed: int | None = None
        self._random: Any = None
        self._episode: int | None = None
        self._actions: list[Any] = []

    @property
    @abstractmethod
    def inner(self) -> Any:
        """The environment itself, without what is wrapped around it."""

    def record(self, on: bool) -> None:
        """Add a 'frame' to every info from now on, or no longer."""
        self._recording = on

    def render(self) -> Any:
        """Return a picture, uint8 (H, W, 3).

        Raises:
            PeError: if the environment draws none.
        """
        try:
            frame = self.env.render()
        except self.undrawn:
            frame = None
        if frame is None:
            cure = "make it with render_mode='rgb_array', or switch render off"
            raise PeError("environment", "draws no pictures", type(self.inner).__name__, cure)
        return np.array(frame, np.uint8)

    def _origin(self, steps: int) -> dict[str, Any]:
        """Return how the present state came about, but for the actions, as plain data.

        Raises:
            PeError: if it is too many steps into its episode.
        """
        if steps > RESUMABLE:
            raise PeError("environment", f"is more than {RESUMABLE} steps into its episode: too many to be kept")
        return {"seed": self._seed, "random": self._random, "episode": self._episode}

    def close(self) -> None:
        """Close the environment."""
        self.env.close()
