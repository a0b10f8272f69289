"""Running mean and deviation, of observations and of values; saved with what learns, frozen with what flies."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pe_sim.policies.bundle import Normalisation

CLIP = Normalisation().clip

FLOOR = 1e-3
"""Least deviation: what hardly varies is not blown up."""


class RunningNormaliser:
    """Mean and variance over all that was seen (Chan, Golub and LeVeque, 1979), float64.

    Args:
        size: number of values.
        kept: places left as they are, bool (size,): flags.

    Attributes:
        count: how many vectors were seen.
    """

    def __init__(self, size: int, kept: NDArray[np.bool_] | None = None) -> None:
        self.count = 0.0
        self._mean = np.zeros(size)
        self._square = np.zeros(size)
        self._kept = np.zeros(size, np.bool_) if kept is None else kept

    def update(self, rows: NDArray[Any]) -> None:
        """Take vectors (R, size) into account."""
        if len(rows) == 0:
            return
        rows = rows.astype(np.float64)
        mean = rows.mean(axis=0)
        total, delta = self.count + len(rows), mean - self._mean
        self._mean = self._mean + delta * (len(rows) / total)
        self._square = self._square + ((rows - mean) ** 2).sum(axis=0) + delta**2 * (self.count * len(rows) / total)
        self.count = total

    @property
    def mean(self) -> NDArray[np.float32]:
        """Mean, float32 (size,); 0 where kept."""
        return np.where(self._kept, 0.0, self._mean).astype(np.float32)

    @property
    def deviation(self) -> NDArray[np.float32]:
        """Standard deviation, float32 (size,); 1 where kept or before anything was seen."""
        if self.count == 0.0:
            return np.ones(len(self._mean), np.float32)
        spread = np.maximum(np.sqrt(self._square / self.count), FLOOR)
        return np.where(self._kept, 1.0, spread).astype(np.float32)

    def state(self) -> dict[str, Any]:
        """Return everything needed to go on."""
        return {"count": self.count, "mean": self._mean.copy(), "square": self._square.copy()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from :meth:`state`."""
        self.count = float(state["count"])
        self._mean, self._square = state["mean"].copy(), state["square"].copy()


def scaled(normaliser: RunningNormaliser, rows: NDArray[Any]) -> torch.Tensor:
    """Return vectors (..., K) scaled as the bundle says, float32."""
    return torch.tensor(np.clip((rows - normaliser.mean) / normaliser.deviation, -CLIP, CLIP), dtype=torch.float32)
