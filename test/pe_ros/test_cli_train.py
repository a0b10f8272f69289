"""``pe-ros train`` and ``pe-ros evaluate``: files come out, Ctrl-C saves, what is wrong is told."""

from __future__ import annotations

import importlib.util
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")

from typer.testing import CliRunner

from pe_ros.cli import app
from pe_sim.learning.kinds import load_any
from pe_sim.learning.run_directory import held

CONFIG = Path(__file__).resolve().parents[2] / "config"
FILE = """
training: tiny
engagement: {engagement}
changes: {{rules.max_step: 20}}
batch: 8
decisions: 8
steps: {steps}
checkpoint_every: 2
evaluate_episodes: 5
roles:
  pursuer: {{network: {{hidden: [8]}}, critic: {{hidden: [8]}}, epochs: 1, minibatches: 1}}
"""


def write_file(directory: Path, steps: int = 300) -> Path:
    path = directory / "tiny.yaml"
    path.write_text(FILE.format(engagement=CONFIG / "engagements" / "grid_1v1.yaml", steps=steps))
    return path


def run(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": "200"})


def test_training_writes_a_bundle_that_flies_and_says_what_it_achieved(tmp_path):
    file, out = write_file(tmp_path), tmp_path / "out"
    done = run("train", file, "--output", out, "--json", tmp_path / "figures.json")
    assert done.exit_code == 0, done.output
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert figures["finished"]
    assert figures["history"][-1]["steps"] >= 300
    assert figures["history"][-1]["steps_per_second"] > 0
    assert figures["evaluation"]["episodes"] == 5
    if importlib.util.find_spec("tensorboard"):
        assert list((out / "tensorboard").glob("events.*"))
    shown = run("policy", "show", out / "pursuer")
    assert "provenance.algorithm" in shown.output
    assert "evaluation.capture_rate" in shown.output
    flown = run("evaluate", "grid_1v1", "--policy", f"pursuer={out / 'pursuer'}", "-n", 3, "--set", "rules.max_step=20",
                "--set", "roles.pursuer.policy.rate=10")
    assert flown.exit_code == 0, flown.output
    assert "capture rate" in flown.output


def test_a_training_goes_on_where_it_stopped_and_nothing_is_overwritten(tmp_path):
    file, out = write_file(tmp_path), tmp_path / "out"
    assert run("train", file, "-o", out, "--steps", 100, "-q").exit_code == 0
    again = run("train", file, "-o", out)
    assert again.exit_code == 2
    assert "--resume" in again.output
    assert run("train", file, "-o", out, "--resume", "-q", "--json", tmp_path / "j").exit_code == 0
    assert json.loads((tmp_path / "j").read_text())["history"][-1]["steps"] >= 300
    (out / "checkpoint.bin").write_bytes(b"nonsense")
    refused = run("train", file, "-o", out, "--resume")
    assert refused.exit_code == 2
    assert "no training checkpoint" in refused.output
    assert (out / "checkpoint.bin").read_bytes() == b"nonsense"
    missing = run("train", file, "-o", tmp_path / "other", "--resume")
    assert missing.exit_code == 2
    assert "no checkpoint" in missing.output


def test_an_interrupted_training_saves_and_ends_with_code_0(tmp_path):
    file, out = write_file(tmp_path, steps=10**9), tmp_path / "out"
    command = [sys.executable, "-m", "pe_ros.cli", "train", str(file), "-o", str(out), "-q", "--json"]
    process = subprocess.Popen(
        [*command, str(tmp_path / "j")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        while not (out / "checkpoint.bin").exists() and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, output
    assert "Traceback" not in output
    assert not json.loads((tmp_path / "j").read_text())["finished"]
    assert (out / "pursuer" / "policy.yaml").exists()


def test_evaluate_measures_with_intervals(tmp_path):
    done = run("evaluate", "grid_1v1", "-n", 12, "--json", tmp_path / "j", "-q")
    assert done.exit_code == 0, done.output
    found = json.loads((tmp_path / "j").read_text())
    low, high = found["capture_interval"]
    assert 0 <= low <= found["capture_rate"] <= high <= 1
    assert sum(found["outcomes"].values()) == 12
    measured = run("evaluate", "grid_1v1", "-n", 2, "--exact", "--set", "world.size=7", "--json", tmp_path / "j")
    assert measured.exit_code == 0, measured.output
    assert json.loads((tmp_path / "j").read_text())["exact"]["pursuer_exploitability"] >= 0
    wrong = run("evaluate", "grid_1v1", "--policy", "pursuer=guidance/nothing")
    assert wrong.exit_code == 2


@pytest.mark.parametrize("file", sorted((CONFIG / "train").glob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_training_files_are_valid(file):
    spec = load_any(file)
    assert spec.training == file.stem
    spec.load_engagement(file.parent)


def test_a_training_against_pools_shows_its_ratings_and_they_can_be_had_by_a_tournament(tmp_path):
    file, out = write_file(tmp_path, steps=900), tmp_path / "out"
    more = "  evader: {network: {hidden: [8]}, critic: {hidden: [8]}, epochs: 1, minibatches: 1}\nopponents:\n"
    file.write_text(file.read_text() + more + "  pursuers: {kind: pool, snapshot_every: 2}\n")
    done = run("train", file, "-o", out, "--json", tmp_path / "figures.json")
    assert done.exit_code == 0, done.output
    history = json.loads((tmp_path / "figures.json").read_text())["history"]
    assert history[-1]["pursuers/pool"] > history[0]["pursuers/pool"] == 1
    rated = run("evaluate", "grid_1v1", "--elo", out, "-n", 4, "--members", 2, "--set", "rules.max_step=20",
                "--set", "roles.pursuer.policy.rate=10", "--set", "roles.evader.policy.rate=10",
                "--json", tmp_path / "elo.json")
    assert rated.exit_code == 0, rated.output
    assert "000000" in rated.output
    standings = json.loads((tmp_path / "elo.json").read_text())
    assert [len(names) for names in standings["names"].values()] == [2, 2]
    assert sum(sum(values) for values in standings["ratings"].values()) == pytest.approx(4000)
    refused = run("evaluate", "grid_1v1", "--elo", tmp_path)
    assert refused.exit_code == 2
    assert "tells of no pools" in refused.output


def test_evaluate_names_a_role_that_there_is_not(capsys):
    done = CliRunner().invoke(app, ["evaluate", "grid_1v1", "--policy", "pursuit=guidance/random"])
    assert done.exit_code == 2
    assert "names no role of the engagement (got 'pursuit'); did you mean 'pursuer'?" in " ".join(done.output.split())


def test_a_shipped_training_file_is_named_without_its_path(tmp_path):
    found = run("train", "kinematic_3v1_pursuer", "-o", tmp_path / "none", "--resume")
    assert "there is no checkpoint to go on from" in found.output
    wrong = run("train", "kinematic_3v1_persuer", "-o", tmp_path / "none")
    assert wrong.exit_code == 2
    assert "kinematic_3v1_pursuer" in wrong.output


@pytest.mark.parametrize("command", ["train", "evaluate"])
def test_figures_that_could_not_be_written_are_told_of_before_any_work(tmp_path, command):
    file = write_file(tmp_path, 10**9) if command == "train" else "grid_1v1"
    where = ["-o", tmp_path / "out"] if command == "train" else ["-n", 10**6]
    for path in (tmp_path / "nowhere" / "figures.json", tmp_path):
        refused = run(command, file, *where, "--json", path)
        assert refused.exit_code == 2
        assert str(path) in refused.output
    assert not (tmp_path / "out").exists()


def test_two_trainings_do_not_write_into_one_directory(tmp_path):
    file, out = write_file(tmp_path), tmp_path / "out"
    with held(out):
        refused = run("train", file, "-o", out)
    assert refused.exit_code == 2
    assert "another process" in refused.output
    assert list(out.iterdir()) == []
    assert run("train", file, "-o", out, "-q").exit_code == 0


def test_a_training_does_not_end_for_figures_that_tensorboard_cannot_write(tmp_path):
    pytest.importorskip("tensorboard")
    file, out = write_file(tmp_path), tmp_path / "out"
    out.mkdir()
    (out / "tensorboard").write_text("in the way")
    done = run("train", file, "-o", out, "-q")
    assert done.exit_code == 0, done.output
    assert (out / "checkpoint.bin").exists()


def test_what_nobody_is_sure_to_lose_is_called_endless(tmp_path):
    flown = run("evaluate", "grid_1v1", "--policy", "pursuer=guidance/hold_still", "--exact", "-n", 1,
                "--set", "world.size=5", "--set", "world.min_start_distance=1.6", "--json", tmp_path / "figures.json")
    assert flown.exit_code == 0, flown.output
    assert "pursuer against best response: without end" in flown.output
    figures = json.loads((tmp_path / "figures.json").read_text(), parse_constant=pytest.fail)
    assert figures["exact"]["pursuer_exploitability"] is None
