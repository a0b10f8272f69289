"""Networks over steps of several environments: layers with rectifiers, perhaps a recurrent unit, and a linear head."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pe_sim.learning.networks import Perceptron
from pe_sim.policies.bundle import Weights

Hidden = tuple[Tensor, Tensor | None]
"""State of a recurrent unit: h and, of an LSTM, c (else None), each (layers, B, H)."""


class SequenceNet(nn.Module):
    """Vectors of L steps, (L, B, F), to outputs (L, B, K).

    Args:
        generator: draws the weights.
        inputs: F.
        hidden: widths of the hidden layers.
        outputs: K.
        gain: of the last layer's weights.
        recurrent: 'GRU', 'LSTM' or None.
        memory: width of the recurrent unit, H.
        layers: how many recurrent units are stacked.
    """

    def __init__(
        self, generator: torch.Generator, inputs: int, hidden: tuple[int, ...], outputs: int, *, gain: float,
        recurrent: str | None = None, memory: int = 64, layers: int = 1,
    ) -> None:
        super().__init__()
        if recurrent not in {None, "GRU", "LSTM"}:
            raise ValueError(f"rnn: 'GRU' or 'LSTM' (got {recurrent!r})")
        self.inputs, self.memory, self.layers = inputs, memory, layers
        width = memory if recurrent else (hidden[-1] if hidden else inputs)
        self.trunk = Perceptron(generator, (inputs, *hidden), math.sqrt(2.0)) if hidden else None
        self.unit: Any = None
        if recurrent:
            unit = nn.GRU if recurrent == "GRU" else nn.LSTM
            self.unit = unit(hidden[-1] if hidden else inputs, memory, layers)
            _draw(self.unit, generator)
        self.head = Perceptron(generator, (width, outputs), gain).head

    def begin(self, rows: int) -> Hidden:
        """Return the state at the beginning of an episode, of ``rows`` agents."""
        zero = torch.zeros(self.layers, rows, self.memory)
        return zero, torch.zeros_like(zero) if isinstance(self.unit, nn.LSTM) else None

    def forward(
        self, x: Tensor, hidden: Hidden | None = None, starts: Tensor | None = None, active: Tensor | None = None
    ) -> tuple[Tensor, Hidden | None]:
        """Return the outputs and the state after the last step.

        Args:
            x: (L, B, F).
            hidden: state before the first step; None for the beginning of an episode. Ignored without recurrent unit.
            starts: bool (L, B), where an episode begins: the state is zero there.
            active: bool (L, B), who decides: the state of the others stays.
        """
        out, hiddens = self.unroll(x, hidden, starts, active)
        return out, hiddens[-1] if hiddens else None

    def unroll(
        self, x: Tensor, hidden: Hidden | None = None, starts: Tensor | None = None, active: Tensor | None = None
    ) -> tuple[Tensor, list[Hidden]]:
        """Return the outputs and the state after every step; see :meth:`forward`."""
        if self.trunk is not None:
            x = torch.relu(self.trunk(x))
        if self.unit is None:
            return self.head(x), []
        hidden = self.begin(x.shape[1]) if hidden is None else (hidden[0], hidden[1])
        out, hiddens = [], []
        for t in range(len(x)):
            if starts is not None and bool(starts[t].any()):
                hidden = _where(starts[t], self.begin(x.shape[1]), hidden)
            y, after = self.unit(x[t : t + 1], hidden[0] if hidden[1] is None else hidden)
            after = after if isinstance(after, tuple) else (after, None)
            if active is not None and not bool(active[t].all()):
                after = _where(active[t], after, hidden)
            hidden = after
            out.append(y)
            hiddens.append(hidden)
        return self.head(torch.cat(out)), hiddens

    def following(self, x: Tensor, hiddens: list[Hidden]) -> Tensor:
        """Return the outputs (L, B, K) for what follows each step, (L, B, F), from the states after the steps."""
        if self.unit is None:
            return self.unroll(x)[0]
        h = torch.cat([h for h, _ in hiddens], dim=1)
        c = None if hiddens[0][1] is None else torch.cat([c for _, c in hiddens if c is not None], dim=1)
        out, _ = self.unroll(x.flatten(0, 1)[None], (h, c))
        return out.reshape(*x.shape[:2], -1)

    def weights(self, who: int = 0, of: int = 1) -> Weights:
        """Return the weights as a policy bundle names them, for agent number ``who`` of the ``of`` that share them.

        What tells agents apart is a constant for each of them and becomes part of the first layer's bias.

        Raises:
            ValueError: if no bundle can hold such a network: stacked recurrent units.
        """
        if self.unit is not None and self.layers > 1:
            raise ValueError("a policy bundle holds plain layers and one recurrent unit")
        unit = "lstm" if isinstance(self.unit, nn.LSTM) else "gru"
        parts: dict[str, Tensor] = {}
        trunk = [] if self.trunk is None else [*self.trunk.layers, self.trunk.head]
        named: dict[str, Any] = {**{f"layers.{i}": layer for i, layer in enumerate(trunk)}, "head": self.head}
        for name, layer in named.items():
            parts[f"{name}.weight"], parts[f"{name}.bias"] = layer.weight, layer.bias
        if self.unit is not None:
            parts |= {f"{unit}.{name.removesuffix('_l0')}": values for name, values in self.unit.named_parameters()}
        if of > 1:
            weight = "layers.0.weight" if trunk else f"{unit}.weight_ih" if self.unit is not None else "head.weight"
            bias, own = weight.replace("weight", "bias"), self.inputs - of
            parts[bias] = parts[bias] + parts[weight][:, own + who]
            parts[weight] = parts[weight][:, :own]
        return {name: values.detach().numpy().astype(np.float32).copy() for name, values in parts.items()}


def kept(hidden: Hidden, n_envs: int) -> dict[str, NDArray[np.float32]]:
    """Return a state of rows (layers, E * n, H) as it is stored: 'h' and perhaps 'c', (E, layers, n, H)."""
    out = {}
    for name, part in zip("hc", hidden, strict=True):
        if part is not None:
            stored = part.detach().reshape(part.shape[0], n_envs, -1, part.shape[-1]).transpose(0, 1)
            out[name] = stored.numpy().astype(np.float32)
    return out


def revived(stored: dict[str, NDArray[np.float32]]) -> Hidden:
    """Return the state of rows (layers, U * n, H) from what is stored, (U, layers, n, H): inverse of :func:`kept`."""
    h, c = (torch.tensor(stored[name]).transpose(0, 1).flatten(1, 2) if name in stored else None for name in "hc")
    assert h is not None
    return h, c


def reset_item(hidden: dict[str, Hidden], i_env: int, n_envs: int) -> dict[str, Hidden]:
    """Return states by model key with that of environment ``i_env`` of ``n_envs`` as at the beginning."""
    out = {}
    for key, parts in hidden.items():
        size = parts[0].shape[1] // n_envs
        rows = slice(i_env * size, (i_env + 1) * size)
        h, c = (None if part is None else part.clone() for part in parts)
        for part in (h, c):
            if part is not None:
                part[:, rows] = 0.0
        assert h is not None
        out[key] = (h, c)
    return out


def item(hidden: dict[str, Hidden], i_env: int, n_envs: int) -> dict[str, Hidden]:
    """Return the states by model key of environment ``i_env`` alone."""
    out = {}
    for key, (h, c) in hidden.items():
        size = h.shape[1] // n_envs
        rows = slice(i_env * size, (i_env + 1) * size)
        out[key] = (h[:, rows], None if c is None else c[:, rows])
    return out


def _draw(unit: nn.Module, generator: torch.Generator) -> None:
    """Draw a recurrent unit's weights, orthogonal; biases zero."""
    with torch.no_grad():
        for values in unit.parameters():
            if values.dim() > 1:
                nn.init.orthogonal_(values, generator=generator)
            else:
                values.zero_()


def _where(rows: Tensor, yes: Hidden, no: Hidden) -> Hidden:
    """Return the state ``yes`` in rows (B,) and ``no`` in the others."""
    chosen = rows[None, :, None]
    h = torch.where(chosen, yes[0], no[0])
    return h, None if yes[1] is None or no[1] is None else torch.where(chosen, yes[1], no[1])
