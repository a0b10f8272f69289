"""Alarms: callbacks at given instants of ROS time, on the system clock or on simulated time.

Timers of an executor wait behind its callbacks; an alarm does not. A policy's decision and a sensor's delayed reading
happen when they are due, even while the executor is busy.
"""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeAlias

Callback: TypeAlias = Callable[[], None]


class Alarms(ABC):
    """Callbacks at instants of ROS time [ns]. Thread-safe."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Callback]] = []
        self._order = itertools.count()
        self._lock = threading.Lock()

    def at(self, instant: int, callback: Callback) -> int:
        """Call back at an instant [ns]; in the past means at once. Return a number that cancels it."""
        with self._lock:
            number = next(self._order)
            heapq.heappush(self._heap, (instant, number, callback))
        self._changed()
        return number

    def clear(self) -> None:
        """Forget all alarms."""
        with self._lock:
            self._heap.clear()

    def _pop(self, now: int) -> Callback | None:
        if not self._heap:  # what another thread adds meanwhile, it tells by itself
            return None
        with self._lock:
            if self._heap and self._heap[0][0] <= now:
                return heapq.heappop(self._heap)[2]
        return None

    def _next(self) -> int | None:
        with self._lock:
            return self._heap[0][0] if self._heap else None

    @abstractmethod
    def now(self) -> int:
        """Return the present ROS time [ns]."""

    @abstractmethod
    def _changed(self) -> None:
        """Notice that the earliest alarm may have changed."""

    def close(self) -> None:
        """End; no callback runs after this returns, unless it is the caller."""
        self.clear()


class SystemAlarms(Alarms):
    """Alarms on the system clock, run by a thread of their own.

    Args:
        on_fault: receives an exception that a callback raises.
    """

    def __init__(self, on_fault: Callable[[BaseException], None] | None = None) -> None:
        super().__init__()
        self._on_fault = on_fault
        self._wake = threading.Condition()
        self._open = True
        self._thread = threading.Thread(target=self._run, name="alarms", daemon=True)
        self._thread.start()

    def now(self) -> int:
        """Return the system time [ns]."""
        return time.time_ns()

    def _changed(self) -> None:
        with self._wake:
            self._wake.notify()

    def _run(self) -> None:
        while self._open:
            callback = self._pop(self.now())
            if callback is not None:
                self._call(callback)
                continue
            with self._wake:
                due = self._next()
                wait = None if due is None else (due - self.now()) / 1e9
                if wait is None or wait > 0:
                    self._wake.wait(wait)

    def _call(self, callback: Callback) -> None:
        try:
            callback()
        except Exception as fault:
            if self._on_fault is None:
                raise
            self._on_fault(fault)

    def close(self) -> None:
        """End the thread."""
        self._open = False
        super().close()
        self._changed()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=2.0)


class SimulatedAlarms(Alarms):
    """Alarms on simulated time: run by whoever hears the clock, in the thread that calls :meth:`set`."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0
        self._listeners: list[Callback] = []

    def listen(self, callback: Callback) -> None:
        """Call back at every time that is heard, after what is due by then; until :meth:`unlisten`."""
        self._listeners.append(callback)

    def unlisten(self, callback: Callback) -> None:
        """Undo :meth:`listen`."""
        if callback in self._listeners:
            self._listeners.remove(callback)

    def now(self) -> int:
        """Return the newest time heard [ns], 0 before the first."""
        return self._now

    def set(self, now: int) -> None:
        """Hear the clock: run everything due by now. Time that goes back (a new run) is taken as it is."""
        self._now = now
        while (callback := self._pop(now)) is not None:
            callback()
        for listener in tuple(self._listeners):
            listener()

    def _changed(self) -> None:
        """Nothing waits: alarms run when the clock is heard."""
