"""Layers of the networks in training."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from torch import Tensor, nn


def layer(generator: torch.Generator, inputs: int, outputs: int, gain: float) -> nn.Linear:
    """Return a linear layer with orthogonal weights (Saxe et al., 2014), bias zero."""
    made = nn.Linear(inputs, outputs)
    with torch.no_grad():
        nn.init.orthogonal_(made.weight, gain, generator=generator)
        made.bias.zero_()
    return made


class Perceptron(nn.Module):
    """Linear layers with rectifiers between them; the last layer is linear.

    Args:
        generator: draws the weights.
        sizes: width of inputs, hidden layers and outputs.
        gain: of the last layer's weights.
    """

    def __init__(self, generator: torch.Generator, sizes: tuple[int, ...], gain: float) -> None:
        super().__init__()
        pairs = list(pairwise(sizes))
        self.layers = nn.ModuleList(layer(generator, a, b, math.sqrt(2.0)) for a, b in pairs[:-1])
        self.head = layer(generator, *pairs[-1], gain)

    def forward(self, x: Tensor) -> Tensor:
        """Return the outputs (R, outputs) for inputs (R, inputs)."""
        for one in self.layers:
            x = torch.relu(one(x))
        out: Tensor = self.head(x)
        return out
