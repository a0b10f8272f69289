"""Waits, in a thread of its own, for the few things that cannot announce themselves on a file descriptor."""

from __future__ import annotations

import atexit
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import Any

from rclpy.exceptions import InvalidHandle
from rclpy.guard_condition import GuardCondition
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.signals import SignalHandlerGuardCondition
from rclpy.waitable import NumberOfEntities

_SHUTDOWN_TIME = 0.5  # [s]


class WaitSetWatcher:
    """A thread blocked in a wait set that holds guard conditions and waitables (action servers and clients).

    It runs no callback: it hands what is ready to `notify`, from its own thread. A waitable is then left out of the
    wait set until `watch_again`: it stays ready until its data are taken. A guard condition is reset by the wait.

    Args:
        context: the rclpy context of the executor.
        notify: a bound method, called with what is ready for as long as its object lives.
    """

    def __init__(self, context: Any, notify: Callable[[list[Any]], None]) -> None:
        self._context = context
        self._notify = weakref.WeakMethod(notify)
        self._lock = threading.Lock()
        self._guards: list[Any] = []
        self._waitables: list[Any] = []
        self._handed_over: set[int] = set()
        self._stopped = False
        self._interrupt = GuardCondition(callback=None, callback_group=None, context=context)
        self._thread = threading.Thread(target=self._run, name="executor-watcher", daemon=True)
        self._thread.start()
        atexit.register(self.stop)  # a thread that wakes up in a C++ call after Python's end would abort the process

    def watch(self, guards: Iterable[Any], waitables: Iterable[Any]) -> None:
        """Watch exactly these from now on."""
        with self._lock:
            self._guards, self._waitables = list(guards), list(waitables)
            self._handed_over &= {id(waitable) for waitable in self._waitables}
        self._interrupt.trigger()

    def watch_again(self, waitable: Any) -> None:
        """Watch a waitable that was handed over, its data having been taken."""
        with self._lock:
            self._handed_over.discard(id(waitable))
        self._interrupt.trigger()

    def interrupt(self) -> None:
        """End the wait in progress, to look at everything again."""
        self._interrupt.trigger()

    def stop(self) -> None:
        """End the thread; stopping again does nothing."""
        if self._stopped:
            return
        self._stopped = True
        atexit.unregister(self.stop)
        self._interrupt.trigger()
        if self._thread is not threading.current_thread():
            self._thread.join()
        self._interrupt.destroy()

    def _run(self) -> None:
        try:
            while not self._stopped and self._context.ok():
                self._watch_once()
        except _rclpy.RCLError:
            if self._context.ok():
                raise  # else it was shut down on the way into the wait
        finally:
            self._hand_over([])

    def _watch_once(self) -> None:
        """Wait, and hand over what is ready."""
        with self._lock:
            guards = list(self._guards)
            waitables = [waitable for waitable in self._waitables if id(waitable) not in self._handed_over]
        ready = self._wait(guards, waitables)
        if ready is None:
            return
        with self._lock:
            self._handed_over.update(id(entity) for entity in ready if entity not in guards)
        if any(isinstance(entity, SignalHandlerGuardCondition) for entity in ready):
            self._await_shutdown()
        self._hand_over(ready)

    def _await_shutdown(self) -> None:
        """Rclpy's signal handlers wake the waiting first and shut the context down next."""
        enough = time.monotonic() + _SHUTDOWN_TIME
        while self._context.ok() and time.monotonic() < enough:
            time.sleep(0.001)

    def _hand_over(self, ready: list[Any]) -> None:
        notify = self._notify()
        if notify is not None:
            notify(ready)

    def _wait(self, guards: list[Any], waitables: list[Any]) -> list[Any] | None:
        """Block until something is ready; None where it was only an interruption."""
        with ExitStack() as in_use:
            guards = [guard for guard in guards if _enter(in_use, guard.handle)]
            waitables = [waitable for waitable in waitables if _enter(in_use, waitable)]
            in_use.enter_context(self._interrupt.handle)
            in_use.enter_context(self._context.handle)
            count = NumberOfEntities(num_gcs=len(guards) + 1)
            for waitable in waitables:
                count += waitable.get_num_entities()
            wait_set = _rclpy.WaitSet(
                count.num_subscriptions,
                count.num_guard_conditions,
                count.num_timers,
                count.num_clients,
                count.num_services,
                count.num_events,
                self._context.handle,
            )
            wait_set.clear_entities()
            wait_set.add_guard_condition(self._interrupt.handle)
            for guard in guards:
                wait_set.add_guard_condition(guard.handle)
            for waitable in waitables:
                waitable.add_to_wait_set(wait_set)
            wait_set.wait(-1)
            triggered = wait_set.get_ready_entities("guard_condition")
            ready = [guard for guard in guards if guard.handle.pointer in triggered]
            ready += [waitable for waitable in waitables if waitable.is_ready(wait_set)]
            return ready or None


def _enter(in_use: ExitStack, entity: Any) -> bool:
    """Mark an entity as in use until the stack unwinds; False if it is already destroyed."""
    try:
        in_use.enter_context(entity)
    except InvalidHandle:
        return False
    return True
