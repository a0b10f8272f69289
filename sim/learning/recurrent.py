"""Recurrent networks in training: what an agent remembers goes from each of its decisions to its next."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from torch import Tensor, nn

from pe_sim.learning.layers import layer
from pe_sim.policies.networks import NetworkSpec


class Unit(nn.Module):
    """A gated recurrent unit (Cho et al., 2014) or a long short-term memory (Gers et al., 2000), torch's convention.

    Args:
        generator: draws the weights.
        inputs: width of what comes in.
        size: width of the unit.
        gates: 3 for a gated recurrent unit, 4 for a long short-term memory.
    """

    def __init__(self, generator: torch.Generator, inputs: int, size: int, gates: int) -> None:
        super().__init__()
        self.size, self.gates = size, gates
        self.weight_ih = nn.Parameter(torch.empty(gates * size, inputs))
        self.weight_hh = nn.Parameter(torch.empty(gates * size, size))
        self.bias_ih, self.bias_hh = nn.Parameter(torch.zeros(gates * size)), nn.Parameter(torch.zeros(gates * size))
        with torch.no_grad():
            for weight in (self.weight_ih, self.weight_hh):
                for block in torch.split(weight, size):
                    nn.init.orthogonal_(block, 1.0, generator=generator)

    def enter(self, x: Tensor) -> Tensor:
        """Return what inputs (..., inputs) bring to the gates, (..., gates * size)."""
        return x @ self.weight_ih.T + self.bias_ih

    def forward(self, entered: Tensor, memory: Tensor) -> Tensor:
        """Return the new memory (R, state) from what has entered, (R, gates * size), and the old memory."""
        n = self.size
        if self.gates == 3:
            hidden = memory @ self.weight_hh.T + self.bias_hh
            open_ = torch.sigmoid(entered[:, : 2 * n] + hidden[:, : 2 * n])
            reset, update = open_[:, :n], open_[:, n:]
            candidate = torch.tanh(entered[:, 2 * n :] + reset * hidden[:, 2 * n :])
            return (1.0 - update) * candidate + update * memory
        gates = entered + memory[:, :n] @ self.weight_hh.T + self.bias_hh
        let_in, keep, new, show = (gates[:, k * n : (k + 1) * n] for k in range(4))
        cell = torch.sigmoid(keep) * memory[:, n:] + torch.sigmoid(let_in) * torch.tanh(new)
        return torch.cat([torch.sigmoid(show) * torch.tanh(cell), cell], dim=1)


class RecurrentPerceptron(nn.Module):
    """Linear layers with rectifiers, a recurrent unit, a linear head: as :class:`pe_sim.policies.networks.Network`.

    Args:
        generator: draws the weights.
        spec: its shape, with a recurrent unit.
        inputs: length of the observation vector.
        outputs: width of the head.
        gain: of the head's weights.
    """

    def __init__(
        self, generator: torch.Generator, spec: NetworkSpec, inputs: int, outputs: int, gain: float
    ) -> None:
        super().__init__()
        widths = (inputs, *spec.hidden)
        self.layers = nn.ModuleList(
            layer(generator, a, b, math.sqrt(2.0)) for a, b in pairwise(widths)
        )
        unit = Unit(generator, widths[-1], spec.memory, {"gru": 3, "lstm": 4}[spec.recurrent])
        self.add_module(spec.recurrent, unit)
        self._unit = spec.recurrent
        self.head = layer(generator, spec.memory, outputs, gain)

    def _enter(self, x: Tensor) -> Tensor:
        for one in self.layers:
            x = torch.relu(one(x))
        entered: Tensor = self.unit.enter(x)
        return entered

    @property
    def unit(self) -> Unit:
        """The recurrent unit."""
        unit = self.get_submodule(self._unit)
        assert isinstance(unit, Unit)
        return unit

    def forward(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Return outputs (R, outputs) and the new memory (R, state) for inputs (R, inputs)."""
        memory = self.unit(self._enter(x), memory)
        out: Tensor = self.head(memory[:, : self.unit.size])
        return out, memory

    def unroll(self, x: Tensor, memory: Tensor, fresh: Tensor) -> Tensor:
        """Return the outputs (T, R, outputs) of R sequences of T decisions.

        Args:
            x: inputs (T, R, inputs).
            memory: what was remembered before the first, (R, state).
            fresh: where an episode begins and nothing is remembered, bool (T, R).
        """
        unit, entered, kept = self.unit, self._enter(x), []
        for now, new in zip(entered, fresh, strict=True):
            memory = unit(now, torch.where(new[:, None], 0.0, memory))
            kept.append(memory[:, : unit.size])
        out: Tensor = self.head(torch.stack(kept))
        return out
