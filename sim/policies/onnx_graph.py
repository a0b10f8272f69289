"""A policy as one ONNX graph: raw observation vectors in, actions in their units out.

Inputs: ``observation`` float32 (N, K), not scaled, its places as the bundle's description names them; with memory also
``memory`` float32 (N, M), zeros where an episode begins. Outputs: ``action``, the most probable one, float32 (N, A) in
the action's units, or int64 (N, 1), the number of the choice; ``distribution`` float32 (N, outputs), the logits of the
choices, or the mean before it is clipped to [-1, 1] and scaled; with memory ``memory_after``; for continuous actions
``deviation`` float32 (outputs,), the standard deviation about that mean.
A bundle of several members has one more axis in front of N everywhere: the member.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pe_sim.errors import PluginError
from pe_sim.policies.bundle import Bundle

OPSET, IR = 17, 8
"""Versions of operators and of the file that runtimes from 2022 on read."""


def require_onnx(what: str) -> tuple[Any, Any]:
    """Return the libraries onnx and onnxruntime.

    Raises:
        PluginError: if one of them is not installed.
    """
    try:
        import onnx
        import onnxruntime
    except ImportError as fault:
        raise PluginError(what, f"needs {fault.name}, which is not installed", cure="pip install '.[onnx]'") from fault
    return onnx, onnxruntime


@dataclass
class _Graph:
    """Nodes and constants in the making."""

    onnx: Any
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)

    def constant(self, name: str, values: NDArray[Any] | np.float32) -> str:
        array = np.asarray(values) if np.ndim(values) == 0 else np.ascontiguousarray(values)
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def node(self, kind: str, *inputs: str, out: str | None = None, **attributes: Any) -> str:
        name = out or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), [name], name=f"make_{name}", **attributes))
        return name

    def split(self, value: str, count: int, width: int) -> list[str]:
        names = [f"part_{len(self.nodes)}_{i}" for i in range(count)]
        sizes = self.constant(f"sizes_{len(self.nodes)}", np.full(count, width, np.int64))
        self.nodes.append(self.onnx.helper.make_node("Split", [value, sizes], names, axis=-1))
        return names


class GraphBuilder:
    """Builds the graph of a bundle.

    Args:
        bundle: the bundle.

    Raises:
        PluginError: if onnx is not installed.
    """

    def __init__(self, bundle: Bundle) -> None:
        self._onnx, _ = require_onnx("policy export")
        self._bundle, self._described = bundle, bundle.description
        self._graph = _Graph(self._onnx)
        self._several = self._described.members > 1

    def build(self) -> Any:
        """Return the checked model."""
        described, graph = self._described, self._graph
        names = ("normalisation.mean", "normalisation.deviation")
        mean, deviation = (graph.constant(n, self._row(n)) for n in names)
        x = graph.node("Div", graph.node("Sub", "observation", mean), deviation)
        clip = described.normalisation.clip
        bounds = [graph.constant(n, np.float32(v)) for n, v in (("least", -clip), ("most", clip))]
        x = graph.node("Clip", x, *bounds)
        for i in range(len(described.network.hidden)):
            x = graph.node("Relu", self._linear(f"layers.{i}.weight", f"layers.{i}.bias", x))
        if described.network.recurrent != "none":
            x = self._gru(x) if described.network.recurrent == "gru" else self._lstm(x)
        if described.distribution == "squashed":
            outputs = graph.node("Tanh", self._linear("head.weight", "head.bias", x), out="distribution")
        else:
            outputs = self._linear("head.weight", "head.bias", x, out="distribution")
        if described.distribution == "categorical":
            graph.node("ArgMax", outputs, out="action", axis=-1, keepdims=1)
        else:
            self._scale(outputs)
        return self._model()

    def _stack(self, name: str) -> NDArray[Any]:
        """Return an array of weights of all members, (members, ...) where there are several."""
        arrays = [self._bundle.weights[f"{member}.{name}"] for member in range(self._described.members)]
        return np.stack(arrays) if self._several else arrays[0]

    def _row(self, name: str) -> NDArray[Any]:
        values = self._stack(name)
        return values[:, None, :] if self._several else values

    def _linear(self, weight: str, bias: str, x: str, out: str | None = None) -> str:
        matrix = self._graph.constant(weight, np.swapaxes(self._stack(weight), -1, -2))
        product = self._graph.node("MatMul", x, matrix)
        return self._graph.node("Add", product, self._graph.constant(bias, self._row(bias)), out=out)

    def _gru(self, x: str) -> str:
        graph, n = self._graph, self._described.network.memory
        a = graph.split(self._linear("gru.weight_ih", "gru.bias_ih", x), 3, n)
        b = graph.split(self._linear("gru.weight_hh", "gru.bias_hh", "memory"), 3, n)
        reset, update = (graph.node("Sigmoid", graph.node("Add", a[k], b[k])) for k in (0, 1))
        candidate = graph.node("Tanh", graph.node("Add", a[2], graph.node("Mul", reset, b[2])))
        one = graph.constant("one", np.float32(1.0))
        fresh = graph.node("Mul", graph.node("Sub", one, update), candidate)
        return graph.node("Add", fresh, graph.node("Mul", update, "memory"), out="memory_after")

    def _lstm(self, x: str) -> str:
        graph, n = self._graph, self._described.network.memory
        before, cell = graph.split("memory", 2, n)
        a = self._linear("lstm.weight_ih", "lstm.bias_ih", x)
        gates = graph.split(graph.node("Add", a, self._linear("lstm.weight_hh", "lstm.bias_hh", before)), 4, n)
        enter, keep, show = (graph.node("Sigmoid", gates[k]) for k in (0, 1, 3))
        fresh = graph.node("Mul", enter, graph.node("Tanh", gates[2]))
        after = graph.node("Add", graph.node("Mul", keep, cell), fresh)
        shown = graph.node("Mul", show, graph.node("Tanh", after))
        graph.node("Concat", shown, after, out="memory_after", axis=-1)
        return shown

    def _scale(self, outputs: str) -> None:
        """Scale what lies in [-1, 1] to the action's low to high, as :func:`pe_sim.policies.runner.scale_up` does."""
        graph, action = self._graph, self._described.contract.action
        low, high = np.asarray(action.low, np.float32), np.asarray(action.high, np.float32)
        bounds = [graph.constant(n, np.float32(v)) for n, v in (("minus_one", -1.0), ("plus_one", 1.0))]
        half, lowest = graph.constant("half", np.float32(0.5)), graph.constant("low", low)
        share = graph.node("Mul", graph.node("Add", graph.node("Clip", outputs, *bounds), "plus_one"), half)
        scaled = graph.node("Add", lowest, graph.node("Mul", share, graph.constant("span", high - low)))
        graph.node("Min", graph.node("Max", scaled, lowest), graph.constant("high", high), out="action")
        if self._described.distribution == "gaussian":
            spread = np.exp(self._row("log_std"))
            graph.node("Identity", graph.constant("spread", spread), out="deviation")

    def _model(self) -> Any:
        helper, kinds = self._onnx.helper, self._onnx.TensorProto
        described, front = self._described, [self._described.members] if self._several else []

        def value(name: str, kind: int, width: int) -> Any:
            return helper.make_tensor_value_info(name, kind, [*front, "N", width])

        size, discrete = described.network.state_size, described.distribution == "categorical"
        inputs = [value("observation", kinds.FLOAT, len(described.observation))]
        width = 1 if discrete else described.outputs
        outputs = [
            value("action", kinds.INT64 if discrete else kinds.FLOAT, width),
            value("distribution", kinds.FLOAT, described.outputs),
        ]
        if size:
            inputs.append(value("memory", kinds.FLOAT, size))
            outputs.append(value("memory_after", kinds.FLOAT, size))
        if described.distribution == "gaussian":
            shape = [described.members, 1, described.outputs] if self._several else [described.outputs]
            outputs.append(helper.make_tensor_value_info("deviation", kinds.FLOAT, shape))
        graph = helper.make_graph(self._graph.nodes, described.role, inputs, outputs, self._graph.constants)
        opset = helper.make_opsetid("", OPSET)
        model = helper.make_model(graph, producer_name="pe_ros", opset_imports=[opset], ir_version=IR)
        helper.set_model_props(model, self._properties())
        self._onnx.checker.check_model(model, full_check=True)
        return model

    def _properties(self) -> dict[str, str]:
        described, action = self._described, self._described.contract.action
        return {
            "role": described.role, "sha256": described.sha256,
            "observation": ", ".join(described.observation), "observation_units": ", ".join(described.units),
            "action": ", ".join(action.names), "action_units": ", ".join(action.units), "action_kind": action.kind,
            "choices": str(action.choices), "deterministic": str(described.deterministic).lower(),
        }
