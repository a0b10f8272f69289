"""What the tests of the ROS room share: a ROS domain of its own for every test."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest

CONFIG = Path(__file__).resolve().parents[2] / "config" / "engagements"
"""The shipped engagement files."""

_numbers = itertools.count()


@pytest.fixture
def ros_domain(monkeypatch: pytest.MonkeyPatch) -> int:
    """A domain on this machine that no other test uses, for this process and those it starts."""
    domain = 1 + (os.getpid() * 7 + next(_numbers)) % 100
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))
    return domain
