"""Export of a bundle to ONNX: built from its weights, compared with torch, refused where the two differ."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from pe_sim.errors import ContractError, PeError
from pe_sim.policies.bundle import DESCRIPTION, GRAPH, Bundle, replace_file
from pe_sim.policies.compute import BundleNetwork, OnnxNetwork
from pe_sim.policies.onnx_graph import OPSET, GraphBuilder, require_onnx

TOLERANCE = 1e-5
"""Greatest difference to torch: absolute below 1, relative above; of actions, in units of half their range.

Logits and means are relative to the largest of the decision: sums that cancel are rounded as what is in them is.
"""

Decide = Callable[[NDArray[Any], Any], tuple[Any, Any, Any]]


@dataclass(frozen=True)
class Export:
    """What an export came to.

    Attributes:
        path: the file.
        difference: greatest difference to torch that was found, see :data:`TOLERANCE`.
        observations: how many were compared.
        latency: 'arrays', 'torch', 'onnxruntime' -> {'p50', 'p99'} of one decision of one agent [us].
    """

    path: Path
    difference: float
    observations: int
    latency: dict[str, dict[str, float]]


def export(bundle: Bundle, *, decisions: int = 2000) -> Export:
    """Write ``policy.onnx`` into a bundle, and into its evaluation how it compares; its hash stays what it is.

    Args:
        bundle: the bundle.
        decisions: how many to take the latencies of; 0 for none.

    Raises:
        PluginError: if onnx, onnxruntime or torch is not installed.
        ContractError: if the graph does not say what torch says; nothing is written then.
        PeError: if it cannot be written.
    """
    _, runtime = require_onnx("policy export")
    data: bytes = GraphBuilder(bundle).build().SerializeToString()
    seen = observations_for(bundle)
    difference = compare(bundle, data, seen)
    latency = latencies(bundle, data, decisions) if decisions else {}
    about = {
        "sha256": hashlib.sha256(data).hexdigest(), "opset": OPSET, "onnxruntime": str(runtime.__version__),
        "largest_difference_to_torch": difference, "observations_compared": len(seen),
    }
    evaluation = {**bundle.description.evaluation, "onnx": about}
    if latency:
        evaluation["latency"] = {"unit": "us", "agents": 1, "threads": 1, **latency}
    description = bundle.description.model_copy(update={"evaluation": evaluation})
    text = yaml.safe_dump(description.model_dump(mode="json"), sort_keys=False, width=120)
    path = bundle.path / GRAPH
    try:
        replace_file(path, data)
        replace_file(bundle.path / DESCRIPTION, text.encode())
    except OSError as fault:
        raise PeError(str(path), f"cannot be written: {fault.strerror or fault}") from fault
    return Export(path, difference, len(seen), latency)


def observations_for(bundle: Bundle, count: int = 200) -> NDArray[np.float32]:
    """Return observations (R, K) to compare with: like those of training, far outside them, and at the limits."""
    weights, rng = bundle.weights, np.random.default_rng(0)
    mean, deviation = weights["0.normalisation.mean"], weights["0.normalisation.deviation"]
    near = mean + deviation * rng.standard_normal((count, len(mean)))
    far = mean + deviation * 30.0 * rng.standard_normal((count, len(mean)))
    extreme = [np.full(len(mean), value) for value in (0.0, 1.0, -1.0, 1e4, -1e4, 1e30, -1e30)]
    sides = rng.choice([-1e30, 1e30], (50, len(mean)))
    return np.concatenate([near, far, np.stack(extreme), sides]).astype(np.float32)


def compare(bundle: Bundle, model: bytes, observations: NDArray[np.float32]) -> float:
    """Return the greatest difference between a graph and torch, over a few decisions in a row where there is memory.

    Raises:
        ContractError: if it is more than :data:`TOLERANCE`.
    """
    described, size = bundle.description, bundle.description.network.state_size
    members = [BundleNetwork(bundle, "torch", member) for member in range(described.members)]
    graph, rows = OnnxNetwork(model), len(observations)
    shape = (len(members), rows) if len(members) > 1 else (rows,)
    rng = np.random.default_rng(1)
    memory = np.zeros((*shape, size), np.float32)
    worst = 0.0
    for step in range(4 if size else 1):
        given = observations if step == 0 else observations[rng.permutation(rows)]
        before = memory if len(members) > 1 else memory[None]
        answers = [one(given, before[i] if size else None) for i, one in enumerate(members)]
        expected = [np.stack(part) if part[0] is not None else None for part in zip(*answers, strict=True)]
        stacked = np.ascontiguousarray(np.broadcast_to(given, (*shape, given.shape[1])))
        found = graph(stacked, memory)
        for name, theirs, mine in zip(("action", "distribution", "memory_after"), expected, found, strict=True):
            if theirs is None:
                continue
            both = np.asarray(theirs).reshape(mine.shape), np.asarray(mine)
            if described.distribution == "categorical" and name == "action":
                gap = _choices_gap(found[1], *both)
            else:
                gap = _gap(*both, _unit(bundle, name, both[0]))
            worst = max(worst, gap)
            if not gap <= TOLERANCE:
                raise ContractError(
                    f"{bundle.path}: {name}", f"differs between ONNX and torch by more than {TOLERANCE}: not exported",
                    gap, "weights this large lose their precision in float32: train with a smaller learning rate",
                )
        memory = found[2] if size else memory
    return worst


def _unit(bundle: Bundle, name: str, expected: NDArray[Any]) -> Any:
    """Return what differences in an output are measured in, at least 1."""
    if name == "action":
        return _half_range(bundle)
    if name == "distribution":
        return np.maximum(np.abs(expected.astype(np.float64)).max(axis=-1, keepdims=True), 1.0)
    return 1.0


def _half_range(bundle: Bundle) -> NDArray[Any]:
    action = bundle.description.contract.action
    half = (np.asarray(action.high, np.float64) - np.asarray(action.low, np.float64)) / 2.0
    return np.asarray(np.maximum(half, 1.0))


def _gap(expected: NDArray[Any], found: NDArray[Any], unit: Any) -> float:
    scale = np.maximum(unit, np.abs(expected.astype(np.float64)))
    return float(np.max(np.abs(expected.astype(np.float64) - found) / scale, initial=0.0))


def _choices_gap(logits: NDArray[Any], expected: NDArray[Any], found: NDArray[Any]) -> float:
    """Return by how much the logit of one choice exceeds that of the other: 0 where the choices are the same."""
    picked = [np.take_along_axis(logits, one, axis=-1).astype(np.float64) for one in (expected, found)]
    return _gap(picked[0], picked[1], 1.0)


def latencies(bundle: Bundle, model: bytes, decisions: int) -> dict[str, dict[str, float]]:
    """Return the time of one decision of one agent by each library [us], after a warm-up, one thread."""
    described = bundle.description
    several, size = described.members > 1, described.network.state_size
    observation = bundle.weights["0.normalisation.mean"][None].copy()
    memory = np.zeros((1, size), np.float32) if size else None

    def all_members(value: NDArray[Any] | None) -> NDArray[Any] | None:
        return None if value is None else np.stack([value] * described.members)

    graph = OnnxNetwork(model)
    by: dict[str, tuple[Decide, Any, Any]] = {
        "arrays": (BundleNetwork(bundle, "arrays"), observation, memory),
        "torch": (BundleNetwork(bundle, "torch"), observation, memory),
        "onnxruntime": (
            (graph, all_members(observation), all_members(memory)) if several else (graph, observation, memory)
        ),
    }
    return {name: _percentiles(*what, decisions) for name, what in by.items()}


def _percentiles(decide: Decide, observation: Any, memory: Any, decisions: int) -> dict[str, float]:
    for _ in range(100):
        decide(observation, memory)
    spent = np.empty(decisions)
    for i in range(decisions):
        start = time.perf_counter_ns()
        decide(observation, memory)
        spent[i] = time.perf_counter_ns() - start
    return {f"p{q}": round(float(np.percentile(spent, q)) / 1e3, 1) for q in (50, 99)}
