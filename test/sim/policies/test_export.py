"""Export to ONNX: what torch says, onnxruntime says, for every kind of network, action and extreme observations."""

from __future__ import annotations

import builtins
import shutil

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")
pytest.importorskip("onnx", reason="needs onnx: install pe_ros[onnx]")
pytest.importorskip("onnxruntime", reason="needs onnxruntime: install pe_ros[onnx]")

import onnx

from pe_sim.errors import ContractError, PluginError
from pe_sim.policies import export as exporting
from pe_sim.policies.bundle import GRAPH, read, write
from pe_sim.policies.compute import BundleNetwork, OnnxNetwork
from pe_sim.policies.describe import describe, random_weights
from pe_sim.policies.export import TOLERANCE, export, observations_for
from pe_sim.policies.loader import bundle_directory, shipped_bundles
from pe_sim.policies.networks import NetworkSpec

from ..files import shipped  # noqa: TID252 - shared by one room

NETWORKS = {
    "none": NetworkSpec(hidden=()),
    "mlp": NetworkSpec(hidden=(16, 8)),
    "gru": NetworkSpec(hidden=(12,), recurrent="gru", memory=7),
    "lstm": NetworkSpec(hidden=(12,), recurrent="lstm", memory=7),
    "bare_lstm": NetworkSpec(hidden=(), recurrent="lstm", memory=3),
}


def bundle_for(path, name: str, network: NetworkSpec, members: int = 1, scale: float = 1.0):
    description = describe(shipped(name), "pursuer", network, members=members)
    weights, rng = random_weights(description, 5, scale), np.random.default_rng(1)
    for key, values in weights.items():
        if "normalisation" in key:
            values[:] = rng.uniform(0.1, 3.0, values.shape)
        elif values.ndim == 1:
            values[:] = 0.3 * rng.standard_normal(values.shape)
    return write(path, description, weights)


@pytest.mark.parametrize(("name", "members"), [("grid_1v1", 1), ("kinematic_3v1", 1), ("kinematic_3v1", 3)])
@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_the_graph_says_what_torch_and_the_array_library_say(tmp_path, name, network, members):
    bundle = bundle_for(tmp_path, name, network, members)
    result = export(bundle, decisions=0)
    assert result.difference <= TOLERANCE
    graph, rng = OnnxNetwork((tmp_path / GRAPH).read_bytes()), np.random.default_rng(2)
    seen = (5 * rng.standard_normal((99, len(bundle.description.observation)))).astype(np.float32)
    memory = rng.standard_normal((99, network.state_size)).astype(np.float32) if network.state_size else None

    def all_members(value):
        return value if members == 1 or value is None else np.stack([value] * members)

    answer = graph(all_members(seen), all_members(memory))
    for member in range(members):
        mine = answer if members == 1 else [None if part is None else part[member] for part in answer]
        for compute in ("arrays", "torch"):
            for theirs, found in zip(BundleNetwork(bundle, compute, member)(seen, memory), mine, strict=True):
                assert (theirs is None) == (found is None)
                if theirs is not None:
                    assert found == pytest.approx(np.asarray(theirs), abs=5e-5)
    if name == "grid_1v1":
        assert answer[0].dtype == np.int64
        assert len(np.unique(answer[0])) > 1
    else:
        action = bundle.description.contract.action
        assert (answer[0] >= np.float32(action.low)).all()
        assert (answer[0] <= np.float32(action.high)).all()


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_squashed_values_are_squashed_in_the_graph_too(tmp_path, network):
    description = describe(shipped("kinematic_3v1"), "pursuer", network).squashed()
    export(write(tmp_path, description, random_weights(description, 5)), decisions=0)
    graph, rng = OnnxNetwork((tmp_path / GRAPH).read_bytes()), np.random.default_rng(2)
    seen = (5 * rng.standard_normal((99, len(description.observation)))).astype(np.float32)
    memory = np.zeros((99, network.state_size), np.float32) if network.state_size else None
    action, distribution, _ = graph(seen, memory)
    assert np.abs(distribution).max() <= 1.0 + 1e-6
    assert np.abs(distribution).std() > 0.05
    for compute in ("arrays", "torch"):
        said = BundleNetwork(read(tmp_path), compute)(seen, memory)
        assert np.abs(said[0] - action).max() <= TOLERANCE * 20.0  # actions are of up to 20 m/s
        assert np.abs(said[1] - distribution).max() <= TOLERANCE


def test_the_file_tells_what_goes_in_and_out(tmp_path):
    bundle = bundle_for(tmp_path, "kinematic_3v1", NETWORKS["gru"])
    export(bundle, decisions=0)
    model = onnx.load(tmp_path / GRAPH)
    assert [one.name for one in model.graph.input] == ["observation", "memory"]
    assert [one.name for one in model.graph.output] == ["action", "distribution", "memory_after", "deviation"]
    told = {entry.key: entry.value for entry in model.metadata_props}
    assert told["sha256"] == bundle.description.sha256
    assert told["observation"].split(", ")[0] == "own_motion.attitude_x"


def test_a_draw_can_be_made_from_what_the_graph_returns(tmp_path):
    import onnxruntime

    bundle = bundle_for(tmp_path, "kinematic_3v1", NETWORKS["mlp"])
    export(bundle, decisions=0)
    session = onnxruntime.InferenceSession(tmp_path / GRAPH, providers=["CPUExecutionProvider"])
    (deviation,) = session.run(["deviation"], {"observation": observations_for(bundle)[:1]})
    assert deviation == pytest.approx(np.exp(bundle.weights["0.log_std"]))


def test_exporting_keeps_the_hash_and_writes_latencies(tmp_path):
    before = bundle_for(tmp_path, "kinematic_3v1", NETWORKS["mlp"])
    result = export(before, decisions=20)
    after = read(tmp_path)
    assert after.description.sha256 == before.description.sha256
    latency = after.description.evaluation["latency"]
    for name in ("arrays", "torch", "onnxruntime"):
        assert 0 < latency[name]["p50"] <= latency[name]["p99"]
        assert latency[name] == result.latency[name]
    assert after.description.evaluation["onnx"]["largest_difference_to_torch"] == result.difference


def test_a_changed_graph_is_refused_and_new_weights_take_the_old_one_away(tmp_path):
    bundle = bundle_for(tmp_path, "grid_1v1", NETWORKS["mlp"])
    export(bundle, decisions=0)
    (tmp_path / GRAPH).write_bytes((tmp_path / GRAPH).read_bytes() + b"\0")
    with pytest.raises(ContractError, match=r"was changed"):
        read(tmp_path)
    write(tmp_path, bundle.description, bundle.weights)
    assert not (tmp_path / GRAPH).exists()
    assert read(tmp_path).description.sha256 == bundle.description.sha256


@pytest.mark.parametrize("name", ["grid_1v1", "kinematic_3v1"])
def test_a_graph_that_says_something_else_is_refused_and_nothing_is_written(tmp_path, name, monkeypatch):
    bundle = bundle_for(tmp_path / "one", name, NETWORKS["mlp"])
    other = bundle_for(tmp_path / "other", name, NETWORKS["mlp"], scale=1.01)
    wrong = exporting.GraphBuilder(other)
    monkeypatch.setattr(exporting, "GraphBuilder", lambda _: wrong)
    before = (bundle.path / "policy.yaml").read_bytes()
    with pytest.raises(ContractError, match="differs between ONNX and torch"):
        export(bundle, decisions=0)
    assert not (bundle.path / GRAPH).exists()
    assert (bundle.path / "policy.yaml").read_bytes() == before


@pytest.mark.parametrize("missing", ["onnx", "onnxruntime"])
def test_a_missing_library_is_named_with_its_cure(tmp_path, monkeypatch, missing):
    bundle, real = bundle_for(tmp_path, "grid_1v1", NETWORKS["mlp"]), builtins.__import__

    def absent(name, *rest, **named):
        if name == missing:
            raise ImportError("no such library", name=name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(PluginError, match=rf"needs {missing}.*\[onnx\]"):
        export(bundle, decisions=0)


@pytest.mark.parametrize("name", shipped_bundles())
def test_every_shipped_bundle_can_be_exported(tmp_path, name):
    shutil.copytree(bundle_directory(f"policies/{name}"), tmp_path / name)
    assert export(read(tmp_path / name), decisions=0).difference <= TOLERANCE
