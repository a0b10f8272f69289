"""One wait for everything: announcements of the middleware, an alarm for timers, and wake-ups from other threads."""

from __future__ import annotations

import ctypes
import os
import select
import threading
import time

_EVENTS_PER_WAIT = 64
_TFD_NONBLOCK_CLOEXEC = os.O_NONBLOCK | os.O_CLOEXEC
_TFD_TIMER_ABSTIME = 1
_NS = 1_000_000_000


class Poller:
    """An epoll over file descriptors, each reported once per news (edge-triggered), so that none needs reading."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._lock = threading.RLock()  # a signal handler may interrupt its holder
        self._alarm = _Alarm()
        self._wake_fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._closed = False
        self.add(self._alarm.fd)
        self.add(self._wake_fd)

    def add(self, fd: int) -> None:
        """Report a file descriptor when it becomes readable, and again for each later write to it."""
        self._epoll.register(fd, select.EPOLLIN | select.EPOLLET)

    def remove(self, fd: int) -> None:
        """Report a file descriptor no more."""
        self._epoll.unregister(fd)

    def wake(self) -> None:
        """End the wait in progress, or keep the next one from blocking; from any thread or signal handler."""
        with self._lock:
            if not self._closed:
                os.eventfd_write(self._wake_fd, 1)

    def look(self) -> list[tuple[int, int]]:
        """What has news now: pairs of file descriptor and event mask."""
        return self._epoll.poll(0, _EVENTS_PER_WAIT)

    def wait(self, alarm: int | None, deadline: int | None) -> list[tuple[int, int]]:
        """Wait for news.

        Args:
            alarm: end at this instant, to the microsecond [ns, time.monotonic_ns]; None for none.
            deadline: end at this instant, to the millisecond [ns, time.monotonic_ns]; None for none.

        Returns:
            Pairs of file descriptor and event mask; none at the deadline.
        """
        self._alarm.set(alarm)
        timeout = -1.0 if deadline is None else max(deadline - time.monotonic_ns(), 0) / _NS
        return self._epoll.poll(timeout, _EVENTS_PER_WAIT)

    def is_wake(self, fd: int) -> bool:
        """Whether this file descriptor reports a call of `wake`."""
        return fd == self._wake_fd

    def close(self) -> bool:
        """Close all file descriptors; False if that was done before."""
        with self._lock:
            if self._closed:
                return False
            self._closed = True
            os.close(self._wake_fd)
        self._alarm.close()
        self._epoll.close()
        return True


class _Alarm:
    """A timerfd: epoll alone waits whole milliseconds."""

    def __init__(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._settime = libc.timerfd_settime
        self._settime.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
        self._spec = (ctypes.c_int64 * 4)()  # struct itimerspec: interval s, ns; value s, ns
        self._due: int | None = None
        self.fd: int = libc.timerfd_create(time.CLOCK_MONOTONIC, _TFD_NONBLOCK_CLOEXEC)
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create failed")

    def set(self, due: int | None) -> None:
        """Ring at `due` [ns, time.monotonic_ns], at once where it has passed, or never where it is None."""
        if due == self._due:
            return
        self._due = due
        self._spec[2], self._spec[3] = (0, 0) if due is None else divmod(max(due, 1), _NS)
        self._settime(self.fd, _TFD_TIMER_ABSTIME, self._spec, None)

    def close(self) -> None:
        """Close the file descriptor."""
        os.close(self.fd)
