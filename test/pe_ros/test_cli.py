"""The command line: help, results, and errors that a person can act on; never a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from pe_ros.cli import app
from pe_sim.engagement import load

CONFIG = Path(__file__).resolve().parents[2] / "config" / "engagements"
GRID = str(CONFIG / "grid_1v1.yaml")
KINEMATIC = str(CONFIG / "kinematic_3v1.yaml")


def pe_ros(*arguments: str, check: bool = True, **more) -> subprocess.CompletedProcess[str]:
    run = subprocess.run(
        [sys.executable, "-m", "pe_ros.cli", *arguments],
        check=False, capture_output=True, text=True, timeout=100, **more,
    )
    assert "Traceback" not in run.stderr + run.stdout
    if check:
        assert run.returncode == 0, run.stderr
    return run


@pytest.mark.ros
def test_engage_and_rollout_write_the_same_trajectories(ros_domain, tmp_path):
    pytest.importorskip("rclpy", reason="needs ROS 2: install pe-ros[ros]")
    common = ("--episodes", "3", "--seed", "9", "--quiet", "--json")
    pe_ros("engage", GRID, "--pace", "lockstep", *common, str(tmp_path / "ros.json"))
    pe_ros("rollout", GRID, *common, str(tmp_path / "env.json"))
    ros, env = (json.loads((tmp_path / name).read_text()) for name in ("ros.json", "env.json"))
    assert ros["engagement_sha256"] == env["engagement_sha256"]
    assert [e["episode"] for e in ros["episodes"]] == [0, 1, 2]
    for one, other in zip(ros["episodes"], env["episodes"], strict=True):
        assert one == other


@pytest.mark.ros
def test_engage_says_by_its_exit_code_that_a_recording_stopped_early(ros_domain, tmp_path):
    """A limit on the size of files stands for the full disk."""
    pytest.importorskip("rclpy", reason="needs ROS 2: install pe-ros[ros]")
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000)); "
    program = limit + "from pe_ros.cli import main; main()"
    record = ("--record", str(tmp_path / "bag"), "--json", str(tmp_path / "a.json"))
    run = subprocess.run(
        [sys.executable, "-c", program, "engage", KINEMATIC, "--pace", "lockstep", "--quiet", *record],
        capture_output=True, text=True, timeout=100, check=False,
    )
    assert run.returncode == 1, run.stderr
    assert "recording stopped: File too large" in run.stderr
    assert "Traceback" not in run.stderr
    assert len(json.loads((tmp_path / "a.json").read_text())["episodes"]) == 1


def test_rollout_prints_a_table():
    text = pe_ros("rollout", GRID, "-n", "2").stdout
    assert "grid_1v1" in text
    assert "capture" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("rollout", "nowhere.yaml"), ("nowhere.yaml", "cannot be read")),
        (("rollout", GRID, "--set", "world.sise=5"), ("world", "unknown key 'sise'", "did you mean 'size'")),
        (("rollout", GRID, "--set", "world.tick=5 m"), ("world.tick", "wrong unit", "5 m")),
        (("rollout", GRID, "--set", "world.size=1"), ("world.size", "greater than or equal to 2")),
        (("rollout", GRID, "--set", "nonsense"), ("--set", "KEY=VALUE")),
        (("rollout", GRID, "--set", "world.size={"), ("--set world.size", "no valid YAML")),
        (("rollout", GRID, "--seed", str(2**63)), ("--seed", "9223372036854775807")),
        (("rollout", GRID, "--json", "/nowhere/a.json"), ("/nowhere/a.json", "directory does not exist")),
        (("rollout", GRID, "--set", "roles.evader.policy.use=guidance/fle"), ("guidance", "did you mean 'flee'")),
        (("engage", GRID, "--pace", "fast"), ("--pace", "realtime or lockstep")),
    ],
)
def test_errors_name_what_is_wrong_and_how_to_mend_it(arguments, words):
    run = pe_ros(*arguments, check=False)
    assert run.returncode == 2
    for word in words:
        assert word in run.stderr


def test_without_ros_engage_says_what_is_missing_and_rollout_works(tmp_path):
    # An empty module in front of the real one: as if rclpy were not installed.
    hide = "import sys; sys.modules['rclpy'] = None; import importlib.util as u; f = u.find_spec\n"
    hide += "u.find_spec = lambda name, *a: None if name.startswith('rclpy') else f(name, *a)\n"
    hide += "from pe_ros.cli import main; main()"
    for arguments, code, word in ((("engage", GRID), 2, "needs ROS 2"), (("rollout", GRID), 0, "capture")):
        run = subprocess.run(
            [sys.executable, "-c", hide, *arguments], capture_output=True, text=True, timeout=100, check=False
        )
        assert run.returncode == code, run.stderr
        assert word in run.stdout + run.stderr


def test_every_command_has_help():
    for command in ((), ("engage",), ("rollout",), ("bag",), ("bag", "info"), ("engagement", "show"), ("env", "check")):
        assert "Usage" in pe_ros(*command, "--help").stdout
    assert pe_ros("--version").stdout.startswith("pe-ros ")


def test_no_help_holds_square_brackets_which_are_markup_and_vanish():
    found, waiting = [], [get_command(app)]
    while waiting:
        command = waiting.pop()
        waiting += list(getattr(command, "commands", {}).values())
        texts = [command.help or "", *(getattr(option, "help", None) or "" for option in command.params)]
        found += [text for text in texts if "[" in text]
    assert not found


def test_shipped_engagements_are_listed():
    shown = pe_ros("engagement", "list", env=os.environ | {"COLUMNS": "200"}).stdout
    for path in CONFIG.glob("*.yaml"):
        assert path.stem in shown
        assert load(path).description in shown


OWN = """
import numpy as np
from gymnasium.spaces import Box, Discrete

class Good:
    dtype = np.float32
    def __init__(self):
        self.observation_spaces = {a: Box(-1, 1, (2,), self.dtype) for a in "ab"}
        self.action_spaces = {a: Discrete(4) for a in "ab"}
    def seen(self):
        return {a: np.zeros(2, self.dtype) for a in "ab"}
    def reset(self, seed=None):
        self.count = 0
        return self.seen(), {}
    def flags(self, over):
        return {"a": over, "b": over, "__all__": over}
    def step(self, actions):
        self.count += 1
        return self.seen(), {"a": 1.0, "b": -1.0}, *self.ends(self.count >= 3), {}
    def ends(self, over):
        return self.flags(False), self.flags(over)

class Double(Good):
    dtype = np.float64

class NoAll(Good):
    def flags(self, over):
        return {"a": over, "b": over}

class Timeouts(Good):
    def ends(self, over):
        return self.flags(over), self.flags(False)

class Broken(Good):
    def step(self, actions):
        return {}
"""


@pytest.mark.parametrize(
    ("name", "code", "text"),
    [
        ("Good", 0, "no findings"), ("Double", 1, "networks want float32"), ("NoAll", 1, "'__all__' is missing"),
        ("Timeouts", 1, "truncate instead of terminating"), ("Broken", 2, "cannot be played"),
        ("Nothing", 2, "there is nothing in"),
    ],
)
def test_an_environment_of_ones_own_is_checked_by_playing_it(tmp_path, name, code, text):
    (tmp_path / "own_env.py").write_text(OWN)
    run = pe_ros("env", "check", f"own_env.py:{name}", "--zero-sum", check=False, cwd=tmp_path)
    assert run.returncode == code, run.stdout + run.stderr
    assert text in run.stdout + run.stderr
    absent = pe_ros("env", "check", "no_such_env.py:Good", check=False, cwd=tmp_path)
    assert absent.returncode == 2
    assert "cannot be imported" in absent.stderr
