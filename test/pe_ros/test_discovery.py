"""The Fast DDS profile is used where the user has chosen nothing, and accepted by the middleware."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pe_ros import discovery

PATIENCE = 60.0  # [s]; only a failing test waits so long


def test_a_free_environment_is_led_to_the_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "profile_variable", lambda: "FASTDDS_DEFAULT_PROFILES_FILE")
    environment: dict[str, str] = {}
    assert discovery.use_profile(environment, tmp_path)
    assert set(environment) == {"FASTDDS_DEFAULT_PROFILES_FILE"}
    assert all(Path(path).is_file() for path in environment.values())
    assert discovery.use_profile(environment, tmp_path)  # a child of a process that was led there


def test_another_middleware_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "profile_variable", lambda: None)
    environment: dict[str, str] = {}
    assert not discovery.use_profile(environment, tmp_path)
    assert environment == {}


@pytest.mark.parametrize("variable", discovery.USER_VARIABLES)
def test_the_users_variables_stand(variable: str, tmp_path: Path) -> None:
    environment = {variable: "the user's"}
    assert not discovery.use_profile(environment, tmp_path)
    assert environment == {variable: "the user's"}


@pytest.mark.parametrize("name", discovery.USER_FILES)
def test_the_users_files_stand(name: str, tmp_path: Path) -> None:
    (tmp_path / name).touch()
    environment: dict[str, str] = {}
    assert not discovery.use_profile(environment, tmp_path)
    assert environment == {}


@pytest.mark.ros
def test_the_middleware_accepts_the_profile(ros_domain: int, tmp_path: Path) -> None:
    pytest.importorskip("rclpy", reason="needs ROS 2: install pe-ros[ros]")
    script = """
import rclpy
from pe_ros.discovery import use_profile
assert use_profile()
rclpy.init()
rclpy.create_node("node")
"""
    environment = {name: value for name, value in os.environ.items() if name not in discovery.USER_VARIABLES}
    command = [sys.executable, "-c", script]
    process = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert process.returncode == 0, process.stderr
    assert process.stderr == ""  # Fast DDS names what it does not understand, and carries on
