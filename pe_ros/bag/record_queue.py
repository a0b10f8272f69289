"""Hands received messages to a bag writer in a thread of its own, so that no disk ever holds up a node."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple

from pe_ros.bag.definitions import find_definition
from pe_ros.bag.offered_qos import OfferedQos
from pe_ros.bag.provenance import Provenance
from pe_ros.bag.writer import BagWriter
from pe_sim.errors import BagError

MAX_MESSAGES = 100_000
MAX_BYTES = 256 << 20
WAKE_PERIOD = 0.05
"""Time between two visits of the writing thread [s]: it works in batches, so that it seldom takes the interpreter."""
SLICE = 32
"""Messages written in a row, 0.2 ms, before other threads of the process may have the interpreter."""
PAUSE = 50e-6
"""Time for which they may have it at least [s]; it bounds the writing to about 100 000 messages a second."""


class Announcement(NamedTuple):
    """A topic, before its first message."""

    topic: str
    type_name: str
    offered_qos: tuple[OfferedQos, ...]


class ReceivedMessage(NamedTuple):
    """A message on its way into the bag; the fields of ``BagWriter.write``."""

    topic: str
    log_time: int
    publish_time: int
    data: bytes
    sequence: int


class RecordQueue:
    """A bounded queue in front of a bag writer.

    What does not fit is dropped and counted, never waited for. When the disk fails, the fault is reported once and
    all that follows is counted as dropped: whoever puts messages in never sees an error.
    """

    def __init__(
        self,
        writer: BagWriter,
        *,
        max_messages: int = MAX_MESSAGES,
        max_bytes: int = MAX_BYTES,
        on_failure: Callable[[BagError], None],
    ) -> None:
        """Start the writing thread.

        Args:
            writer: belongs to the queue from now on.
            max_messages: messages that may wait; as many may be in the writer's hands.
            max_bytes: bytes that may wait, likewise.
            on_failure: called once, in the writing thread, when the recording ends early.
        """
        self._writer = writer
        self._max_messages = max_messages
        self._max_bytes = max_bytes
        self._on_failure = on_failure
        self._waiting: deque[Announcement | ReceivedMessage] = deque()
        self._waiting_bytes = 0
        self._batch: deque[Announcement | ReceivedMessage] = deque()
        self._types: dict[str, str] = {}
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._closing = False
        self._provenance = writer.provenance
        self._overflowed = 0
        self._refused = 0
        self._failure: BagError | None = None
        self._thread = threading.Thread(target=self._run, name="bag writer", daemon=True)
        self._thread.start()

    @property
    def failure(self) -> BagError | None:
        """The fault that ended the recording early, or None."""
        return self._failure

    @property
    def dropped(self) -> int:
        """Messages put in but not written: the queue was full, or the recording had ended early."""
        return self._overflowed + self._refused

    @property
    def written(self) -> int:
        """Messages written so far."""
        return self._writer.message_count

    @property
    def provenance(self) -> Provenance:
        """What the bag will say of its engagement."""
        return self._provenance

    def announce(self, topic: str, type_name: str, offered_qos: Iterable[OfferedQos] = ()) -> None:
        """Announce a topic; announcing it again changes nothing.

        Raises:
            BagError: the type's definition is not installed, or the topic has another type in this bag.
        """
        known = self._types.setdefault(topic, type_name)
        if known != type_name:
            raise BagError(topic, f"is recorded with type {known}; a topic has one type", type_name)
        find_definition(type_name)
        with self._lock:
            self._waiting.append(Announcement(topic, type_name, tuple(offered_qos)))

    def put(self, messages: Iterable[ReceivedMessage]) -> int:
        """Put messages in, in order; return how many of them were dropped because the queue was full."""
        dropped = 0
        with self._lock:
            for message in messages:
                size = len(message.data)
                if len(self._waiting) >= self._max_messages or self._waiting_bytes + size > self._max_bytes:
                    dropped += 1
                    continue
                self._waiting.append(message)
                self._waiting_bytes += size
            self._overflowed += dropped
            crowded = 2 * len(self._waiting) > self._max_messages or 2 * self._waiting_bytes > self._max_bytes
        if crowded:
            self._wake.set()
        return dropped

    def set_provenance(self, provenance: Provenance) -> None:
        """Replace what the bag says of its engagement; written at the next flush."""
        self._provenance = provenance

    def close(self, timeout: float = 4.0) -> bool:
        """Write what waits and close the bag.

        Args:
            timeout: longest time to wait for the disk [s].

        Returns:
            True when the bag is closed; False when the disk did not answer in time.
        """
        self._closing = True
        self._wake.set()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            while not self._closing:
                self._wake.wait(WAKE_PERIOD)
                self._wake.clear()
                self._write_waiting()
                self._writer.flush_if_due()
            self._write_waiting()
            self._writer.close()
        except BagError as error:
            self._end_early(error)
        except Exception as error:  # noqa: BLE001  whatever it is, the recording must not end in silence
            self._end_early(BagError("recording", f"stopped by an internal fault: {error!r}"))

    def _write_waiting(self) -> None:
        self._take_batch()
        while self._batch:
            if len(self._batch) % SLICE == 0:
                time.sleep(PAUSE)
            entry = self._batch.popleft()
            if isinstance(entry, Announcement):
                self._writer.add_topic(entry.topic, entry.type_name, entry.offered_qos)
            else:
                self._writer.write(*entry)
        self._writer.set_provenance(replace(self._provenance, dropped=self.dropped))

    def _take_batch(self) -> None:
        with self._lock:
            self._batch, self._waiting = self._waiting, deque()
            self._waiting_bytes = 0

    def _refuse_batch(self) -> None:
        self._refused += sum(isinstance(entry, ReceivedMessage) for entry in self._batch)
        self._batch.clear()

    def _end_early(self, error: BagError) -> None:
        """Report the fault, then count what still comes until the queue is closed."""
        self._failure = error
        self._refuse_batch()
        self._writer.close()
        self._on_failure(error)
        while not self._closing:
            self._wake.wait(WAKE_PERIOD)
            self._wake.clear()
            self._take_batch()
            self._refuse_batch()
        self._take_batch()
        self._refuse_batch()
