"""Shared memory of the dead is removed, that of the living is not."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pe_ros import shared_memory

OLD = 100_000_000.0  # [s] since 1970


def segment(directory: Path, name: str, modified: float = OLD) -> Path:
    for path in (directory / name, directory / f"{name}_el"):
        path.touch()
        os.utime(path, (modified, modified))
    return directory / f"{name}_el"


def test_only_what_nobody_holds_is_removed(tmp_path: Path) -> None:
    segment(tmp_path, "fastrtps_0123456789abcdef")
    segment(tmp_path, "fastdds_0123456789abcdef")
    held = segment(tmp_path, "fastrtps_aaaaaaaaaaaaaaaa")
    starting = segment(tmp_path, "fastrtps_bbbbbbbbbbbbbbbb")
    os.utime(starting)
    (tmp_path / "fastrtps_port7400_el").touch()
    (tmp_path / "somebody's_el").touch()
    with held.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        removed = shared_memory.remove_leftovers(tmp_path)
    assert sorted(removed) == ["fastdds_0123456789abcdef", "fastrtps_0123456789abcdef"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "fastrtps_aaaaaaaaaaaaaaaa",
        "fastrtps_aaaaaaaaaaaaaaaa_el",
        "fastrtps_bbbbbbbbbbbbbbbb",
        "fastrtps_bbbbbbbbbbbbbbbb_el",
        "fastrtps_port7400_el",
        "somebody's_el",
    ]


def test_without_shared_memory_there_is_nothing_to_do(tmp_path: Path) -> None:
    assert shared_memory.remove_leftovers(tmp_path / "missing") == []


@pytest.mark.ros
def test_a_killed_process_is_cleaned_up_after_and_a_living_one_is_left_alone(ros_domain: int) -> None:
    pytest.importorskip("rclpy", reason="needs ROS 2: install pe-ros[ros]")
    script = """
import rclpy, sys
rclpy.init()
node = rclpy.create_node("owner")
print(*{line.split()[-1] for line in open("/proc/self/maps") if "/dev/shm/fast" in line}, flush=True)
sys.stdin.read()
"""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script],
            env={**os.environ, "ROS_DOMAIN_ID": str(ros_domain + offset)},  # in one domain they would share segments
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for offset in range(2)
    ]
    try:
        locks = []
        for process in processes:
            assert process.stdout is not None
            mapped = [Path(path) for path in process.stdout.readline().split()]
            segments = [path for path in mapped if re.fullmatch(r"fast(rtps|dds)_[0-9a-f]{16}", path.name)]
            if not segments:
                pytest.skip("this middleware uses no shared memory")
            locks.append(segments[0].with_name(f"{segments[0].name}_el"))
            os.utime(locks[-1], (OLD, OLD))
        killed, living = locks
        processes[0].kill()
        processes[0].wait()
        shared_memory.remove_leftovers()
        assert not killed.exists()
        assert living.exists()
    finally:
        for process in processes:
            process.kill()
            process.wait()
