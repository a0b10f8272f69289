"""The networks of a policy as they fly: layers with rectifiers, perhaps a gated recurrent unit, and a linear head.

Inference needs the array library that the simulation runs on and nothing else: no torch on a robot. Up to
:data:`EXACT_ROWS` agents are computed with every sum written out in one fixed order, each operation rounded as IEEE 754
says: an agent decides the same to the last bit alone on its own computer, in its team, or in a batch. Larger batches
use matrix products, which agree to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from pe_sim.arrays import Array
from pe_sim.schema import Strict

EXACT_ROWS = 64
"""Agents computed at once with sums in a fixed order."""


class NetworkSpec(Strict):
    """Shape of a policy's network.

    Attributes:
        hidden: width of each hidden layer, each followed by a rectifier.
        recurrent: a gated recurrent unit (GRU) after the hidden layers, or none.
        memory: width of the recurrent unit.
    """

    hidden: tuple[Annotated[int, Field(ge=1, le=4096)], ...] = (64, 64)
    recurrent: Literal["none", "gru"] = "none"
    memory: Annotated[int, Field(ge=1, le=4096)] = 64

    def shapes(self, inputs: int, outputs: int) -> dict[str, tuple[int, ...]]:
        """Return the shape of every weight: matrices are (out, in)."""
        out: dict[str, tuple[int, ...]] = {}
        width = inputs
        for i, size in enumerate(self.hidden):
            out[f"layers.{i}.weight"], out[f"layers.{i}.bias"] = (size, width), (size,)
            width = size
        if self.recurrent == "gru":
            out["gru.weight_ih"], out["gru.bias_ih"] = (3 * self.memory, width), (3 * self.memory,)
            out["gru.weight_hh"], out["gru.bias_hh"] = (3 * self.memory, self.memory), (3 * self.memory,)
            width = self.memory
        out["head.weight"], out["head.bias"] = (outputs, width), (outputs,)
        return out


@dataclass
class Network:
    """A network with its weights.

    Attributes:
        spec: its shape.
        weights: as :meth:`NetworkSpec.shapes` names them, float32.
        xp: array namespace.
    """

    spec: NetworkSpec
    weights: dict[str, Array]
    xp: Any

    def forward(self, inputs: Array, memory: Array | None) -> tuple[Array, Array | None]:
        """Return the outputs (R, outputs) and the new memory (R, memory) of R agents, inputs float32 (R, inputs)."""
        x = inputs
        for i in range(len(self.spec.hidden)):
            x = self.xp.clip(self._linear(f"layers.{i}.weight", f"layers.{i}.bias", x), 0.0, None)
        if self.spec.recurrent == "gru":
            assert memory is not None
            x = memory = self._gru(x, memory)
        return self._linear("head.weight", "head.bias", x), memory

    def _gru(self, x: Array, h: Array) -> Array:
        """Return the new memory of a gated recurrent unit (Cho et al., 2014), in torch's convention."""
        xp, n = self.xp, self.spec.memory
        a = self._linear("gru.weight_ih", "gru.bias_ih", x)
        b = self._linear("gru.weight_hh", "gru.bias_hh", h)
        reset = 0.5 + 0.5 * xp.tanh(0.5 * (a[:, :n] + b[:, :n]))  # the logistic function, as a tanh
        update = 0.5 + 0.5 * xp.tanh(0.5 * (a[:, n : 2 * n] + b[:, n : 2 * n]))
        candidate = xp.tanh(a[:, 2 * n :] + reset * b[:, 2 * n :])
        return (1.0 - update) * candidate + update * h

    def _linear(self, weight: str, bias: str, x: Array) -> Array:
        w, b = self.weights[weight], self.weights[bias]
        if x.shape[0] > EXACT_ROWS:
            return x @ w.T + b
        return sum_in_order(self.xp, w[None] * x[:, None, :]) + b


def sum_in_order(xp: Any, terms: Array) -> Array:
    """Return the sum over the last axis, by halves: an order that depends on its length alone."""
    width = terms.shape[-1]
    while width > 1:
        half = width // 2
        paired = terms[..., :half] + terms[..., half : 2 * half]
        if width % 2:
            paired = xp.concat([paired, terms[..., 2 * half : width]], axis=-1)
        terms, width = paired, half + width % 2
    return terms[..., 0]
