"""The bundles that come with the package: whole, fitting, found by name, and as good as they say."""

from __future__ import annotations

import pytest

pytest.importorskip("safetensors", reason="needs safetensors: install pe_ros[train]")

from pe_sim.errors import ContractError
from pe_sim.evaluation.evaluate import evaluate
from pe_sim.policies.bundle import read
from pe_sim.policies.loader import bundle_directory, shipped_bundles

from ..files import shipped  # noqa: TID252 - shared by one room


@pytest.mark.parametrize("name", shipped_bundles())
def test_a_shipped_bundle_achieves_what_it_says(name):
    described = read(bundle_directory(f"policies/{name}")).description
    assert described.evaluation["capture_rate"] >= 0.95
    role, engagement = described.role, described.provenance["engagement"]
    policy = f"roles__{role}__policy__"
    flown = shipped(engagement, **{f"{policy}use": f"policies/{name}", f"{policy}parameters": {}})
    found = evaluate(flown, 20, seed=4242)
    assert found.capture_rate >= 0.95
    assert found.mean_time_to_capture == pytest.approx(described.evaluation["mean_time_to_capture"], rel=0.25)


def test_a_name_that_is_no_bundle_is_told_with_those_there_are():
    engagement = shipped("kinematic_3v1", roles__pursuer__policy__use="policies/nothing")
    with pytest.raises(ContractError, match=r"policies/<name>.*guidance: .*policies: "):
        evaluate(engagement, 1)
