"""What all tests share: patience, and a ROS domain of its own for every test that asks for one."""

from __future__ import annotations

import itertools
import os
import signal

import pytest
from hypothesis import settings

# A machine shared with other work is slow at times: how long an example takes says nothing about the code.
settings.register_profile("default", deadline=None)
settings.load_profile("default")

# A shell starts what it runs in the background with interrupts ignored, and children inherit that; tests of how
# programs end by an interrupt need it as a person at a terminal has it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_numbers = itertools.count()


@pytest.fixture
def ros_domain(monkeypatch: pytest.MonkeyPatch) -> int:
    """A domain on this machine that no other test uses, for this process and those it starts."""
    domain = 1 + (os.getpid() * 7 + next(_numbers)) % 100
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))
    return domain
