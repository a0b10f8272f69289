"""Networks of off-policy agents: judges of actions, and actors whose actions are bounded."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from pe_sim.learning.networks import Perceptron

LOG_STD = (-20.0, 2.0)
"""Least and greatest logarithm of a standard deviation (Haarnoja et al., 2018)."""


class ActionCritic(nn.Module):
    """Judge of observation and action: one value.

    Args:
        generator: draws the weights.
        hidden: width of each hidden layer.
        inputs: length of an observation.
        actions: length of an action.
    """

    def __init__(self, generator: torch.Generator, hidden: tuple[int, ...], inputs: int, actions: int) -> None:
        super().__init__()
        self.body = Perceptron(generator, (inputs + actions, *hidden, 1), gain=1.0)

    def forward(self, seen: Tensor, action: Tensor) -> Tensor:
        """Return the values (R,) of actions in [-1, 1], (R, A), for what is seen, (R, K)."""
        out: Tensor = self.body(torch.cat([seen, action], dim=-1))
        return out[:, 0]


class BoundedActor(nn.Module):
    """Actor without chance: what is seen, (R, K), to values in [-1, 1], (R, A)."""

    def __init__(self, generator: torch.Generator, hidden: tuple[int, ...], inputs: int, actions: int) -> None:
        super().__init__()
        self.body = Perceptron(generator, (inputs, *hidden, actions), gain=0.01)

    def forward(self, seen: Tensor) -> Tensor:
        """Return the values."""
        return torch.tanh(self.body(seen))


class SquashedGaussianActor(nn.Module):
    """Actor by chance: normal draws squashed into (-1, 1) (Haarnoja et al., 2018)."""

    def __init__(self, generator: torch.Generator, hidden: tuple[int, ...], inputs: int, actions: int) -> None:
        super().__init__()
        self.body = Perceptron(generator, (inputs, *hidden, 2 * actions), gain=0.01)

    def mode(self, seen: Tensor) -> Tensor:
        """Return the squashed means, (R, A)."""
        mean: Tensor = self.body(seen).chunk(2, dim=-1)[0]
        return torch.tanh(mean)

    def sample(self, seen: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Draw values (R, A) and return them with their log-probabilities (R,)."""
        mean, log_std = self.body(seen).chunk(2, dim=-1)
        log_std = log_std.clamp(*LOG_STD)
        noise = torch.randn(mean.shape, generator=generator)
        raw = mean + torch.exp(log_std) * noise
        plain = (-0.5 * noise.square() - log_std - 0.5 * math.log(2.0 * math.pi)).sum(-1)
        # log(1 - tanh(x)^2), written so that it stays finite for large x
        squash = 2.0 * (math.log(2.0) - raw - nn.functional.softplus(-2.0 * raw))
        return torch.tanh(raw), plain - squash.sum(-1)
