"""The policy bundle: a directory with ``policy.yaml``, which says what the policy is, and ``weights.safetensors``.

Nothing in a bundle is ever executed: YAML is read as plain data, weights as numbers of declared shapes, and a
directory that holds any other kind of file is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import yaml
from numpy.typing import NDArray
from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from pe_sim.errors import ContractError, PeError, PluginError
from pe_sim.policies.contract import Contract
from pe_sim.policies.networks import NetworkSpec
from pe_sim.roles import ObserveSpec
from pe_sim.schema import Strict, validated
from pe_sim.yaml_reader import read_yaml

DESCRIPTION, WEIGHTS, GRAPH = "policy.yaml", "weights.safetensors", "policy.onnx"

ALLOWED = {DESCRIPTION, WEIGHTS, GRAPH, "README.md", "LICENSE"}
"""Files that a bundle may hold."""

MAX_BYTES = 1 << 30
"""Largest file of weights that is read."""

MAGIC = {b"PK\x03\x04": "a zip archive, as torch.save writes (a pickle)", b"\x80": "a pickle"}
"""First bytes of files that are mistaken for safetensors."""

Weights = dict[str, NDArray[np.float32]]


class Normalisation(Strict):
    """How an observation is scaled: (x - mean) / deviation, clipped to [-clip, clip]; mean and deviation are weights.

    Attributes:
        clip: greatest magnitude of a scaled value.
    """

    clip: Annotated[float, Field(gt=0.0)] = 10.0


class Description(Strict):
    """What ``policy.yaml`` says.

    Attributes:
        format: version of the format.
        role: role it was trained for.
        contract: what the agents must be like.
        observe: what the observation vector holds beside the sensors' values.
        observation: name of each place of the vector; other agents by what they are.
        units: unit of each.
        normalisation: how the vector is scaled.
        network: shape of the network.
        members: number of networks: 1 where all agents of the role share one, else one per agent.
        distribution: categorical (over the choices), gaussian (over values in [-1, 1], which are scaled to the
            action's low to high), or squashed (such values, bounded by a hyperbolic tangent, without chance).
        deterministic: whether it flies the most probable action, or draws one from a keyed stream.
        provenance: how it was made.
        evaluation: what it achieved.
        weights_sha256: hash of the file of weights.
        sha256: hash of everything that determines its decisions.
    """

    format: Literal[1] = 1
    role: str
    contract: Contract
    observe: ObserveSpec
    observation: tuple[str, ...]
    units: tuple[str, ...]
    normalisation: Normalisation = Normalisation()
    network: NetworkSpec
    members: Annotated[int, Field(ge=1, le=1000)] = 1
    distribution: Literal["categorical", "gaussian", "squashed"]
    deterministic: bool = True
    provenance: dict[str, Any] = Field(default_factory=dict)
    evaluation: dict[str, Any] = Field(default_factory=dict)
    weights_sha256: str = ""
    sha256: str = ""

    @model_validator(mode="after")
    def _without_chance(self) -> Description:
        if self.distribution == "squashed" and not self.deterministic:
            raise PydanticCustomError("policy", "deterministic: must be true where distribution is squashed")
        return self

    @property
    def outputs(self) -> int:
        """Number of the network's outputs."""
        return self.contract.action.choices or len(self.contract.action.names)

    def squashed(self) -> Description:
        """Return the description of the same policy with its values bounded by a hyperbolic tangent."""
        return Description.model_validate({**self.model_dump(), "distribution": "squashed"})

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the name and shape of every array that the file of weights must hold."""
        inputs = len(self.observation)
        shapes: dict[str, tuple[int, ...]] = {}
        for member in range(self.members):
            shapes[f"{member}.normalisation.mean"] = shapes[f"{member}.normalisation.deviation"] = (inputs,)
            parts = self.network.shapes(inputs, self.outputs)
            shapes.update({f"{member}.{name}": shape for name, shape in parts.items()})
            if self.distribution == "gaussian":
                shapes[f"{member}.log_std"] = (self.outputs,)
        return shapes

    def hash_with(self, weights_sha256: str) -> str:
        """Return the hash of everything that determines the decisions."""
        plain = self.model_dump(mode="json", exclude={"provenance", "evaluation", "weights_sha256", "sha256"})
        return hashlib.sha256(json.dumps([plain, weights_sha256], sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class Bundle:
    """A bundle that has been read and checked.

    Attributes:
        path: its directory.
        description: what it says.
        weights: name -> float32 array.
    """

    path: Path
    description: Description
    weights: Weights


def write(path: Path, description: Description, weights: Weights) -> Bundle:
    """Write a bundle into a new or empty directory, or over a bundle that lies there, whose ONNX file goes with it.

    Raises:
        ContractError: if the weights are not those that the description tells of.
        PeError: if the directory holds anything else, or cannot be written.
    """
    from safetensors.numpy import save

    path = Path(path)
    if path.exists():
        _clear_unfinished(path)
        _require_only_allowed(path)
    _require_shapes(path, description, weights)
    ordered = {name: np.ascontiguousarray(weights[name], np.float32) for name in sorted(weights)}
    data = save(ordered)
    sha = hashlib.sha256(data).hexdigest()
    complete = description.model_copy(update={"weights_sha256": sha, "sha256": description.hash_with(sha)})
    text = yaml.safe_dump(complete.model_dump(mode="json"), sort_keys=False, width=120)
    try:
        path.mkdir(parents=True, exist_ok=True)
        (path / GRAPH).unlink(missing_ok=True)
        replace_file(path / WEIGHTS, data)
        replace_file(path / DESCRIPTION, text.encode())
    except OSError as fault:
        raise PeError(str(path), f"cannot be written: {fault.strerror or fault}") from fault
    return Bundle(path, complete, ordered)


def _clear_unfinished(path: Path) -> None:
    """Remove what a write that was killed has left."""
    try:
        for name in (WEIGHTS, DESCRIPTION, GRAPH):
            _unfinished(path / name).unlink(missing_ok=True)
    except OSError as fault:
        raise PeError(str(path), f"cannot be written: {fault.strerror or fault}") from fault


def _unfinished(path: Path) -> Path:
    return path.with_name(f".{path.name}.part")


def replace_file(path: Path, data: bytes) -> None:
    """Write a file whole: what was there stays until the new one is on the disk."""
    beside = _unfinished(path)
    try:
        with beside.open("wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def read(path: str | Path) -> Bundle:
    """Read and check a bundle; nothing in it is executed.

    Raises:
        ContractError: if it is no bundle, holds a file of another kind, or its parts do not fit together.
        PluginError: if the library that reads weights is missing.
    """
    path = Path(path)
    if not path.is_dir():
        raise ContractError(str(path), "is no directory of a policy bundle")
    for name in (DESCRIPTION, WEIGHTS):
        if not (path / name).is_file():
            raise ContractError(str(path), f"is no policy bundle: it holds no {name}")
    _require_only_allowed(path)
    try:
        description = validated(Description, read_yaml(path / DESCRIPTION), str(path / DESCRIPTION))
    except PeError as fault:
        raise ContractError(fault.name, fault.rule, fault.value, fault.cure) from fault
    weights, sha = _read_weights(path / WEIGHTS)
    _require_shapes(path, description, weights)
    for key, found in (("weights_sha256", sha), ("sha256", description.hash_with(sha))):
        if getattr(description, key) != found:
            raise ContractError(f"{path}: {key}", "is not the hash of what lies here: it was changed", found)
    _require_same_graph(path, description)
    return Bundle(path, description, weights)


def _require_same_graph(path: Path, description: Description) -> None:
    """Refuse an ONNX file other than the one that was exported and compared."""
    told = description.evaluation.get("onnx")
    if not isinstance(told, dict) or not (path / GRAPH).exists():
        return
    if hashlib.sha256((path / GRAPH).read_bytes()).hexdigest() != told.get("sha256"):
        raise ContractError(
            str(path / GRAPH), "is not what was exported: it was changed", cure=f"pe-ros policy export {path}"
        )


def _require_only_allowed(path: Path) -> None:
    for entry in sorted(path.iterdir()):
        if entry.name not in ALLOWED or entry.is_symlink() or not entry.is_file():
            raise ContractError(
                str(entry), "does not belong into a policy bundle, which holds no code, pickle, link or directory",
                cure=f"a bundle holds only {', '.join(sorted(ALLOWED))}",
            )


def _read_weights(path: Path) -> tuple[Weights, str]:
    try:
        from safetensors import SafetensorError
        from safetensors.numpy import load
    except ImportError as fault:
        cure = "pip install safetensors, or everything for training: pip install '.[train]'"
        raise PluginError("policy bundles", "need the library safetensors", cure=cure) from fault
    if path.stat().st_size > MAX_BYTES:
        raise ContractError(str(path), f"is larger than {MAX_BYTES} bytes", path.stat().st_size)
    data = path.read_bytes()
    for magic, what in MAGIC.items():
        if data.startswith(magic) and (len(magic) > 1 or data[1:2] in b"\x02\x03\x04\x05"):
            raise ContractError(str(path), f"is {what}, not safetensors: refused, and not opened")
    try:
        weights = load(data)
    except (SafetensorError, ValueError, KeyError, TypeError) as fault:
        raise ContractError(str(path), f"is no safetensors file, or is damaged: {fault}") from fault
    for name, values in weights.items():
        if values.dtype != np.float32 or not np.isfinite(values).all():
            raise ContractError(f"{path}: {name}", "must be finite float32 numbers", str(values.dtype))
    return weights, hashlib.sha256(data).hexdigest()


def _require_shapes(path: Path, description: Description, weights: Weights) -> None:
    expected = description.shapes()
    names = [*expected, *(name for name in sorted(weights) if name not in expected)]
    rows = []
    for name in names:
        found = tuple(weights[name].shape) if name in weights else None
        if found != expected.get(name):
            rows.append((name, str(expected.get(name, "-")), "-" if found is None else str(found)))
    if rows:
        lines = [("", DESCRIPTION, WEIGHTS), *rows[:20]]
        first, second = (max(len(line[i]) for line in lines) for i in (0, 1))
        text = "\n".join(f"  {a:<{first}}  {b:<{second}}  {c}" for a, b, c in lines)
        more = f"\n  and {len(rows) - 20} more" if len(rows) > 20 else ""
        raise ContractError(str(path), f"its weights do not have the shapes that its description says:\n{text}{more}")
