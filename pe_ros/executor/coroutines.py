"""Callbacks and tasks that are suspended: coroutines that await a future."""

from __future__ import annotations

from collections import deque
from collections.abc import Coroutine
from typing import Any

from rclpy.task import Task

from pe_ros.executor.sources import Source


class Coroutines:
    """Runs coroutine callbacks and tasks on until they end. An exception of theirs leaves the method that ran them.

    rclpy's futures do not tell an executor that they are done, so each coroutine is resumed to look for itself.

    A mutually exclusive callback group is held while a coroutine callback of it is suspended; a source that must wait
    for that is parked here until a group is released.

    Args:
        ready: queue that takes back the sources that were parked.
    """

    def __init__(self, ready: deque[Source]) -> None:
        self._ready = ready
        self._suspended: list[tuple[Coroutine[Any, Any, None], Source]] = []
        self._parked: list[Source] = []
        self._new_tasks: deque[Task] = deque()  # appended to by any thread
        self._waiting_tasks: list[Task] = []

    @property
    def holding(self) -> bool:
        """Whether a callback is suspended, so that groups may be held."""
        return bool(self._suspended)

    @property
    def waiting(self) -> bool:
        """Whether anything is suspended."""
        return bool(self._suspended or self._waiting_tasks)

    @property
    def new_tasks(self) -> int:
        """Number of tasks that have not started."""
        return len(self._new_tasks)

    def add_task(self, task: Task) -> None:
        """Have a task run; from any thread."""
        self._new_tasks.append(task)

    def park(self, source: Source) -> None:
        """Keep a ready source until a callback group is released."""
        source.queued = True  # so that news of it does not queue it meanwhile
        self._parked.append(source)

    def start(self, source: Source, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine callback to its first suspension."""
        try:
            coroutine.send(None)
        except StopIteration:
            return
        group = source.entity.callback_group
        if group is not None:
            group.beginning_execution(source.entity)
        self._suspended.append((coroutine, source))

    def run_tasks(self, limit: int) -> int:
        """Start up to `limit` new tasks, giving how many."""
        ran = 0
        while self._new_tasks and ran < limit:
            ran += 1
            self._run(self._new_tasks.popleft())
        return ran

    def resume(self) -> None:
        """Run everything suspended on."""
        for task in list(self._waiting_tasks):
            self._waiting_tasks.remove(task)
            self._run(task)
        for suspended in list(self._suspended):
            self._resume_callback(suspended)

    def close(self) -> None:
        """Give up everything suspended."""
        for coroutine, _ in self._suspended:
            coroutine.close()
        self._suspended.clear()

    def _run(self, task: Task) -> None:
        """Run a task to its end or next suspension."""
        task()
        if task.done():
            error = task.exception()
            if error is not None:
                raise error
        elif not task.cancelled():
            self._waiting_tasks.append(task)

    def _resume_callback(self, suspended: tuple[Coroutine[Any, Any, None], Source]) -> None:
        """Run a callback on, and release its group if it ends."""
        ended = True
        try:
            suspended[0].send(None)
            ended = False
        except StopIteration:
            pass
        finally:
            if ended:
                self._release(suspended)

    def _release(self, suspended: tuple[Coroutine[Any, Any, None], Source]) -> None:
        """Let others of the callback group run."""
        self._suspended.remove(suspended)
        entity = suspended[1].entity
        if entity.callback_group is not None:
            entity.callback_group.ending_execution(entity)
        parked, self._parked = self._parked, []
        self._ready.extend(parked)
