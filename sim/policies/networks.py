"""The networks of a policy as they fly: layers with rectifiers, perhaps a recurrent unit, and a linear head.

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
        recurrent: a gated recurrent unit (GRU) or a long short-term memory (LSTM) after the hidden layers, or none.
        memory: width of the recurrent unit.
    """

    hidden: tuple[Annotated[int, Field(ge=1, le=4096)], ...] = (64, 64)
    recurrent: Literal["none", "gru", "lstm"] = "none"
    memory: Annotated[int, Field(ge=1, le=4096)] = 64

    @property
    def state_size(self) -> int:
        """Numbers that an agent remembers from one decision to the next: of an LSTM, output and cell."""
        return {"none": 0, "gru": 1, "lstm": 2}[self.recurrent] * self.memory

    def shapes(self, inputs: int, outputs: int) -> dict[str, tuple[int, ...]]:
        """Return the shape of every weight: matrices are (out, in)."""
        out: dict[str, tuple[int, ...]] = {}
        width = inputs
        for i, size in enumerate(self.hidden):
            out[f"layers.{i}.weight"], out[f"layers.{i}.bias"] = (size, width), (size,)
            width = size
        if self.recurrent != "none":
            unit, gates = self.recurrent, {"gru": 3, "lstm": 4}[self.recurrent] * self.memory
            out[f"{unit}.weight_ih"], out[f"{unit}.bias_ih"] = (gates, width), (gates,)
            out[f"{unit}.weight_hh"], out[f"{unit}.bias_hh"] = (gates, self.memory), (gates,)
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
        exact_rows: up to how many agents sums are taken in a fixed order.
    """

    spec: NetworkSpec
    weights: dict[str, Array]
    xp: Any
    exact_rows: int = EXACT_ROWS

    def forward(self, inputs: Array, memory: Array | None) -> tuple[Array, Array | None]:
        """Return outputs (R, outputs) and the new memory (R, state_size) of R agents, inputs float32 (R, inputs)."""
        x = inputs
        for i in range(len(self.spec.hidden)):
            x = self.xp.clip(self._linear(f"layers.{i}.weight", f"layers.{i}.bias", x), 0.0, None)
        if self.spec.recurrent != "none":
            assert memory is not None
            memory = self._gru(x, memory) if self.spec.recurrent == "gru" else self._lstm(x, memory)
            x = memory[:, : self.spec.memory]
        return self._linear("head.weight", "head.bias", x), memory

    def _gru(self, x: Array, h: Array) -> Array:
        """Return the new memory of a gated recurrent unit (Cho et al., 2014), in torch's convention."""
        xp, n = self.xp, self.spec.memory
        a = self._linear("gru.weight_ih", "gru.bias_ih", x)
        b = self._linear("gru.weight_hh", "gru.bias_hh", h)
        reset = logistic(xp, a[:, :n] + b[:, :n])
        update = logistic(xp, a[:, n : 2 * n] + b[:, n : 2 * n])
        candidate = xp.tanh(a[:, 2 * n :] + reset * b[:, 2 * n :])
        return (1.0 - update) * candidate + update * h

    def _lstm(self, x: Array, memory: Array) -> Array:
        """Return the new output and cell of a long short-term memory (Gers et al., 2000), in torch's convention."""
        xp, n = self.xp, self.spec.memory
        gates = self._linear("lstm.weight_ih", "lstm.bias_ih", x)
        gates = gates + self._linear("lstm.weight_hh", "lstm.bias_hh", memory[:, :n])
        enter, keep, show = (logistic(xp, gates[:, k * n : (k + 1) * n]) for k in (0, 1, 3))
        cell = keep * memory[:, n:] + enter * xp.tanh(gates[:, 2 * n : 3 * n])
        return xp.concat([show * xp.tanh(cell), cell], axis=1)

    def _linear(self, weight: str, bias: str, x: Array) -> Array:
        w, b = self.weights[weight], self.weights[bias]
        if x.shape[0] > self.exact_rows:
            return x @ w.T + b
        return sum_in_order(self.xp, w[None] * x[:, None, :]) + b


def logistic(xp: Any, x: Array) -> Array:
    """Return 1 / (1 + exp(-x)), by way of the hyperbolic tangent, which overflows nowhere."""
    return 0.5 + 0.5 * xp.tanh(0.5 * x)


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
