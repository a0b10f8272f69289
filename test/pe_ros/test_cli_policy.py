"""``pe-ros policy``: what a bundle is, whether it fits, and refusals that people can read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("safetensors", reason="needs safetensors: install pe_ros[train]")

from typer.testing import CliRunner

from pe_ros.cli import app
from pe_sim.engagement import load
from pe_sim.policies.bundle import write
from pe_sim.policies.describe import describe, random_weights
from pe_sim.policies.networks import NetworkSpec

ENGAGEMENTS = Path(__file__).resolve().parents[2] / "config" / "engagements"


@pytest.fixture
def bundle(tmp_path) -> Path:
    engagement = load(ENGAGEMENTS / "kinematic_3v1.yaml")
    description = describe(engagement, "pursuer", NetworkSpec(hidden=(8,)), provenance={"steps": 12})
    return write(tmp_path / "bundle", description, random_weights(description)).path


def run(*words: object):
    return CliRunner().invoke(app, ["policy", *(str(word) for word in words)], env={"COLUMNS": "200"})


def test_show_tells_what_a_bundle_is(bundle):
    shown = run("show", bundle)
    assert shown.exit_code == 0
    for text in ("pursuer", "at 20 Hz", "velocity", "radar", "opponent_0.range", "provenance.steps"):
        assert text in shown.output
    assert json.loads(run("show", bundle, "--json").stdout)["contract"]["rate"] == "20 Hz"


def test_check_says_whether_it_fits(bundle):
    assert run("check", bundle).exit_code == 0
    assert "fits pursuer" in run("check", bundle, "kinematic_3v1").output
    refused = run("check", bundle, "kinematic_3v1", "--role", "evader")
    assert refused.exit_code == 2
    assert "decisions.rate" in refused.output
    assert "Traceback" not in refused.output
    assert "did you mean" in run("check", bundle, "kinematic_3v1", "--role", "pursuers").output


def test_a_bundle_with_code_is_refused(bundle):
    (bundle / "model.py").write_text("raise SystemExit")
    for command in ("show", "check"):
        refused = run(command, bundle)
        assert refused.exit_code == 2
        assert "model.py" in refused.output


def test_export_writes_the_graph_and_says_how_it_compares(bundle):
    for library in ("torch", "onnx", "onnxruntime"):
        pytest.importorskip(library, reason="needs torch and onnx: install pe_ros[train,onnx]")
    exported = run("export", bundle, "--decisions", 10)
    assert exported.exit_code == 0
    assert (bundle / "policy.onnx").exists()
    for text in ("differs from torch by at most", "onnxruntime", "p99"):
        assert text in exported.output
    assert run("check", bundle, "kinematic_3v1").exit_code == 0
    assert "evaluation.latency" in run("show", bundle).output
    plain = json.loads(run("export", bundle, "--decisions", 0, "--json").stdout)
    assert plain["difference"] <= 1e-5
    assert not plain["latency"]
