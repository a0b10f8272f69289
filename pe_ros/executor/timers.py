"""When the timers of an executor are due."""

from __future__ import annotations

import time
from collections.abc import Callable

from pe_ros.executor.sources import TimerSource


class TimerSchedule:
    """Keeps the earliest due time, so that a loop without due timers costs one comparison.

    Attributes:
        next_due: when the next timer is due [ns, time.monotonic_ns]; None where none is.

    Args:
        timers: the timers, kept up to date by their owner.
    """

    def __init__(self, timers: list[TimerSource]) -> None:
        self._timers = timers
        self._stale = True
        self._ros_time_moved = False
        self.next_due: int | None = None

    def changed(self) -> None:
        """Note that timers were added, removed or rearmed."""
        self._stale = True

    def ros_time_moved(self) -> None:
        """Note that a clock jumped; from any thread."""
        self._ros_time_moved = True

    def queue_due(self, queue: Callable[[TimerSource], None]) -> None:
        """Hand the timers that are due to `queue`; each is due again only when it has been served."""
        if self._ros_time_moved:
            self._rearm_on_ros_time()
        if self._stale:
            self._stale = False
            self.next_due = min((timer.due for timer in self._timers if timer.due is not None), default=None)
        if self.next_due is None:
            return
        now = time.monotonic_ns()
        if self.next_due > now:
            return
        for timer in self._timers:
            if timer.due is not None and timer.due <= now:
                timer.due = None
                queue(timer)
        self.next_due = min((timer.due for timer in self._timers if timer.due is not None), default=None)

    def _rearm_on_ros_time(self) -> None:
        """Work out anew when the timers on ROS time are due."""
        self._ros_time_moved = False
        for timer in self._timers:
            if timer.on_ros_time and not timer.queued:
                timer.rearm()
        self._stale = True
