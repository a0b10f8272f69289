"""What the executables run: a signal that comes before a node is ready to hear it ends the process cleanly too."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run_program(module: str) -> int:
    """Import a module and run its `main`; SIGINT and SIGTERM during the import end the process with exit code 0.

    Importing takes a second or so: without this, Ctrl-C in that second would end in a traceback. Nothing moves yet, so
    there is nothing to stop. The executables are started with these signals blocked, so that none is lost before.

    Args:
        module: its name, e.g. pe_ros.sim_node.

    Returns:
        What `main` returns.
    """
    for number in SIGNALS:
        signal.signal(number, _end)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    try:
        return int(importlib.import_module(module).main() or 0)
    finally:
        for number in SIGNALS:  # the process is ending, and knows with which exit code
            signal.signal(number, signal.SIG_IGN)


def command_line() -> int:
    """Run `pe-ros`."""
    return run_program("pe_ros.cli")


def _end(_: int, __: FrameType | None) -> None:
    sys.stdout.flush()
    os._exit(0)
