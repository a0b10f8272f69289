"""Distributions over actions: choices with masks, and continuous values in their own units."""

from __future__ import annotations

import math
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor

FORBIDDEN = -1e9
"""Logit of a choice that an agent does not have: its probability is zero."""


class MaskedChoices:
    """Distribution over an agent's choices.

    Args:
        logits: (..., choices).
        available: bool (..., choices); None for all. A row without any is taken as one with all: nobody uses it.

    Attributes:
        probabilities: (..., choices).
    """

    def __init__(self, logits: Tensor, available: Tensor | None) -> None:
        self._logs = torch.log_softmax(logits if available is None else masked(logits, available, FORBIDDEN), dim=-1)
        self.probabilities = self._logs.exp()

    def sample(self, generator: torch.Generator) -> Tensor:
        """Draw choices (...)."""
        flat = self.probabilities.flatten(0, -2)
        return torch.multinomial(flat, 1, generator=generator).reshape(self.probabilities.shape[:-1])

    def mode(self) -> Tensor:
        """Return the most probable choices (...)."""
        return self._logs.argmax(-1)

    def log_prob(self, actions: Tensor) -> Tensor:
        """Return the log-probabilities (...) of choices (...)."""
        return self._logs.gather(-1, actions.long()[..., None])[..., 0]

    def entropy(self) -> Tensor:
        """Return the entropies (...)."""
        return -(self.probabilities * self._logs.clamp(min=-100.0)).sum(-1)


class ScaledNormal:
    """Normal distribution of continuous actions in their own units.

    Args:
        mean: (..., A), in units of :class:`Bounds`.
        log_std: (A,), likewise.
        bounds: the action's units.
    """

    def __init__(self, mean: Tensor, log_std: Tensor, bounds: Bounds) -> None:
        self._mean, self._std = mean * bounds.half + bounds.middle, torch.exp(log_std) * bounds.half

    def sample(self, generator: torch.Generator) -> Tensor:
        """Draw actions (..., A); they may lie outside the bounds."""
        return self._mean + self._std * torch.randn(self._mean.shape, generator=generator)

    def mode(self) -> Tensor:
        """Return the most probable actions (..., A)."""
        return self._mean

    def log_prob(self, actions: Tensor) -> Tensor:
        """Return the logarithms of the densities (...) of actions (..., A)."""
        z = (actions - self._mean) / self._std
        return (-0.5 * z * z - torch.log(self._std) - 0.5 * math.log(2.0 * math.pi)).sum(-1)

    def entropy(self) -> Tensor:
        """Return the entropies (...)."""
        each = torch.log(self._std) + 0.5 * math.log(2.0 * math.pi * math.e)
        return each.sum().expand(self._mean.shape[:-1])


class Bounds:
    """Units of a continuous action: its middle and half of its width; 0 and 1 where it is unbounded.

    Args:
        space: of the action.
    """

    def __init__(self, space: gym.spaces.Box) -> None:
        bounded = space.is_bounded()
        low, high = (space.low, space.high) if bounded else (-np.ones(space.shape), np.ones(space.shape))
        self.space = space
        self.middle = torch.tensor(((high + low) / 2.0).reshape(-1), dtype=torch.float32)
        self.half = torch.tensor(((high - low) / 2.0).reshape(-1), dtype=torch.float32)

    def clip(self, action: Any) -> Any:
        """Return an action as an environment takes it."""
        return np.clip(action, self.space.low, self.space.high).astype(self.space.dtype).reshape(self.space.shape)


def masked(values: Tensor, available: Tensor, instead: float) -> Tensor:
    """Return values of choices with ``instead`` where a choice is not available, rows without any left as they are."""
    return torch.where(available | ~available.any(-1, keepdim=True), values, torch.full_like(values, instead))
