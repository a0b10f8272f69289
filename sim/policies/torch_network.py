"""The networks of a policy computed by torch, with one thread.

An alternative to :class:`pe_sim.policies.networks.Network` for large networks. Few agents are computed one by one, so
that each decides the same to the bit alone, in its team or in a batch: torch chooses the order of its sums by how many
rows there are. The two agree with each other to rounding.
"""

from __future__ import annotations

from typing import Any

from pe_sim.arrays import Array
from pe_sim.errors import PluginError
from pe_sim.policies.networks import EXACT_ROWS, NetworkSpec


class TorchNetwork:
    """A network with its weights.

    Args:
        spec: its shape.
        weights: as :meth:`NetworkSpec.shapes` names them, float32.
        xp: array namespace of what it is given and returns.

    Raises:
        PluginError: if torch is not installed.
    """

    def __init__(self, spec: NetworkSpec, weights: dict[str, Array], xp: Any) -> None:
        try:
            import torch
        except ImportError as fault:
            cure = "pip install '.[train]', or leave out compute: torch"
            raise PluginError("compute: torch", "needs torch, which is not installed", cure=cure) from fault
        torch.set_num_threads(1)
        self.spec = spec
        self._torch, self._xp = torch, xp
        self._weights = {name: torch.tensor(values) for name, values in weights.items()}

    def forward(self, inputs: Array, memory: Array | None) -> tuple[Array, Array | None]:
        """Return outputs (R, outputs) and the new memory (R, state_size) of R agents, inputs float32 (R, inputs)."""
        torch, rows = self._torch, inputs.shape[0]
        x, h = torch.as_tensor(inputs), None if memory is None else torch.as_tensor(memory)
        with torch.inference_mode():
            if rows == 1 or rows > EXACT_ROWS:
                out, h = self._forward(x, h)
            else:
                alone = [self._forward(x[i : i + 1], None if h is None else h[i : i + 1]) for i in range(rows)]
                out = torch.cat([one for one, _ in alone])
                h = None if h is None else torch.cat([after for _, after in alone])
        return self._xp.asarray(out), None if h is None else self._xp.asarray(h)

    def _forward(self, x: Any, h: Any) -> tuple[Any, Any]:
        torch, weights = self._torch, self._weights
        linear = torch.nn.functional.linear
        for i in range(len(self.spec.hidden)):
            x = torch.relu(linear(x, weights[f"layers.{i}.weight"], weights[f"layers.{i}.bias"]))
        unit, n = self.spec.recurrent, self.spec.memory
        if unit != "none":
            parts = [weights[f"{unit}.{name}"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
            if unit == "gru":
                x = h = torch.gru_cell(x, h, *parts)
            else:
                x, cell = torch.lstm_cell(x, [h[:, :n], h[:, n:]], *parts)
                h = torch.cat([x, cell], dim=1)
        return linear(x, weights["head.weight"], weights["head.bias"]), h
