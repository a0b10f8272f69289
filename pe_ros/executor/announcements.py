"""Make the middleware announce news on file descriptors: its own threads write, the executor's epoll reads.

rcl can call a C function `void (*)(const void *user_data, size_t count)` whenever an entity has something new. rclpy
binds these hooks only inside its C++ events executor, so they are reached through ctypes. The function installed is
libc's `eventfd_write(int fd, uint64_t value)`: the calling conventions of x86-64 and AArch64 pass it exactly those two
arguments, so a middleware thread signals without ever touching the Python interpreter or its lock.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import select
import sys
from enum import Enum
from functools import cache
from typing import Any

from rclpy.exceptions import InvalidHandle

from pe_sim.errors import RosError

# Middlewares that call the hooks; rmw_connextdds answers "unsupported".
_MIDDLEWARES = ("rmw_fastrtps_cpp", "rmw_fastrtps_dynamic_cpp", "rmw_cyclonedds_cpp", "rmw_zenoh_cpp")
_OPEN_FILES = 16384
_MACHINES = ("x86_64", "AMD64", "aarch64", "arm64")


class Hook(Enum):
    """What an entity can announce: the name of the rcl function that installs the announcement."""

    SUBSCRIPTION = "rcl_subscription_set_on_new_message_callback"
    SERVICE = "rcl_service_set_on_new_request_callback"
    CLIENT = "rcl_client_set_on_new_response_callback"
    EVENT = "rcl_event_set_callback"
    TIMER_RESET = "rcl_timer_set_on_reset_callback"


class Announcements:
    """Installs and removes announcements, each on an eventfd of its own.

    Raises:
        RosError: this platform, rcl or middleware cannot announce on file descriptors.
    """

    def __init__(self) -> None:
        reason = unsupported_reason()
        if reason:
            raise RosError("executor", reason, None, "use rclpy's SingleThreadedExecutor")
        rcl = ctypes.CDLL("librcl.so")
        self._write = ctypes.cast(ctypes.CDLL(None).eventfd_write, ctypes.c_void_p)
        self._functions = {hook: _declared(getattr(rcl, hook.value)) for hook in Hook}
        _allow_open_files()

    def install(self, hook: Hook, handle: Any) -> int:
        """Announce from now on; what is already waiting is announced at once.

        Args:
            hook: what to announce.
            handle: rclpy handle of the entity.

        Returns:
            The file descriptor, to be given to `remove`.

        Raises:
            InvalidHandle: the entity is already destroyed.
            RosError: rcl refused, or too many files are open.
        """
        with handle:
            try:
                fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
            except OSError as error:
                limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
                raise RosError("executor", f"cannot open a file per entity: {error}", limit, "see ulimit -n") from error
            status = self._functions[hook](handle.pointer, self._write, fd)
        if status != 0:
            os.close(fd)
            raise RosError("executor", f"{hook.value} failed", status)
        return fd

    def remove(self, hook: Hook, handle: Any, fd: int) -> None:
        """Announce no more, then close the file descriptor: in this order no thread writes to a reused one."""
        try:
            with handle:
                self._functions[hook](handle.pointer, None, None)
        except InvalidHandle:
            pass  # destroyed, and its announcements with it
        os.close(fd)


@cache
def announces_each() -> bool:
    """Whether this middleware announces every message once, so that announcements tell how many there are.

    rmw_fastrtps hands over its reader's count of samples not yet counted; others may announce several at once.
    """
    from rclpy.utilities import get_rmw_implementation_identifier

    return bool(get_rmw_implementation_identifier() == "rmw_fastrtps_cpp")


def unsupported_reason() -> str:
    """Why announcements on file descriptors do not work here, or '' where they do."""
    if sys.platform != "linux" or platform.machine() not in _MACHINES:
        return f"no announcements on {sys.platform} {platform.machine()}"
    if not (hasattr(os, "eventfd") and hasattr(select, "epoll")):
        return "this Python has no eventfd or epoll"
    from rclpy.utilities import get_rmw_implementation_identifier

    middleware = get_rmw_implementation_identifier()
    if middleware not in _MIDDLEWARES:
        return f"{middleware} is not known to announce new data"
    try:
        rcl = ctypes.CDLL("librcl.so")
    except OSError as error:
        return f"librcl.so cannot be opened: {error}"
    missing = [hook.value for hook in Hook if not hasattr(rcl, hook.value)]
    return f"this rcl lacks {missing[0]}" if missing else ""


def _allow_open_files() -> None:
    """Raise the soft limit of open files: each entity takes one, and many systems grant 1024 until asked for more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(_OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _declared(function: Any) -> Any:
    """The same C function with the argument types all hooks share."""
    function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    function.restype = ctypes.c_int
    return function
