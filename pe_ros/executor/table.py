"""The sources of an executor, kept in step with the entities of its nodes."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from rclpy.clock import JumpThreshold
from rclpy.duration import Duration
from rclpy.event_handler import EventHandler
from rclpy.exceptions import InvalidHandle

from pe_ros.executor.announcements import Announcements
from pe_ros.executor.poller import Poller
from pe_ros.executor.sources import (
    ClientSource,
    EventSource,
    GuardSource,
    ServiceSource,
    Source,
    SubscriptionSource,
    TimerSource,
    WaitableSource,
)

if TYPE_CHECKING:
    from pe_ros.executor.event_executor import EventExecutor


class SourceTable:
    """Opens a source for every entity, closes those of entities that are gone. Safe to call from any thread.

    Attributes:
        by_fd: source of each file descriptor.
        timers: the timers among the sources.

    Args:
        executor: whose table it is.
        poller: reports the file descriptors of sources with news.
        on_jump: called when the ROS time of a timer moves, in the thread that sets it.

    Raises:
        RosError: the platform does not support announcements.
    """

    def __init__(self, executor: EventExecutor, poller: Poller, on_jump: Callable[[Any], None]) -> None:
        self._executor = weakref.proxy(executor)  # no cycle: an executor that is forgotten goes at once
        self._poller = poller
        self._on_jump = weakref.WeakMethod(on_jump)  # clocks may outlive the executor
        self._announcements = Announcements()
        self._lock = threading.RLock()
        self._by_entity: dict[int, Source] = {}
        self._jump_handles: dict[int, Any] = {}  # by id of the clock
        self.by_fd: dict[int, Source] = {}
        self.timers: list[TimerSource] = []

    def find(self, entity: Any) -> Source | None:
        """The source of an entity."""
        return self._by_entity.get(id(entity))

    def of_kind(self, kind: type[Source]) -> list[Any]:
        """The entities served by sources of one kind."""
        with self._lock:
            return [source.entity for source in self._by_entity.values() if isinstance(source, kind)]

    def sync(self, nodes: Iterable[Any]) -> list[Source]:
        """Serve the entities these nodes have now, giving the sources that are new."""
        with self._lock:
            wanted = {id(entity): (node, kind, entity) for node in nodes for kind, entity in _entities(node)}
            for key in [key for key in self._by_entity if key not in wanted]:
                self._drop(key)
            new = [
                source
                for key, (node, kind, entity) in wanted.items()
                if key not in self._by_entity and self._adopt(key, source := kind(self._executor, node, entity))
            ]
            self._follow_clocks()
        return new

    def drop_node(self, node: Any) -> None:
        """Let go of a node's entities at once: another executor may want them."""
        with self._lock:
            for key in [key for key, source in self._by_entity.items() if source.node is node]:
                self._drop(key)
            self._follow_clocks()

    def close(self) -> None:
        """Let go of everything."""
        with self._lock:
            for key in list(self._by_entity):
                self._drop(key)
            self._follow_clocks()

    def _adopt(self, key: int, source: Source) -> bool:
        """Open a source; False if its entity was destroyed meanwhile."""
        try:
            source.open(self._announcements)
        except InvalidHandle:
            return False
        self._by_entity[key] = source
        if source.fd >= 0:
            self.by_fd[source.fd] = source
            self._poller.add(source.fd)
        if isinstance(source, TimerSource):
            self.timers.append(source)
        return True

    def _drop(self, key: int) -> None:
        """Close a source."""
        source = self._by_entity.pop(key)
        if source.fd >= 0:
            self._poller.remove(source.fd)
            del self.by_fd[source.fd]
        if isinstance(source, TimerSource):
            self.timers.remove(source)
        source.close(self._announcements)

    def _follow_clocks(self) -> None:
        """Hear of every jump of the ROS clocks that timers use, and of no others."""
        clocks = {id(timer.entity.clock): timer.entity.clock for timer in self.timers if timer.on_ros_time}
        for key in [key for key in self._jump_handles if key not in clocks]:
            self._jump_handles.pop(key).unregister()
        tick = Duration(nanoseconds=1)
        threshold = JumpThreshold(min_forward=tick, min_backward=Duration(nanoseconds=-1), on_clock_change=True)
        for key, clock in clocks.items():
            if key not in self._jump_handles:
                self._jump_handles[key] = clock.create_jump_callback(
                    threshold, post_callback=partial(_call_if_alive, self._on_jump)
                )


def _call_if_alive(method: weakref.WeakMethod[Callable[[Any], None]], argument: Any) -> None:
    alive = method()
    if alive is not None:
        alive(argument)


def _entities(node: Any) -> Iterator[tuple[type[Source], Any]]:
    """Every entity of a node, with the kind of source that serves it."""
    for kind, entities in (
        (SubscriptionSource, node.subscriptions),
        (TimerSource, node.timers),
        (ServiceSource, node.services),
        (ClientSource, node.clients),
        (GuardSource, node.guards),
    ):
        for entity in entities:
            yield kind, entity
    for waitable in node.waitables:
        yield (EventSource if isinstance(waitable, EventHandler) else WaitableSource), waitable
