"""An executor that is told what is ready instead of asking every entity at every wait.

rclpy's SingleThreadedExecutor builds a wait set of every entity of every node for every wait; with fifteen nodes, each of which has
seven services for its parameters, that costs far more than the messages. Here the middleware writes to one eventfd per entity, an
epoll collects those, and a wait costs the same however many entities there are.
"""

from __future__ import annotations

import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor, TimeoutObject
from rclpy.logging import get_logger
from rclpy.signals import SignalHandlerOptions, get_current_signal_handlers_options
from rclpy.task import Future, Task

from pe_ros.executor.announcements import Alarm, unsupported_reason
from pe_ros.executor.sources import GuardSource, Source, TimerSource, WaitableSource, WatchedSource
from pe_ros.executor.table import SourceTable
from pe_ros.executor.watcher import WaitSetWatcher

# Items taken from one source before the others have their turn.
_BATCH = 32
_EVENTS_PER_POLL = 64
# A suspended coroutine may wait for a future that another thread completes; rclpy's futures tell nobody.
_SUSPENDED_POLL_NS = 10_000_000


def make_executor(context: Any = None) -> Executor:
    """Give the event-driven executor, or rclpy's SingleThreadedExecutor, saying so in the log, where the platform lacks what it needs."""
    reason = unsupported_reason()
    if not reason:
        return EventExecutor(context=context)
    get_logger("pe_ros.executor").warning(f"using rclpy's SingleThreadedExecutor, which is slower: {reason}")
    return SingleThreadedExecutor(context=context)


class EventExecutor(Executor):
    """Runs the callbacks of any number of nodes in the thread that spins, driven by announcements of the middleware.

    Order within a topic is kept, order between topics is not promised. Mutually exclusive and reentrant callback groups hold: while a
    coroutine callback of a mutually exclusive group is suspended, nothing else of the group runs. An exception in a callback leaves
    `spin`; what was ready then is served by the next spin. A callback must not spin the executor that runs it.

    Args:
        context: the rclpy context; the default one where None.

    Raises:
        RosError: the platform does not support it; `make_executor` falls back.
    """

    def __init__(self, *, context: Any = None) -> None:
        self._wake_lock = threading.RLock()  # a signal handler may interrupt its holder
        self._wake_fd = -1
        self._entities_changed = True
        self._spinner = 0  # identifier of the thread that spins
        self._spinner_lock = threading.Lock()
        self._watcher: WaitSetWatcher | None = None
        super().__init__(context=context)
        self._table = SourceTable(self, self._on_jump)
        self._alarm = Alarm()
        self._next_timer: int | None = None
        self._timers_stale = True
        self._ros_time_moved = False
        self._ready: deque[Source] = deque()
        self._blocked: list[Source] = []  # ready, but a suspended coroutine holds their callback group
        self._suspended: list[tuple[Coroutine[Any, Any, None], Source]] = []
        self._new_tasks: deque[Task[Any]] = deque()
        self._waiting_tasks: list[Task[Any]] = []
        self._watched: deque[Any] = deque()  # found ready by the watcher
        self._wake_fd = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        for fd in (self._wake_fd, self._alarm.fd):
            self._table.epoll.register(fd, select.EPOLLIN | select.EPOLLET)

    def __del__(self) -> None:
        try:
            self.shutdown(timeout_sec=0)
        except Exception:  # noqa: BLE001, S110 - half built, or rclpy is already gone: nothing is left to close
            pass

    # ---- called by nodes, futures and users, from any thread

    def wake(self) -> None:
        """Look at the nodes' entities again."""
        self._entities_changed = True
        if self._watcher is not None:
            self._watcher.interrupt()
        self._notify()

    def create_task(self, callback: Callable[..., Any], *args: Any, **kwargs: Any) -> Task[Any]:
        """Run a function or coroutine function while spinning; the task is a future of its result."""
        task: Task[Any] = Task(callback, args, kwargs, executor=self)
        self._new_tasks.append(task)
        self._notify()
        return task

    def add_node(self, node: Any) -> bool:
        """Serve this node from now on; False if it is served already."""
        added = bool(super().add_node(node))
        self.wake()
        return added

    def remove_node(self, node: Any) -> None:
        """Serve this node no more."""
        super().remove_node(node)
        if self._wake_fd >= 0:
            self._table.drop_node(node)
        self.wake()

    def shutdown(self, timeout_sec: float | None = None) -> bool:
        """Stop spinning and let go of all nodes.

        Returns:
            Whether the callback in progress, if another thread spins, ended within `timeout_sec` [s]; None or negative waits for ever.
        """
        self._is_shutdown = True
        self._notify()
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
        with self._wake_lock:
            fd, self._wake_fd = self._wake_fd, -1
        if fd < 0:
            return
        if self._watcher is not None:
            self._watcher.stop()
            self._watcher = None
        for coroutine, _ in self._suspended:
            coroutine.close()
        self._table.close()
        self._alarm.close()
        os.close(fd)
        super().shutdown()

    def _notify(self) -> None:
        """End the wait in progress, or keep the next one from starting."""
        with self._wake_lock:
            if self._wake_fd >= 0:
                os.eventfd_write(self._wake_fd, 1)

    # ---- spinning

    def spin(self) -> None:
        """Run callbacks until `shutdown`.

        Raises:
            ExternalShutdownException: the context was shut down while waiting.
        """
        with self._as_spinner():
            if not self._context.ok():
                return
            while not self._is_shutdown:
                self._collect(None, lambda: False)
                self._run_tasks(len(self._new_tasks))
                for _ in range(len(self._ready)):
                    self._serve(self._ready.popleft(), _BATCH)

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Run one callback, waiting for it for `timeout_sec` [s]: for ever where None or negative."""
        self._spin_one(timeout_sec, lambda: False)

    def spin_once_until_future_complete(self, future: Future[Any], timeout_sec: float | TimeoutObject | None = None) -> None:
        """Run one callback as `spin_once` does, waiting no longer than until the future is done."""
        future.add_done_callback(lambda _: self._notify())
        self._spin_one(timeout_sec.timeout if isinstance(timeout_sec, TimeoutObject) else timeout_sec, future.done)

    def spin_until_future_complete(self, future: Future[Any], timeout_sec: float | None = None) -> None:
        """Run callbacks until the future is done or cancelled, for at most `timeout_sec` [s]."""
        future.add_done_callback(lambda _: self._notify())
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
                if self._run_one() or (deadline is not None and time.monotonic_ns() >= deadline):
                    return

    def _run_one(self) -> bool:
        """Run one callback that is ready, if any."""
        if self._run_tasks(1):
            return True
        while self._ready:
            if self._serve(self._ready.popleft(), 1):
                return True
        return False

    @contextmanager
    def _as_spinner(self) -> Iterator[None]:
        """Make the calling thread the one that spins."""
        if not self._spinner_lock.acquire(blocking=False):
            own = self._spinner == threading.get_ident()
            raise RuntimeError("a callback must not spin its own executor" if own else "another thread spins this executor")
        self._spinner = threading.get_ident()
        try:
            yield
        finally:
            self._spinner = 0
            if self._is_shutdown:
                self._close()
            self._spinner_lock.release()

    # ---- waiting

    def _collect(self, deadline: int | None, finished: Callable[[], bool]) -> None:
        """Queue what is ready; where nothing is, wait for it until `deadline` [ns, monotonic], for ever where None."""
        if self._entities_changed:
            self._sync()
        if self._suspended or self._waiting_tasks:
            self._resume()
        self._queue_due_timers()
        idle = not (self._ready or self._new_tasks or self._is_shutdown or finished())
        timeout = self._time_to_wait(deadline) if idle else 0.0
        by_fd = self._table.by_fd
        for fd, _ in self._table.epoll.poll(timeout, _EVENTS_PER_POLL):
            source = by_fd.get(fd)
            if isinstance(source, TimerSource):
                source.rearm()
                self._timers_stale = True
            elif source is not None:
                self._queue(source)
            elif fd == self._wake_fd:
                self._queue_watched()
                if not self._context.ok():
                    raise ExternalShutdownException

    def _time_to_wait(self, deadline: int | None) -> float:
        """Set the alarm for the next timer, giving the epoll timeout [s] for the deadline: -1 for none."""
        alarm = self._next_timer
        if self._suspended or self._waiting_tasks:
            poll = time.monotonic_ns() + _SUSPENDED_POLL_NS
            alarm = poll if alarm is None else min(alarm, poll)
        self._alarm.set(alarm)
        return -1.0 if deadline is None else max(deadline - time.monotonic_ns(), 0) / 1e9

    def _queue_due_timers(self) -> None:
        """Queue the timers that are due."""
        timers = self._table.timers
        if self._ros_time_moved:
            self._ros_time_moved = False
            for timer in timers:
                if timer.on_ros_time and not timer.queued:
                    timer.rearm()
            self._timers_stale = True
        if self._timers_stale:
            self._timers_stale = False
            self._next_timer = min((timer.due for timer in timers if timer.due is not None), default=None)
        if self._next_timer is None:
            return
        now = time.monotonic_ns()
        if self._next_timer > now:
            return
        for timer in timers:
            if timer.due is not None and timer.due <= now:
                timer.due = None  # set anew when it has been served
                self._queue(timer)
        self._timers_stale = True

    def _queue_watched(self) -> None:
        """Queue what the watcher found ready."""
        while self._watched:
            source = self._table.find(self._watched.popleft())
            if isinstance(source, WatchedSource):
                source.pending = True
                self._queue(source)

    def _queue(self, source: Source) -> None:
        if not source.queued:
            source.queued = True
            self._ready.append(source)

    # ---- serving

    def _serve(self, source: Source, limit: int) -> int:
        """Run up to `limit` callbacks of one source, giving how many ran; what is left stays queued, also after an exception."""
        source.queued = False
        served = 0
        more = True
        try:
            while more and served < limit and not (self._is_shutdown or source.removed):
                if self._suspended and not source.may_run():
                    source.queued = True
                    self._blocked.append(source)
                    break
                more = source.serve_one()
                served += more
        finally:
            if more and not source.removed:
                self._queue(source)
        return served

    def run_coroutine(self, source: Source, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine callback to its first suspension; if it suspends, its callback group is held until it ends."""
        try:
            coroutine.send(None)
        except StopIteration:
            return
        group = source.entity.callback_group
        if group is not None:
            group.beginning_execution(source.entity)
        self._suspended.append((coroutine, source))

    def _resume(self) -> None:
        """Run suspended tasks and coroutines on; each looks for itself whether what it awaits is there."""
        tasks, self._waiting_tasks = self._waiting_tasks, []
        while tasks:
            try:
                self._run_task(tasks.pop(0))
            except BaseException:
                self._waiting_tasks.extend(tasks)
                raise
        for suspended in list(self._suspended):
            try:
                suspended[0].send(None)
            except StopIteration:
                self._finish(suspended)
            except BaseException:
                self._finish(suspended)
                raise

    def _finish(self, suspended: tuple[Coroutine[Any, Any, None], Source]) -> None:
        """Release the callback group of a coroutine that ended, and what waited for the group."""
        self._suspended.remove(suspended)
        entity = suspended[1].entity
        if entity.callback_group is not None:
            entity.callback_group.ending_execution(entity)
        self._ready.extend(self._blocked)
        self._blocked.clear()

    def _run_tasks(self, limit: int) -> int:
        """Run up to `limit` new tasks, giving how many ran."""
        ran = 0
        while self._new_tasks and ran < limit:
            ran += 1
            self._run_task(self._new_tasks.popleft())
        return ran

    def _run_task(self, task: Task[Any]) -> None:
        """Run a task to its end or next suspension; its exception leaves spin, as with rclpy's executors."""
        task()
        if task.done():
            error = task.exception()
            if error is not None:
                raise error
        elif not task.cancelled():
            self._waiting_tasks.append(task)

    # ---- what the sources need

    def take_timer(self, timer: Any) -> Any:
        """Call a timer, giving the coroutine function that runs its callback, or None."""
        return self._take_timer(timer)

    def take_waitable(self, waitable: Any) -> Any:
        """Take a waitable's data, giving the coroutine function that works on them."""
        return self._take_waitable(waitable)

    def take_guard_condition(self, guard: Any) -> Any:
        """Reset a guard condition, giving the coroutine function that runs its callback."""
        return self._take_guard_condition(guard)

    def watch_again(self, waitable: Any) -> None:
        """Have a waitable watched whose data have been taken."""
        if self._watcher is not None:
            self._watcher.watch_again(waitable)

    def timers_changed(self) -> None:
        """Note that a timer's next due time changed."""
        self._timers_stale = True

    # ---- entities

    def _sync(self) -> None:
        """Take up new entities and let go of those that are gone."""
        self._entities_changed = False
        for source in self._table.sync(self.get_nodes()):
            if isinstance(source, TimerSource):
                source.rearm()
            else:
                self._queue(source)  # for what arrived before
        self._timers_stale = True
        guards = self._table.of_kind(GuardSource)
        waitables = self._table.of_kind(WaitableSource)
        if self._sigint_gc is not None and get_current_signal_handlers_options() != SignalHandlerOptions.NO:
            guards.append(self._sigint_gc)  # rclpy's own signal handlers wake through it
        if self._watcher is None and (guards or waitables):
            self._watcher = WaitSetWatcher(self._context, self._on_watched)
        if self._watcher is not None:
            self._watcher.watch(guards, waitables)

    def _on_jump(self, _: Any) -> None:
        """ROS time moved; called in the thread that set it."""
        self._ros_time_moved = True
        self._notify()

    def _on_watched(self, ready: list[Any]) -> None:
        """The watcher found something ready; called in its thread."""
        self._watched.extend(ready)
        self._notify()


def _deadline(timeout_sec: float | None) -> int | None:
    """When a time-out [s] from now ends [ns, time.monotonic_ns]; None for never."""
    return None if timeout_sec is None or timeout_sec < 0 else time.monotonic_ns() + int(timeout_sec * 1e9)
