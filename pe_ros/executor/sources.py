"""What an executor serves: one source per ROS entity, each of which takes what is new and runs its callback."""

from __future__ import annotations

import contextlib
import inspect
import os
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from rclpy.clock_type import ClockType
from rclpy.exceptions import InvalidHandle
from rclpy.executors import await_or_execute
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription

from pe_ros.executor.announcements import Announcements, Hook, announces_each

if TYPE_CHECKING:
    from pe_ros.executor.event_executor import EventExecutor

Work = Callable[[], "Coroutine[Any, Any, None]"]


class Source:
    """One entity of a node, as the executor sees it.

    Attributes:
        node: the node it belongs to.
        entity: the rclpy subscription, timer, service, client, guard condition or waitable.
        queued: it waits in the executor's queue of ready sources.
        pending: something was reported of it.
        removed: it is no longer served.
        drains: after one item there may be another without a further announcement.
        fd: eventfd on which the middleware announces news, or -1.
    """

    hook: Hook | None = None
    drains = True

    def __init__(self, executor: EventExecutor, node: Any, entity: Any) -> None:
        self.executor = executor
        self.node = node
        self.entity = entity
        self.queued = False
        self.pending = False
        self.removed = False
        self.fd = -1

    @property
    def handle(self) -> Any:
        """The rclpy handle whose announcements are installed."""
        return self.entity.handle

    def open(self, announcements: Announcements) -> None:
        """Have the middleware announce news of this entity on `fd`.

        Raises:
            InvalidHandle: the entity is already destroyed.
            RosError: the middleware refused, or too many files are open.
        """
        if self.hook is not None:
            self.fd = announcements.install(self.hook, self.handle)

    def close(self, announcements: Announcements) -> None:
        """Serve this entity no more."""
        self.removed = True
        if self.hook is not None:
            announcements.remove(self.hook, self.handle, self.fd)

    def report(self) -> None:
        """Note that something was announced."""
        self.pending = True

    def may_run(self) -> bool:
        """Whether the callback group lets this entity run now: a suspended coroutine may hold the group."""
        group = self.entity.callback_group
        return group is None or bool(group.can_execute(self.entity))

    def serve_one(self) -> bool:
        """Take one item and run its callback; False when there was none."""
        work = self.take()
        if work is None:
            return False
        self.executor.run_coroutine(self, work())
        return True

    def take(self) -> Work | None:
        """Take one item, giving the coroutine function that runs its callback, or None where there is none."""
        raise NotImplementedError


class SubscriptionSource(Source):
    """A subscription: the hot path, so plain callbacks are called without a coroutine around them."""

    hook = Hook.SUBSCRIPTION

    def __init__(self, executor: EventExecutor, node: Any, entity: Any) -> None:
        super().__init__(executor, node, entity)
        self._handle = entity.handle
        self._seen: Any = None
        self._is_coroutine = False
        self._with_info = False
        self._counted = announces_each()
        self._left = 0

    def report(self) -> None:
        """Note that messages were announced, and where each is, how many."""
        self.pending = True
        if self._counted:
            with contextlib.suppress(BlockingIOError):
                self._left += os.eventfd_read(self.fd)

    def serve_one(self) -> bool:
        """Take one message and run the callback on it."""
        subscription = self.entity
        handle = self._handle
        # rclpy builds the message object before it knows whether there is a message, which costs more than the taking.
        # So only what was announced is taken as an object; whether more has come meanwhile is asked in bytes.
        raw = subscription.raw or not (self.pending or self._left)
        self.pending = False
        counted = self._left > 0
        try:
            with handle:
                taken = handle.take_message(subscription.msg_type, raw)
        except InvalidHandle:
            return False
        if taken is None:
            self._left = 0  # the rest was pushed out of a short history by what was newer
            return False
        # To look and find nothing costs as much as a message: where they are counted, none is looked for in vain.
        self._left = max(0, self._left - 1)
        self.drains = self._left > 0 or not counted
        if raw and not subscription.raw:
            taken = (deserialize_message(taken[0], subscription.msg_type), *taken[1:])
        callback = subscription.callback
        if callback is not self._seen:
            self._inspect(callback)
        arguments = taken if self._with_info else taken[:1]
        if self._is_coroutine:
            self.executor.run_coroutine(self, callback(*arguments))
        else:
            callback(*arguments)
        return True

    def _inspect(self, callback: Any) -> None:
        """Note how to call this callback; users may replace it at any time."""
        self._seen = callback
        self._is_coroutine = inspect.iscoroutinefunction(callback)
        self._with_info = self.entity._callback_type is Subscription.CallbackType.WithMessageInfo  # noqa: SLF001


class ServiceSource(Source):
    """A service: requests are answered one after another."""

    hook = Hook.SERVICE

    def take(self) -> Work | None:
        """Take one request."""
        service = self.entity
        try:
            with service.handle:
                request, header = service.handle.service_take_request(service.srv_type.Request)
        except InvalidHandle:
            return None
        if header is None:
            return None

        async def answer() -> None:
            response = await await_or_execute(service.callback, request, service.srv_type.Response())
            service.send_response(response, header)

        return answer


class ClientSource(Source):
    """A service client: responses complete the futures of their requests."""

    hook = Hook.CLIENT

    def take(self) -> Work | None:
        """Take one response."""
        client = self.entity
        try:
            with client.handle:
                header, response = client.handle.take_response(client.srv_type.Response)
        except InvalidHandle:
            return None
        if header is None:
            return None

        async def complete() -> None:
            try:
                future = client.get_pending_request(header.request_id.sequence_number)
            except KeyError:
                return  # the request was given up
            self.executor.complete(future, response)

        return complete


class TimerSource(Source):
    """A timer, on wall, system or ROS time.

    Attributes:
        due: when to look at it next [ns, time.monotonic_ns]; None while it is cancelled or waits for ROS time to move.
    """

    hook = Hook.TIMER_RESET
    drains = False

    def __init__(self, executor: EventExecutor, node: Any, entity: Any) -> None:
        super().__init__(executor, node, entity)
        self.due: int | None = None

    @property
    def on_ros_time(self) -> bool:
        """Whether the timer's clock can follow /clock."""
        return bool(self.entity.clock.clock_type == ClockType.ROS_TIME)

    def rearm(self) -> None:
        """Work out `due` anew."""
        self.due = None
        try:
            with self.handle:
                left = self.handle.time_until_next_call()
        except InvalidHandle:
            return
        if left is None:
            return
        if left <= 0:
            self.due = 0
        elif not (self.on_ros_time and self.entity.clock.ros_time_is_active):
            self.due = time.monotonic_ns() + int(left)

    def take(self) -> Work | None:
        """Call the timer if it is due."""
        self.due = 0  # looked at again after the callback
        try:
            with self.handle:
                ready = self.handle.is_timer_ready()
        except InvalidHandle:
            return None
        return self.executor.take_timer(self.entity) if ready else None

    def serve_one(self) -> bool:
        """Run the callback once if the timer is due."""
        try:
            return super().serve_one()
        finally:
            self.rearm()
            self.executor.timers_changed()


class ReportedSource(Source):
    """Something that must be taken once for each report that it is ready, and not otherwise."""

    drains = False

    def serve_one(self) -> bool:
        """Run the callback if the entity was reported since the last time."""
        if not self.pending:
            return False
        self.pending = False
        return super().serve_one()


class EventSource(ReportedSource):
    """A QoS event of a publisher or subscription: deadline missed, incompatible peer, matched."""

    hook = Hook.EVENT

    @property
    def handle(self) -> Any:
        """The event's handle, which rclpy keeps to itself."""
        return self.entity._EventHandler__event  # noqa: SLF001

    def take(self) -> Work | None:
        """Take the event; that it is there is known from the announcement, which a wait set no longer reports."""
        self.entity._ready_to_take_data = True  # noqa: SLF001
        try:
            return self.executor.take_waitable(self.entity)
        except InvalidHandle:
            return None


class WaitableSource(ReportedSource):
    """A waitable that is not a QoS event, such as an action server or client; the watcher reports it."""

    def take(self) -> Work | None:
        """Take the data, and have the waitable watched again."""
        try:
            work = self.executor.take_waitable(self.entity)
        except InvalidHandle:
            return None
        self.executor.watch_again(self.entity)
        return work


class GuardSource(ReportedSource):
    """A guard condition, reported by the watcher: its callback runs once, however often it was triggered meanwhile."""

    def take(self) -> Work | None:
        """Reset it."""
        return self.executor.take_guard_condition(self.entity)
