"""When a process is to end: told by a signal, or orphaned by the launch that started it."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, Literal

#: Set to 1, the process ends with its parent, to 0 it does not, to another number with the process of that number;
#: unset, it ends with its parent if that is a ros2 command.
VARIABLE = "PE_ROS_END_WITH_PARENT"
SIGNALS = (signal.SIGINT, signal.SIGTERM)
_PARENT_PERIOD = 0.5  # [s]
# A terminal signals the whole process group and a launch may pass that on: so close they are one request [s].
_SAME_REQUEST = 0.5
# Ending may take this long; `ros2 launch` grows impatient after 5 s [s].
_TIME_TO_END = 4.0


class EndedWhileStarting(BaseException):
    """The process was told to end before it was ready; no Exception, so that nothing on the way handles it."""


class EndRequest:
    """Notices that the process is to end. A context manager, for the main thread; elsewhere it hears no signals.

    The first signal requests the end, and so does the death of the parent; a later signal, or an end that takes more
    than four seconds, ends the process on the spot.

    Attributes:
        requested: whether the process is to end.
        on_request: called once when it is, in the main thread. While it is None, `EndedWhileStarting` is raised.
    """

    def __init__(self) -> None:
        self.requested = False
        self.on_request: Callable[[], None] | None = None
        self._since = 0.0
        self._former: dict[int, Any] = {}
        self._done = threading.Event()

    def __enter__(self) -> EndRequest:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                self._former[number] = signal.signal(number, self._on_signal)
            process = lives_with()
            if process is not None:
                self._start(self._watch_process, process)
        return self

    def __exit__(self, *error: object) -> Literal[False]:
        self._done.set()
        for number, handler in self._former.items():
            signal.signal(number, handler)
        return False

    def request(self) -> None:
        """Request the end, as a first signal does; in the main thread."""
        if self.requested:
            return
        self.requested = True
        self._since = time.monotonic()
        self._start(self._limit_time)
        if self.on_request is None:
            raise EndedWhileStarting
        self.on_request()

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        if self.requested and time.monotonic() - self._since > _SAME_REQUEST:
            os._exit(128 + number)
        self.request()

    def _start(self, target: Callable[..., None], *arguments: Any) -> None:
        threading.Thread(target=target, args=arguments, name=target.__name__.strip("_"), daemon=True).start()

    def _watch_process(self, process: int) -> None:
        """Signal this process when the other, its parent or one before that, is gone."""
        is_parent = os.getppid() == process
        while _exists(process) and (os.getppid() == process or not is_parent):
            if self._done.wait(_PARENT_PERIOD):
                return
        os.kill(os.getpid(), signal.SIGTERM)

    def _limit_time(self) -> None:
        """End the process if it does not end by itself."""
        if not self._done.wait(_TIME_TO_END):
            print(f"did not end within {_TIME_TO_END:g} s, ended by force", file=sys.stderr, flush=True)
            os._exit(1)


def lives_with() -> int | None:
    """Return the process with whose end this one is to end: one started in a shell lives on, as with nohup."""
    choice = os.environ.get(VARIABLE, "")
    if choice.isdecimal() and int(choice) > 1:
        return int(choice)
    ends = choice == "1" if choice in ("0", "1") else _is_ros2_command(os.getppid())
    return os.getppid() if ends else None


def _exists(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is another user's
        return True
    return True


def _is_ros2_command(process: int) -> bool:
    """Whether a process is `ros2 launch`, `ros2 run` or alike."""
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return any(word.rpartition(b"/")[2] == b"ros2" for word in words[:2])
