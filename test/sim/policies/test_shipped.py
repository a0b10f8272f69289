"""The bundles that come with the package: whole, fitting, found by name, and as good as they say."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("safetensors", reason="needs safetensors: install pe_ros[train]")

from pe_sim.errors import ContractError
from pe_sim.evaluation.evaluate import evaluate
from pe_sim.policies.bundle import read
from pe_sim.policies.loader import bundle_directory, shipped_bundles

from ..files import shipped  # noqa: TID252 - shared by one room

EPISODES = 20
CATCHES = {name for name in shipped_bundles() if not name.startswith("fixed_wing")}
"""Those who are to catch at least 95 of 100; a gun duel of equals has no such goal."""


@pytest.mark.parametrize("name", shipped_bundles())
def test_a_shipped_bundle_achieves_what_it_says(name):
    described = read(bundle_directory(f"policies/{name}")).description
    said, policy = described.evaluation, f"roles__{described.role}__policy__"
    assert said["capture_rate"] >= (0.95 if name in CATCHES else 0.0)
    changes = dict(change.split("=") for change in str(said.get("changes", "")).split(", ") if change)
    changes = {key.replace(".", "__"): value for key, value in changes.items()}
    changes |= {f"{policy}use": f"policies/{name}", f"{policy}parameters": {}}
    found = evaluate(shipped(described.provenance["engagement"], **changes), EPISODES, seed=4242)
    chance = math.sqrt(said["capture_rate"] * (1.0 - said["capture_rate"]) / EPISODES)
    assert found.capture_rate == pytest.approx(said["capture_rate"], abs=max(0.05, 3.0 * chance))
    if name in CATCHES:
        assert found.mean_time_to_capture == pytest.approx(said["mean_time_to_capture"], rel=0.25)


def test_a_name_that_is_no_bundle_is_told_with_those_there_are():
    engagement = shipped("kinematic_3v1", roles__pursuer__policy__use="policies/nothing")
    with pytest.raises(ContractError, match=r"policies/<name>.*guidance: .*policies: "):
        evaluate(engagement, 1)
