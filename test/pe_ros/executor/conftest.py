"""What the tests of the executor share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: install pe-ros[ros]")

from .graph import Graph


@pytest.fixture
def graph(ros_domain: int) -> Iterator[Graph]:
    made = Graph(ros_domain)
    yield made
    made.close()
