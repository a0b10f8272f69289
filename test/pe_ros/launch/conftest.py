"""What the tests of the launch files share: the upstream command, skipped where there is none."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from test.pe_ros.processes import Processes

Ros2 = Callable[..., "subprocess.CompletedProcess[str]"]


def why_not() -> str:
    """Return what is missing to launch this package, '' for nothing."""
    if find_spec("launch") is None or find_spec("launch_ros") is None:
        return "needs the packages launch and launch_ros of a ROS 2 installation"
    if shutil.which("ros2") is None:
        return "needs the command ros2 of a ROS 2 installation on the PATH"
    from ament_index_python.packages import PackageNotFoundError, get_package_share_directory

    try:
        share = Path(get_package_share_directory("pe_ros"))
    except (PackageNotFoundError, LookupError):
        return "needs pe_ros installed in an ament prefix: source the workspace it was built in"
    if not (share / "launch" / "pursuit_sim.launch.py").is_file():
        return f"needs the launch files in {share}: build and install the package again"
    return ""


@pytest.fixture
def needs_launch(ros_domain: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip without the upstream launch; keep its logs with the test's files."""
    reason = why_not()
    if reason:
        pytest.skip(reason)
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path / "log"))
    monkeypatch.delenv("PE_ROS_END_WITH_PARENT", raising=False)


@pytest.fixture
def ros2(needs_launch: None, tmp_path: Path) -> Ros2:
    """Run `ros2 ...` to its end."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["ros2", *arguments], cwd=tmp_path, env=dict(os.environ), timeout=110, check=False, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    return run


@pytest.fixture
def start(needs_launch: None, tmp_path: Path) -> Iterator[Processes]:
    """Starts commands that are signalled, and kills what is left of them."""
    started = Processes(tmp_path, Path(), {})
    yield started
    started.close()
