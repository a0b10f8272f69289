"""Sequences of decisions as tensors of one length, for networks that remember."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pe_sim.learning.normaliser import RunningNormaliser, scaled
from pe_sim.learning.sequences import Sequences


@dataclass(frozen=True)
class Padded:
    """N sequences of up to T decisions, each an agent's own in one engagement.

    Attributes:
        inputs: scaled observations, float32 (T, N, K); what stands behind a sequence's end is never used.
        memory: what was remembered before the first decision, float32 (N, M).
        fresh: first decisions of an episode, before which nothing is remembered, bool (T, N).
        counted: which decisions there are, bool (T, N).
        places: of each decision among all that are learned from, in the order of those, int64 (T, N).
    """

    inputs: Tensor
    memory: Tensor
    fresh: Tensor
    counted: Tensor
    places: Tensor

    @property
    def count(self) -> int:
        """Number of sequences."""
        return self.inputs.shape[1]

    def of(self, part: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Return inputs, memory, fresh, counted of some sequences, and the places (R,) of their decisions."""
        counted = self.counted[:, part]
        return self.inputs[:, part], self.memory[part], self.fresh[:, part], counted, self.places[:, part][counted]


def padded(rollout: Sequences, observed: RunningNormaliser) -> Padded:
    """Return the closed decisions of a rollout, sequence by sequence; those with none are left out."""
    closed = rollout.closed
    length = int(closed.sum(axis=0).max())
    some = closed[0].reshape(-1)
    places = np.cumsum(closed.reshape(-1)).reshape(closed.shape) - 1

    def flat(values: NDArray[Any]) -> NDArray[Any]:
        out: NDArray[Any] = values[:length].reshape(length, -1, *values.shape[3:])[:, some]
        return out

    return Padded(
        inputs=scaled(observed, flat(rollout.observation)),
        memory=torch.tensor(rollout.initial.reshape(-1, rollout.initial.shape[-1])[some]),
        fresh=torch.tensor(flat(rollout.fresh)), counted=torch.tensor(flat(closed)),
        places=torch.tensor(flat(places)),
    )
