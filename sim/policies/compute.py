"""One decision of a bundle, from the raw observation vector to the action, by each library that can compute it.

What a policy does besides (gathering readings, past actions) is the same for all and left out: these are what is
compared when a bundle is exported, and what their latencies are told of.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pe_sim.arrays import namespace
from pe_sim.policies.bundle import Bundle
from pe_sim.policies.networks import Network
from pe_sim.policies.onnx_graph import require_onnx
from pe_sim.policies.runner import scale_up
from pe_sim.policies.torch_network import TorchNetwork

Memory = NDArray[np.float32] | None


class BundleNetwork:
    """One member of a bundle by the array library ('arrays') or by torch ('torch').

    Args:
        bundle: the bundle.
        compute: which of them.
        member: which network.
    """

    def __init__(self, bundle: Bundle, compute: str, member: int = 0) -> None:
        self._described = bundle.description
        self._xp = xp = namespace()
        first = f"{member}."
        mine = {n.removeprefix(first): xp.asarray(v) for n, v in bundle.weights.items() if n.startswith(first)}
        self._mean, self._deviation = mine.pop("normalisation.mean"), mine.pop("normalisation.deviation")
        mine.pop("log_std", None)
        kind = TorchNetwork if compute == "torch" else Network
        self._network = kind(self._described.network, mine, xp)
        action = self._described.contract.action
        self._low, self._high = np.asarray(action.low, np.float32), np.asarray(action.high, np.float32)

    def __call__(self, observation: NDArray[Any], memory: Memory) -> tuple[Any, Any, Any]:
        """Return action (N, A), distribution (N, outputs), memory after (N, M) or None."""
        xp, clip = self._xp, self._described.normalisation.clip
        inputs = xp.clip((observation - self._mean) / self._deviation, -clip, clip)
        outputs, after = self._network.forward(inputs, memory)
        if self._described.distribution == "categorical":
            return xp.argmax(outputs, axis=-1)[:, None], outputs, after
        if self._described.distribution == "squashed":
            outputs = xp.tanh(outputs)
        return scale_up(xp, outputs, self._low, self._high), outputs, after


class OnnxNetwork:
    """A bundle's graph by onnxruntime, with one thread; all members at once where there are several.

    Args:
        model: the file's bytes.

    Raises:
        PluginError: if onnxruntime is not installed.
    """

    def __init__(self, model: bytes) -> None:
        _, runtime = require_onnx("policy.onnx")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self._recurrent = len(self._session.get_inputs()) > 1
        self._wanted = ["action", "distribution", *(["memory_after"] if self._recurrent else [])]

    def __call__(self, observation: NDArray[Any], memory: Memory) -> tuple[Any, Any, Any]:
        """Return action, distribution and memory after, as the graph does."""
        given = {"observation": observation, **({"memory": memory} if self._recurrent else {})}
        values = self._session.run(self._wanted, given)
        return values[0], values[1], values[2] if self._recurrent else None
