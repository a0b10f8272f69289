"""``pe-ros train`` on aircraft flown by worker processes: a signal to all of them saves the training and ends them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")
pytest.importorskip("jsbsim", reason="needs JSBSim: install pe_ros[fixed_wing]")

ENGAGEMENT = Path(__file__).resolve().parents[2] / "config" / "engagements" / "fixed_wing_1v1.yaml"
FILE = f"""
training: duel
engagement: {ENGAGEMENT}
changes: {{world.workers: 2, rules.time_limit: 3 s, roles.hunter.policy.rate: 5 Hz}}
batch: 4
decisions: 5
steps: 100000000
checkpoint_every: 1
evaluate_episodes: 2
roles:
  hunter: {{network: {{hidden: [8]}}, critic: {{hidden: [8]}}, epochs: 1, minibatches: 1}}
"""


def workers_of(parent: int) -> list[int]:
    """Return the processes that a process has started, as long as they run."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if int(fields[1]) == parent and b"jsbsim.worker" in command:
                found.append(int(entry.name))
    return found


def alive(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for processes in /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_whole_group_saves_ends_the_workers_and_the_training_goes_on(tmp_path, number):
    file, out = tmp_path / "duel.yaml", tmp_path / "out"
    file.write_text(FILE)
    command = [sys.executable, "-m", "pe_ros.cli", "train", str(file), "-o", str(out)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    try:
        while not (out / "checkpoint.bin").exists() and process.poll() is None:
            time.sleep(0.05)
        workers = workers_of(process.pid)
        os.killpg(process.pid, number)
        output, _ = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 0, output
    assert len(workers) == 2
    assert not any(alive(pid) for pid in workers)
    assert "Traceback" not in output
    assert "JSBSim" not in output
    assert "go on with --resume" in output
    steps = json.loads(_json(command, tmp_path, output))
    assert steps["finished"]
    assert [entry["update"] for entry in steps["history"]] == list(range(1, len(steps["history"]) + 1))
    assert steps["evaluation"]["episodes"] == 2


def _json(command: list[str], directory: Path, output: str) -> str:
    """Go on for another two updates or so; return the figures."""
    saved = int(output.partition("saved after ")[2].partition(" steps")[0].replace(",", ""))
    figures = directory / "figures.json"
    more = ["--resume", "--steps", str(saved + 400), "--json", str(figures), "-q"]
    done = subprocess.run([*command, *more], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout + done.stderr == ""
    return figures.read_text()
