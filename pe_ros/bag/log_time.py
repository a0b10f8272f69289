"""Gives received messages their log time: the system time of their arrival, or the simulated time at that instant."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from pe_ros.bag.record_queue import MAX_MESSAGES, ReceivedMessage
from pe_ros.bag.taps import TakenMessage
from pe_sim.timing import NANOSECONDS

CLOCK_TOPIC = "/clock"
_TIME = {1: struct.Struct("<iI"), 0: struct.Struct(">iI")}
_CDR_HEADER = 4


class LogTimes(Protocol):
    """Stamps what was taken in rounds over all topics."""

    @property
    def has_time(self) -> bool:
        """Whether the clock has a time yet."""

    def stamp(self, messages: Iterable[TakenMessage], began: int | None) -> Iterator[ReceivedMessage]:
        """Yield the messages that can be stamped, in order of arrival.

        Args:
            messages: taken in one round.
            began: system time at which the round began [ns]; None in the last round, after which nothing is kept.
        """


class SystemLogTimes:
    """Log time = system time at which the middleware received the message."""

    has_time = True

    def stamp(self, messages: Iterable[TakenMessage], began: int | None) -> Iterator[ReceivedMessage]:
        """Yield the messages with their log times; see ``LogTimes``."""
        for message in sorted(messages, key=_received):
            yield _logged(message, message.received)


class SimulatedLogTimes:
    """Log time = simulated time at the instant the middleware received the message.

    The clock's own messages are among those taken, and each bears the system time of its arrival. Merged by arrival,
    every message gets the last simulated time that arrived before it, however late it is taken. Messages that came
    before the first tick of the clock wait for it.
    """

    def __init__(self, node_time: Callable[[], int], max_waiting: int = MAX_MESSAGES) -> None:
        """Start without a time.

        Args:
            node_time: simulated time known to the node [ns], 0 while it knows none: counts where the clock is set
                within the process instead of published.
            max_waiting: messages that may wait for the clock; beyond it they get time 0.
        """
        self._node_time = node_time
        self._max_waiting = max_waiting
        self._now: int | None = None
        self._kept: list[TakenMessage] = []
        self._waiting: list[TakenMessage] = []

    @property
    def has_time(self) -> bool:
        """Whether the clock has ticked."""
        return self._now is not None or self._node_time() > 0

    def stamp(self, messages: Iterable[TakenMessage], began: int | None) -> Iterator[ReceivedMessage]:
        """Yield the messages with their log times; see ``LogTimes``.

        Topics are taken one after the other: what arrived after the round began may be preceded by something that
        a topic taken earlier in the round will only show in the next one. Such messages are kept for one round.
        """
        ready, self._kept = self._kept, []
        for message in messages:
            (ready if began is None or message.received <= began else self._kept).append(message)
        for message in sorted(ready, key=_received):
            yield from self._tick(message) if message.topic == CLOCK_TOPIC else self._stamp(message)
        if began is None or len(self._waiting) > self._max_waiting:
            yield from self._release(self._now or 0)

    def _tick(self, message: TakenMessage) -> Iterator[ReceivedMessage]:
        self._now = clock_time(message.data)
        yield from self._release(self._now)
        yield _logged(message, self._now)

    def _stamp(self, message: TakenMessage) -> Iterator[ReceivedMessage]:
        now = self._now if self._now is not None else self._node_time()
        if self._now is None and now <= 0:
            self._waiting.append(message)
        else:
            yield from self._release(now)
            yield _logged(message, now)

    def _release(self, now: int) -> Iterator[ReceivedMessage]:
        waiting, self._waiting = self._waiting, []
        for message in waiting:
            yield _logged(message, now)


def clock_time(data: bytes) -> int:
    """Return the time in a serialized ``rosgraph_msgs/msg/Clock`` [ns]."""
    seconds, nanoseconds = _TIME[data[1] & 1].unpack_from(data, _CDR_HEADER)
    return int(seconds) * NANOSECONDS + int(nanoseconds)


def _received(message: TakenMessage) -> int:
    return message.received


def _logged(message: TakenMessage, log_time: int) -> ReceivedMessage:
    return ReceivedMessage(message.topic, log_time, message.published, message.data, message.sequence)
