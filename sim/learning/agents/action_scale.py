"""Between the values that networks work with and the actions of an environment."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from pe_sim.errors import PeError


class ActionScale:
    """Scaling of one action space: choices as they are; bounded values from [-1, 1] to low to high.

    Args:
        space: Discrete counted from 0, or Box.

    Attributes:
        discrete: which of the two.
        size: number of choices, or of values.
        bounded: whether values are bounded.

    Raises:
        PeError: for any other space.
    """

    def __init__(self, space: gym.Space[Any]) -> None:
        self.discrete = isinstance(space, gym.spaces.Discrete)
        self.bounded = False
        self.shape: tuple[int, ...] = ()
        self.low = self.high = self._middle = np.zeros((), np.float32)
        self._half = np.ones((), np.float32)
        if isinstance(space, gym.spaces.Discrete):
            if space.start != 0:
                raise PeError("action_space", "must count its choices from 0", space)
            self.size = int(space.n)
        elif isinstance(space, gym.spaces.Box):
            self.size, self.shape, self.bounded = int(np.prod(space.shape)), space.shape, space.is_bounded()
            self.low, self.high = space.low.astype(np.float32), space.high.astype(np.float32)
            if self.bounded:
                self._middle, self._half = (self.high + self.low) / 2.0, (self.high - self.low) / 2.0
        else:
            raise PeError("action_space", "must be Discrete or Box", space)

    def require_bounded(self, who: str) -> None:
        """Refuse what an algorithm for bounded values cannot do.

        Raises:
            PeError: for choices, and for values without bounds.
        """
        if not self.bounded:
            raise PeError("action_space", f"must be a Box with finite bounds: {who} learns values, not choices")

    def up(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the actions (R, ...) for values (R, size); choices (R,) are returned as they are."""
        if self.discrete:
            return values
        scaled: NDArray[Any] = self._middle + values.reshape(-1, *self.shape) * self._half
        return scaled.astype(np.float32)

    def down(self, actions: NDArray[Any]) -> NDArray[np.float32]:
        """Return the values (R, size) of actions (R, ...): the inverse of :meth:`up`."""
        values: NDArray[np.float32] = ((actions - self._middle) / self._half).astype(np.float32)
        return values.reshape(len(actions), -1)

    def clip(self, actions: NDArray[Any]) -> NDArray[Any]:
        """Return actions within the bounds of the space."""
        return actions if self.discrete else np.clip(actions, self.low, self.high)

    @property
    def middle(self) -> NDArray[np.float32]:
        """Action in the middle of the bounds; 0 without bounds."""
        return self._middle

    @property
    def half(self) -> NDArray[np.float32]:
        """Half the width between the bounds; 1 without bounds."""
        return self._half

    @property
    def log_stretch(self) -> float:
        """Logarithm of how much :meth:`up` stretches volumes."""
        return float(np.log(self._half).sum()) if self.bounded else 0.0
