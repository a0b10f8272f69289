"""``pe-ros compare``: rivals are tuned first; what would make it unfair is refused."""

from __future__ import annotations

import json

import pytest
import yaml
from typer.testing import CliRunner

from pe_ros.cli import app

ENGAGEMENT = {
    "engagement": "small_plane",
    "world": {
        "backend": "kinematic", "dimensions": 2, "tick": "50 ms", "min_start_distance": 5,
        "arena": {"low": [-20, -20, 0], "high": [20, 20, 0]},
    },
    "rules": {"capture": {"radius": 1.0}, "time_limit": "5 s"},
    "roles": {
        name: {
            "team": f"{name}s", "dynamics": {"model": "double_integrator", "max_speed": speed, "max_acceleration": 10},
            "sensors": {"own": {"kind": "own_motion", "rate": 10}, "tracker": {"kind": "relative", "rate": 10}},
            "policy": {"use": f"guidance/{use}", "rate": 10},
        }
        for name, speed, use in (("pursuer", 5, "pure_pursuit"), ("evader", 3, "flee"))
    },
}
RIVALS = {"role": "pursuer", "rivals": [{"use": "guidance/lead_pursuit", "parameters": {"time": ["0.2 s", "20 s"]}}]}


@pytest.fixture
def files(tmp_path):
    paths = tmp_path / "engagement.yaml", tmp_path / "rivals.yaml"
    for path, data in zip(paths, (ENGAGEMENT, RIVALS), strict=True):
        path.write_text(yaml.safe_dump(data))
    return [str(path) for path in paths]


def run(files, *arguments):
    engagement, rivals = files
    words = ["compare", engagement, "--policy", "guidance/hold_still", "--against", rivals, *arguments]
    return CliRunner().invoke(app, words)


def test_the_tuned_rival_stands_beside_the_policy(files, tmp_path):
    out = tmp_path / "figures.json"
    result = run(files, "-n", "6", "--tuning-episodes", "6", "--json", str(out))
    assert result.exit_code == 0, result.output
    assert "hold_still" in result.output
    assert "lead_pursuit" in result.output
    figures = json.loads(out.read_text())
    assert [one["parameters"]["time"] for one in figures["tuning"]] == ["0.2 s", "20 s"]
    assert figures["rivals"][0]["parameters"] == {"time": "0.2 s"}
    assert figures["rivals"][0]["mean_time"] < figures["team"]["mean_time"]
    assert figures["rivals"][0]["saved"] < 0.0


def test_rivals_are_not_tuned_to_the_episodes_they_are_measured_in(files):
    result = run(files, "--seed", "5", "--tuning-seed", "5")
    assert result.exit_code != 0
    assert "--tuning-seed" in result.output
