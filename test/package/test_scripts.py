"""The scripts refuse what they cannot do in plain words, and agree with what they call."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = [*sorted((ROOT / "scripts").glob("*.sh")), ROOT / ".ci" / "run"]


def bash(*arguments, **environment):
    command = ["bash", *map(str, arguments)]
    return subprocess.run(command, cwd="/", env=os.environ | environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_is_bash(script):
    assert bash("-n", script).stderr == ""


@pytest.mark.parametrize("script", [path for path in SCRIPTS if path.name != "common.sh"], ids=lambda path: path.name)
def test_can_be_run_as_a_command(script):
    assert os.access(script, os.X_OK)
    assert script.read_text(encoding="utf-8").startswith("#!/usr/bin/env bash\n")


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({"PE_ROS_DISTRO": "humble"}, ["PE_ROS_DISTRO is 'humble'", "jazzy or kilted"]),
        ({"PE_ROS_PYTHON": "/nowhere/python3"}, ["PE_ROS_PYTHON=/nowhere/python3", "3.10 to 3.13"]),
    ],
)
def test_set_up_refuses_an_impossible_choice_before_it_does_anything(environment, told):
    result = bash(ROOT / "scripts" / "setup.sh", **environment)
    assert result.returncode == 1
    assert result.stdout == "" or result.stdout.startswith("note: ")
    assert all(part in result.stderr for part in told)


def test_a_failing_step_shows_its_output_and_ends_the_script(tmp_path):
    program = (
        f"source {ROOT}/scripts/common.sh; LOG={tmp_path}/log; step 'A step' bash -c 'echo the reason; exit 3'; echo on"
    )
    result = bash("-c", program)
    assert result.returncode == 1
    assert "==> A step" in result.stdout
    assert "on" not in result.stdout.splitlines()
    assert "the reason" in result.stderr
    assert "FAILED: A step (exit code 3)" in result.stderr
