"""What all tests share: patience, and a ROS domain of its own for every test that asks for one."""

from __future__ import annotations

import fcntl
import itertools
import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

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


def _free_domain() -> tuple[int, TextIO]:
    """Return a domain that no other test of this machine holds, and the file that holds it until it is closed."""
    while True:
        domain = 1 + (os.getpid() * 7 + next(_numbers)) % 100
        held = (Path(tempfile.gettempdir()) / f"ros_domain_{os.getuid()}_{domain}.lock").open("w")
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            held.close()
        else:
            return domain, held


@pytest.fixture
def ros_domain(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A domain on this machine that no other test uses, for this process and those it starts."""
    domain, held = _free_domain()
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    monkeypatch.setenv("ROS_DOMAIN_ID", str(domain))
    with held:
        yield domain
