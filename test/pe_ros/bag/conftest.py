"""What the tests of the bag room share: messages by hand, bags with known contents, a ROS domain of their own."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("std_msgs", reason="message definitions come from ROS packages: install pe-ros[ros]")

from pe_ros.bag.writer import BagWriter, Compression

from .contents import messages


@pytest.fixture
def make_bag(tmp_path: Path) -> Callable[..., Path]:
    """Write a bag of strings on /a and /b, message i at i * 10 ms, with small chunks."""

    def make(
        count: int = 100,
        compression: Compression = Compression.NONE,
        name: str = "bag",
        chunk_bytes: int = 700,
        close: bool = True,
    ) -> Path:
        writer = BagWriter(tmp_path / name, compression=compression, chunk_bytes=chunk_bytes, flush_period=10**12)
        writer.add_topic("/a", "std_msgs/msg/String")
        writer.add_topic("/b", "std_msgs/msg/String")
        for message in messages(count):
            writer.write(*message)
        if close:
            writer.close()
        return tmp_path / name

    return make


@pytest.fixture
def ros_environment(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A ROS domain that no other test uses, for this process and those it starts."""
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    if "ROS_DOMAIN_ID" not in os.environ:
        monkeypatch.setenv("ROS_DOMAIN_ID", str(1 + os.getpid() % 100))
    return dict(os.environ)
