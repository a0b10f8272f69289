# ruff: noqa: E402  skipped before the imports that need ROS
"""The recorder as a process of its own: killed, interrupted, without room on the disk."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

rclpy = pytest.importorskip("rclpy", reason="the recorder needs ROS: install pe-ros[ros]")
pytest.importorskip("pe_ros.msg", reason="the messages are not built")

from rclpy.node import Node
from rclpy.qos import QoSProfile
from std_msgs.msg import String

from pe_ros.bag import metadata
from pe_ros.bag.reader import BagReader
from pe_ros.bag.repair import repair_bag
from pe_sim.errors import BagError

pytestmark = pytest.mark.ros


@pytest.fixture
def publisher(ros_environment):
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=int(ros_environment["ROS_DOMAIN_ID"]))
    node = Node("talker", context=context)
    yield node.create_publisher(String, "/talk", QoSProfile(depth=1000))
    node.destroy_node()
    rclpy.shutdown(context=context)


@pytest.fixture
def start(ros_environment, tmp_path):
    """Start a recorder of /talk in a process of its own; whatever happens, it is gone afterwards."""
    processes = []

    def begin(*parameters: str, before: str = "") -> subprocess.Popen[str]:
        program = f"{before}\nimport sys\nfrom pe_ros.recorder_node import main\nsys.exit(main())"
        given = [f"directory:={tmp_path / 'bag'}", "topics:=['/talk std_msgs/msg/String']", *parameters]
        arguments = ["--ros-args", *(part for parameter in given for part in ("-p", parameter))]
        process = subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            env=ros_environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        processes.append(process)
        return process

    yield begin
    for process in processes:
        process.kill()
        process.communicate()


def talk_until(publisher, process, condition, numbers, timeout=60.0):
    """Publish numbers until a condition holds; fail where it never does."""
    end = time.monotonic() + timeout
    while not condition():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < end, "waited in vain"
        for _ in range(20):
            publisher.publish(String(data=str(numbers[0])))
            numbers[0] += 1
        time.sleep(0.01)


def on_disk(bag) -> int:
    try:
        return metadata.read(bag).message_count
    except BagError:
        return 0


def check_gapless(bag) -> int:
    numbers = [int(m.message.data) for m in BagReader(bag).messages()]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    return len(numbers)


@pytest.mark.parametrize("compression", ["zstd", "none"])
def test_killed_recorder_loses_nothing_that_was_flushed(publisher, start, tmp_path, compression):
    bag = tmp_path / "bag"
    process = start(f"compression:={compression}")
    numbers = [0]
    talk_until(publisher, process, lambda: on_disk(bag) > 0, numbers)
    first = on_disk(bag)
    talk_until(publisher, process, lambda: on_disk(bag) > first, numbers)
    flushed = on_disk(bag)
    process.send_signal(signal.SIGKILL)
    process.wait(30)
    with pytest.raises(BagError, match=f"is damaged.*pe-ros bag repair {bag}"):
        BagReader(bag)
    report = repair_bag(bag)
    assert report.messages >= flushed
    assert check_gapless(bag) == report.messages
    assert repair_bag(bag).was_healthy


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_recorder_closes_its_bag(publisher, start, tmp_path, number):
    process = start()
    numbers = [0]
    talk_until(publisher, process, lambda: on_disk(tmp_path / "bag") > 0, numbers)
    process.send_signal(number)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == 0, output
    assert "Traceback" not in output
    assert f"messages on 1 topics in {tmp_path / 'bag'}, 0 dropped, 0 lost on the way" in output
    check_gapless(tmp_path / "bag")
    assert BagReader(tmp_path / "bag").provenance.recording == "complete"
    assert repair_bag(tmp_path / "bag").was_healthy


def test_full_disk_stops_the_recording_and_not_the_node(publisher, start, tmp_path):
    """A limit on the size of files stands for the full disk: it binds every user and needs no mount."""
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))"
    process = start("compression:=none", before=limit)
    numbers = [0]
    stopped = "stopped early: File too large"

    def has_stopped() -> bool:
        try:
            return metadata.read(tmp_path / "bag").custom_data["recording"] == stopped
        except BagError:
            return False

    talk_until(publisher, process, has_stopped, numbers)
    talk_until(publisher, process, lambda: numbers[0] % 200 == 0, numbers)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=30)
    assert process.returncode == 1, output
    assert "Traceback" not in output
    assert output.count("recording stopped: File too large") == 1
    assert f"pe-ros bag repair {tmp_path / 'bag'}" in output
    safe = on_disk(tmp_path / "bag")
    assert repair_bag(tmp_path / "bag").messages >= safe > 0
    check_gapless(tmp_path / "bag")


@contextmanager
def file_system(where, options):
    """A file system of its own, mounted at a new directory; skips where that is not permitted."""
    where.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", where]
    mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"mounting is not permitted here: {mounted.stderr.strip()}")
    try:
        yield where
    finally:
        subprocess.run(["umount", where], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a file system needs root")
def test_full_file_system(publisher, start, tmp_path):
    with file_system(tmp_path / "small", "size=200k") as small:
        process = start(f"directory:={small / 'bag'}", "compression:=none")
        numbers = [0]
        talk_until(publisher, process, lambda: _free(small) == 0, numbers)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=30)
        assert process.returncode == 1, output
        assert "Traceback" not in output
        assert output.count("No space left on device") == 1
        safe = on_disk(small / "bag")
        with pytest.raises(BagError, match="No space left on device; it is as it was"):
            repair_bag(small / "bag")
        subprocess.run(["mount", "-o", "remount,size=2m", small], check=True)
        assert repair_bag(small / "bag").messages >= safe > 0
        check_gapless(small / "bag")


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a file system needs root")
def test_read_only_file_system(start, tmp_path):
    with file_system(tmp_path / "fixed", "ro") as fixed:
        process = start(f"directory:={fixed / 'bag'}")
        output, _ = process.communicate(timeout=30)
        assert process.returncode == 2
        assert "cannot be created: Read-only file system" in output
        assert len(output.strip().splitlines()) == 1


def _free(path) -> int:
    return os.statvfs(path).f_bavail


@pytest.mark.parametrize("kind", ["existing", "not creatable", "below a file"])
def test_directory_that_cannot_be_used_is_one_clear_line(start, tmp_path, kind):
    if kind == "existing":
        (tmp_path / "bag").mkdir()
        process = start()
        reason = "exists already; a recording never overwrites"
    elif kind == "not creatable":
        process = start("directory:=/proc/nowhere/bag")
        reason = "/proc/nowhere/bag: cannot be created"
    else:
        (tmp_path / "bag").write_text("a file where a directory is needed")
        process = start(f"directory:={tmp_path / 'bag' / 'inside'}")
        reason = "cannot be created"
    output, _ = process.communicate(timeout=30)
    assert process.returncode == 2
    assert reason in output
    assert "Traceback" not in output
    assert len(output.strip().splitlines()) == 1


def test_unknown_type_names_its_package(start, tmp_path):
    process = start("topics:=['/a no_such_msgs/msg/Thing']")
    output, _ = process.communicate(timeout=30)
    assert process.returncode == 2
    assert "package 'no_such_msgs' is not installed" in output
    assert "Traceback" not in output
    assert not (tmp_path / "bag").exists()
