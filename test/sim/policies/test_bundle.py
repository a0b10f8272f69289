"""The bundle: what is written is read back; what is not a plain bundle, or does not fit, is refused and never run."""

from __future__ import annotations

import io
import pickle
import zipfile

import numpy as np
import pytest
import yaml

pytest.importorskip("safetensors", reason="needs safetensors: install pe_ros[train]")

from pydantic import ValidationError

from pe_sim.arrays import namespace
from pe_sim.engagement import Engagement, parse
from pe_sim.errors import ContractError, EngagementError
from pe_sim.policies.bundle import read, write
from pe_sim.policies.describe import context_for, describe, random_weights
from pe_sim.policies.loader import load_policy
from pe_sim.policies.networks import NetworkSpec

from ..files import plane_file, shipped  # noqa: TID252 - shared by one room


class Trap:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was opened",))


def make(path, engagement: Engagement, role: str = "pursuer", **options):
    description = describe(engagement, role, options.pop("network", NetworkSpec(hidden=(8, 8))), **options)
    return write(path, description, random_weights(description, 1))


@pytest.fixture
def plane() -> Engagement:
    return parse(plane_file())


def fly(path, engagement: Engagement, role: str = "pursuer", **parameters):
    return load_policy(
        engagement, role, context_for(engagement, role).action, xp=namespace(), use=str(path), parameters=parameters
    )


def test_squashed_values_are_flown_without_chance(tmp_path, plane):
    description = describe(plane, "pursuer", NetworkSpec(hidden=(8, 8)))
    write(tmp_path / "b", description.squashed(), random_weights(description.squashed(), 1))
    fly(tmp_path / "b", plane)
    with pytest.raises(ContractError, match="flies one action for each observation"):
        fly(tmp_path / "b", plane, deterministic=False)
    with pytest.raises(ValidationError, match="deterministic: must be true"):
        describe(plane, "pursuer", NetworkSpec(), deterministic=False).squashed()


def test_a_bundle_is_read_back_as_it_was_written(tmp_path, plane):
    network = NetworkSpec(hidden=(8, 4), recurrent="gru", memory=5)
    written = make(tmp_path / "b", plane, network=network, provenance={"steps": 7}, evaluation={"capture": 0.5})
    found = read(tmp_path / "b")
    assert found.description == written.description
    assert found.description.provenance == {"steps": 7}
    assert all(np.array_equal(found.weights[name], values) for name, values in written.weights.items())
    assert sorted(p.name for p in (tmp_path / "b").iterdir()) == ["policy.yaml", "weights.safetensors"]


def test_the_same_decisions_have_the_same_hash_and_others_another(tmp_path, plane):
    one = make(tmp_path / "1", plane, evaluation={"capture": 0.1}).description
    same = make(tmp_path / "2", plane, evaluation={"capture": 0.9}).description
    other = make(tmp_path / "3", plane, network=NetworkSpec(hidden=(8, 9))).description
    assert one.sha256 == same.sha256 != other.sha256
    assert fly(tmp_path / "1", plane, deterministic=False).sha256 != fly(tmp_path / "1", plane).sha256 == one.sha256


@pytest.mark.parametrize("name", ["setup.py", "model.pt", "weights.pkl", ".hidden", "lib.so"])
def test_a_file_of_another_kind_is_refused_by_name(tmp_path, plane, name):
    make(tmp_path, plane)
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(ContractError, match=name.replace(".", r"\.")):
        read(tmp_path)


def test_links_and_directories_are_refused(tmp_path, plane):
    make(tmp_path / "link", plane)
    (tmp_path / "link" / "policy.onnx").symlink_to("/etc/passwd")
    make(tmp_path / "directory", plane)
    (tmp_path / "directory" / "LICENSE").mkdir()
    for name in ("link", "directory"):
        with pytest.raises(ContractError, match="does not belong"):
            read(tmp_path / name)


def archive() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as zipped:
        zipped.writestr("archive/data.pkl", pickle.dumps(Trap()))
    return out.getvalue()


@pytest.mark.parametrize(
    "data", [archive(), *(pickle.dumps(Trap(), protocol) for protocol in range(6)), b"", b"\x00" * 64, b"\xff" * 64]
)
def test_weights_that_are_no_safetensors_are_refused_unopened(tmp_path, plane, data):
    make(tmp_path, plane)
    (tmp_path / "weights.safetensors").write_bytes(data)
    with pytest.raises(ContractError, match="safetensors"):
        read(tmp_path)


def test_yaml_that_would_build_objects_is_refused(tmp_path, plane):
    make(tmp_path, plane)
    (tmp_path / "policy.yaml").write_text("role: !!python/object/apply:pytest.fail [opened]\n")
    with pytest.raises(ContractError):
        read(tmp_path)


@pytest.mark.parametrize("missing", ["policy.yaml", "weights.safetensors"])
def test_an_incomplete_bundle_says_what_it_lacks(tmp_path, plane, missing):
    make(tmp_path, plane)
    (tmp_path / missing).unlink()
    with pytest.raises(ContractError, match=missing):
        read(tmp_path)


def test_any_change_is_noticed(tmp_path, plane):
    make(tmp_path, plane)
    text = (tmp_path / "policy.yaml").read_text()
    (tmp_path / "policy.yaml").write_text(text.replace("rate: 10 Hz", "rate: 12 Hz"))
    with pytest.raises(ContractError, match="changed"):
        read(tmp_path)
    (tmp_path / "policy.yaml").write_text(text)
    data = bytearray((tmp_path / "weights.safetensors").read_bytes())
    data[-1] ^= 1
    (tmp_path / "weights.safetensors").write_bytes(bytes(data))
    with pytest.raises(ContractError, match="changed"):
        read(tmp_path)


def test_numbers_that_are_not_finite_are_refused(tmp_path, plane):
    description = describe(plane, "pursuer", NetworkSpec(hidden=(8,)))
    weights = random_weights(description)
    weights["0.head.bias"][0] = np.nan
    write(tmp_path, description, weights)
    with pytest.raises(ContractError, match=r"head\.bias"):
        read(tmp_path)


def test_weights_of_another_shape_are_refused_side_by_side(tmp_path, plane):
    make(tmp_path, plane)
    described = yaml.safe_load((tmp_path / "policy.yaml").read_text())
    described["network"]["hidden"] = [8, 16]
    (tmp_path / "policy.yaml").write_text(yaml.safe_dump(described))
    with pytest.raises(ContractError, match=r"layers\.1\.weight +\(16, 8\) +\(8, 8\)"):
        read(tmp_path)


CHANGES = {
    "layout": (
        {"roles": {"pursuer": {"sensors": {"tracker": {"kind": "radar", "rate": 10}}}}},
        r"sensors\.tracker\.kind +relative +radar",
    ),
    "more sensors": ({"roles": {"pursuer": {"sensors": {"place": {"kind": "position", "rate": 10}}}}}, "place"),
    "more opponents": ({"roles": {"evader": {"count": 2}}}, r"opponent_1"),
    "sensor rate": (
        {"roles": {"pursuer": {"sensors": {"tracker": {"rate": 5}}}}}, r"sensors\.tracker\.rate +10 Hz +5 Hz",
    ),
    "decision rate": ({"roles": {"pursuer": {"policy": {"rate": 20}}}}, r"decisions\.rate +10 Hz +20 Hz"),
    "latency": ({"roles": {"pursuer": {"action": {"latency": "30 ms"}}}}, r"action\.latency +0 s +0\.03 s"),
    "action": ({"roles": {"pursuer": {"dynamics": {"max_acceleration": 9}}}}, r"action\.high +10\.0.* +9\.0"),
    "dynamics": ({"roles": {"pursuer": {"dynamics": {"max_speed": 6}}}}, r"dynamics\.max_speed +5\.0 +6\.0"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_does_not_fit_is_refused_side_by_side(tmp_path, plane, what):
    make(tmp_path, plane)
    fly(tmp_path, plane)
    changes, line = CHANGES[what]
    with pytest.raises(ContractError, match=line):
        fly(tmp_path, parse(plane_file(**changes)))


def test_the_names_of_the_opponents_do_not_matter(tmp_path, plane):
    make(tmp_path, plane)
    data = plane_file()
    data["roles"]["target"] = data["roles"].pop("evader")
    fly(tmp_path, parse(data))


def test_a_user_may_accept_another_world_but_not_another_layout(tmp_path, plane):
    make(tmp_path, plane)
    faster = parse(plane_file(roles={"pursuer": {"dynamics": {"max_speed": 6}, "action": {"latency": "30 ms"}}}))
    fly(tmp_path, faster, accept=["dynamics", "latency"])
    with pytest.raises(ContractError, match=r"accept: \[dynamics\]"):
        fly(tmp_path, faster, accept=["latency"])
    with pytest.raises(EngagementError, match="accept"):
        fly(tmp_path, plane, accept=["layout"])


def test_one_network_per_agent_flies_no_larger_team(tmp_path):
    make(tmp_path, shipped("kinematic_3v1"), members=3)
    with pytest.raises(ContractError, match="one network for each of 3 agents"):
        fly(tmp_path, shipped("kinematic_3v1", roles__pursuer__count=4))


def test_what_a_killed_write_has_left_is_in_nobodys_way(tmp_path, plane):
    bundle = make(tmp_path / "b", plane)
    (tmp_path / "b" / ".weights.safetensors.part").write_bytes(b"half")
    (tmp_path / "b" / ".policy.yaml.part").write_bytes(b"half")
    write(tmp_path / "b", bundle.description, bundle.weights)
    assert read(tmp_path / "b").description.sha256 == bundle.description.sha256
    assert sorted(path.name for path in (tmp_path / "b").iterdir()) == ["policy.yaml", "weights.safetensors"]
