"""An executor that is told what is ready instead of asking every entity at every wait.

rclpy's SingleThreadedExecutor builds a wait set of every entity of every node for every wait; with fifteen nodes, each
of which has seven services for its parameters, that costs far more than the messages. Here the middleware writes to one
eventfd per entity, an epoll collects those, and a wait costs the same however many entities there are.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor, TimeoutObject
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.logging import get_logger
from rclpy.signals import SignalHandlerOptions, get_current_signal_handlers_options
from rclpy.task import Future, Task

from pe_ros.executor.announcements import unsupported_reason
from pe_ros.executor.coroutines import Coroutines
from pe_ros.executor.poller import Poller
from pe_ros.executor.ready import ReadyQueue
from pe_ros.executor.sources import GuardSource, Source, TimerSource, WaitableSource, Work
from pe_ros.executor.table import SourceTable
from pe_ros.executor.timers import TimerSchedule
from pe_ros.executor.watcher import WaitSetWatcher

# A suspended coroutine may wait for a future that another thread completes; rclpy's futures tell nobody.
_SUSPENDED_POLL_NS = 10_000_000


def make_executor(context: Any = None) -> Executor:
    """Give the event-driven executor, or rclpy's SingleThreadedExecutor, saying so in the log, where it cannot work."""
    reason = unsupported_reason()
    if not reason:
        return EventExecutor(context=context)
    get_logger("pe_ros.executor").warning(f"using rclpy's SingleThreadedExecutor, which is slower: {reason}")
    return SingleThreadedExecutor(context=context)


class EventExecutor(Executor):
    """Runs the callbacks of any number of nodes in the thread that spins, as the middleware announces work for them.

    Order within a topic is kept, order between topics is not promised. Mutually exclusive and reentrant callback groups
    hold: while a coroutine callback of a mutually exclusive group is suspended, nothing else of the group runs. An
    exception in a callback leaves `spin`; what was ready then is served by the next spin. A callback must not spin the
    executor that runs it.

    Args:
        context: the rclpy context; the default one where None.

    Raises:
        RosError: the platform does not support it; `make_executor` falls back.
    """

    def __init__(self, *, context: Any = None) -> None:
        self._entities_changed = True
        self._spinner = 0  # identifier of the thread that spins
        self._spinner_lock = threading.Lock()
        self._poller = Poller()
        self._table = SourceTable(self, self._poller, self._on_jump)
        self._timers = TimerSchedule(self._table.timers)
        ready: deque[Source] = deque()
        self._coroutines = Coroutines(ready)
        self._ready = ReadyQueue(ready, self._coroutines)
        self._watcher: WaitSetWatcher | None = None
        self._watched: deque[Any] = deque()  # what the watcher found ready
        super().__init__(context=context)

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # half built, or rclpy is already gone: nothing is left to close
            self.shutdown(timeout_sec=0)

    # ---- called by nodes, futures and users, from any thread

    def wake(self) -> None:
        """Look at the nodes' entities again."""
        self._entities_changed = True
        if self._watcher is not None:
            self._watcher.interrupt()
        self._poller.wake()

    def create_task(self, callback: Any, *args: Any, **kwargs: Any) -> Task:
        """Run a function or coroutine function while spinning; the task is a future of its result."""
        task = Task(callback, args, kwargs, executor=self)
        self._coroutines.add_task(task)
        self._poller.wake()
        return task

    def add_node(self, node: Any) -> bool:
        """Serve this node from now on; False if it is served already."""
        added = bool(super().add_node(node))
        self.wake()
        return added

    def remove_node(self, node: Any) -> None:
        """Serve this node no more."""
        super().remove_node(node)
        self._table.drop_node(node)
        self.wake()

    def shutdown(self, timeout_sec: float | None = None) -> bool:
        """Stop spinning and let go of all nodes.

        Args:
            timeout_sec: how long to wait for the callback in progress if another thread spins [s]; None or negative
                waits for ever.

        Returns:
            Whether that callback has ended.
        """
        self._is_shutdown = self._ready.stopped = True
        self._poller.wake()
        if self._spinner == threading.get_ident():
            return True  # called by a callback or a signal handler: closed when spin ends
        if not self._spinner_lock.acquire(timeout=-1 if timeout_sec is None or timeout_sec < 0 else timeout_sec):
            return False
        try:
            self._close()
        finally:
            self._spinner_lock.release()
        return True

    def _close(self) -> None:
        """Give back threads and file descriptors."""
        self._table.close()
        if not self._poller.close():
            return
        if self._watcher is not None:
            self._watcher.stop()
            self._watcher = None
        self._coroutines.close()
        super().shutdown()

    # ---- spinning

    def spin(self) -> None:
        """Run callbacks until `shutdown`.

        Raises:
            ExternalShutdownException: the context was shut down while waiting.
        """
        self.spin_while(_always)

    def spin_while(self, condition: Callable[[], bool]) -> None:
        """Run callbacks until `shutdown`, or until `condition` no longer holds; `wake` has it looked at.

        Raises:
            ExternalShutdownException: the context was shut down while waiting.
        """
        with self._as_spinner():
            if not self._context.ok():
                return
            while condition() and not self._is_shutdown:
                self._collect(None, _never)
                self._coroutines.run_tasks(self._coroutines.new_tasks)
                self._ready.serve_all()

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Run one callback, waiting for it for `timeout_sec` [s]: for ever where None or negative."""
        self._spin_one(timeout_sec, _never)

    def spin_once_until_future_complete(self, future: Future, timeout_sec: float | TimeoutObject | None = None) -> None:
        """Run one callback as `spin_once` does, waiting no longer than until the future is done."""
        future.add_done_callback(lambda _: self._poller.wake())
        self._spin_one(timeout_sec.timeout if isinstance(timeout_sec, TimeoutObject) else timeout_sec, future.done)

    def spin_until_future_complete(self, future: Future, timeout_sec: float | None = None) -> None:
        """Run callbacks until the future is done or cancelled, for at most `timeout_sec` [s]."""
        future.add_done_callback(lambda _: self._poller.wake())
        deadline = _deadline(timeout_sec)

        def finished() -> bool:
            return bool(future.done() or future.cancelled())

        while self._context.ok() and not (self._is_shutdown or finished()):
            left = None if deadline is None else (deadline - time.monotonic_ns()) / 1e9
            if left is not None and left <= 0:
                return
            self._spin_one(left, finished)

    def _spin_one(self, timeout_sec: float | None, finished: Callable[[], bool]) -> None:
        """Run one callback, or return when the time is up, `finished` holds or the executor is shut down."""
        deadline = _deadline(timeout_sec)
        with self._as_spinner():
            while not (self._is_shutdown or finished()):
                self._collect(deadline, finished)
                if (
                    self._coroutines.run_tasks(1)
                    or self._ready.serve_one()
                    or (deadline is not None and time.monotonic_ns() >= deadline)
                ):
                    return

    @contextlib.contextmanager
    def _as_spinner(self) -> Iterator[None]:
        """Make the calling thread the one that spins."""
        if not self._spinner_lock.acquire(blocking=False):
            own = self._spinner == threading.get_ident()
            raise RuntimeError("a callback must not spin its own executor" if own else "another thread spins already")
        self._spinner = threading.get_ident()
        try:
            yield
        except _rclpy.RCLError as error:
            if not self._context.ok():  # shut down while a callback was on its way
                raise ExternalShutdownException from error
            raise
        finally:
            self._spinner = 0
            if self._is_shutdown:
                self._close()
            self._spinner_lock.release()

    # ---- waiting

    def _collect(self, deadline: int | None, finished: Callable[[], bool]) -> None:
        """Queue what is ready; if nothing is, wait until `deadline` [ns, monotonic], for ever where it is None."""
        if self._entities_changed:
            self._sync()
        if self._coroutines.waiting:
            self._coroutines.resume()
        self._timers.queue_due(self._ready.queue)
        busy = self._ready or self._coroutines.new_tasks or self._is_shutdown or finished()
        by_fd = self._table.by_fd
        for fd, _ in self._poller.look() if busy else self._poller.wait(self._alarm(), deadline):
            source = by_fd.get(fd)
            if isinstance(source, TimerSource):
                source.rearm()
                self._timers.changed()
            elif source is not None:
                self._ready.report(source)
            elif self._poller.is_wake(fd):
                self._queue_watched()
                if not self._context.ok():
                    raise ExternalShutdownException

    def _alarm(self) -> int | None:
        """When to look again although nothing is announced [ns, monotonic]; None for never."""
        due = self._timers.next_due
        if not self._coroutines.waiting:
            return due
        poll = time.monotonic_ns() + _SUSPENDED_POLL_NS
        return poll if due is None else min(due, poll)

    def _queue_watched(self) -> None:
        """Queue what the watcher found ready."""
        while self._watched:
            source = self._table.find(self._watched.popleft())
            if source is not None:
                self._ready.report(source)

    # ---- what the sources need

    def run_coroutine(self, source: Source, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine callback to its end or first suspension."""
        self._coroutines.start(source, coroutine)

    def take_timer(self, timer: Any) -> Work | None:
        """Call a timer, giving the coroutine function that runs its callback, or None."""
        work: Work | None = self._take_timer(timer)  # type: ignore[no-untyped-call]
        return work

    def take_waitable(self, waitable: Any) -> Work:
        """Take a waitable's data, giving the coroutine function that works on them."""
        work: Work = self._take_waitable(waitable)  # type: ignore[no-untyped-call]
        return work

    def take_guard_condition(self, guard: Any) -> Work:
        """Reset a guard condition, giving the coroutine function that runs its callback."""
        work: Work = self._take_guard_condition(guard)  # type: ignore[no-untyped-call]
        return work

    def complete(self, future: Future, result: Any) -> None:
        """Give a future its result; what waits for it runs here."""
        future._set_executor(self)  # noqa: SLF001
        future.set_result(result)

    def watch_again(self, waitable: Any) -> None:
        """Have a waitable watched whose data have been taken."""
        if self._watcher is not None:
            self._watcher.watch_again(waitable)

    def timers_changed(self) -> None:
        """Note that a timer's next due time changed."""
        self._timers.changed()

    # ---- entities

    def _sync(self) -> None:
        """Take up new entities and let go of those that are gone."""
        self._entities_changed = False
        for source in self._table.sync(self.get_nodes()):
            if isinstance(source, TimerSource):
                source.rearm()
            else:
                self._ready.queue(source)  # for what arrived before
        self._timers.changed()
        guards = self._table.of_kind(GuardSource)
        waitables = self._table.of_kind(WaitableSource)
        if get_current_signal_handlers_options() != SignalHandlerOptions.NO:
            guards.append(self._sigint_gc)  # rclpy's own signal handlers wake through it
        if self._watcher is None and (guards or waitables):
            self._watcher = WaitSetWatcher(self._context, self._on_watched)
        if self._watcher is not None:
            self._watcher.watch(guards, waitables)

    def _on_jump(self, _: Any) -> None:
        """ROS time moved; called in the thread that set it."""
        self._timers.ros_time_moved()
        self._poller.wake()

    def _on_watched(self, ready: list[Any]) -> None:
        """The watcher found something ready; called in its thread."""
        self._watched.extend(ready)
        self._poller.wake()


def _always() -> bool:
    return True


def _never() -> bool:
    return False


def _deadline(timeout_sec: float | None) -> int | None:
    """When a time-out [s] from now ends [ns, time.monotonic_ns]; None for never."""
    return None if timeout_sec is None or timeout_sec < 0 else time.monotonic_ns() + int(timeout_sec * 1e9)
