"""Writes a rosbag2 directory in MCAP that survives the death of its writer up to the last flush."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, cast

from mcap.writer import CompressionType, IndexType, Writer

from pe_ros.bag import metadata as metadata_file
from pe_ros.bag.definitions import MessageDefinition, find_definition
from pe_ros.bag.metadata import NO_TIME, BagMetadata, TopicMetadata
from pe_ros.bag.offered_qos import OfferedQos
from pe_ros.bag.provenance import COMPLETE, STOPPED, Provenance
from pe_ros.bag.storage_file import StorageFile, synchronise_directory
from pe_sim.errors import BagError
from pe_sim.timing import NANOSECONDS

if TYPE_CHECKING:
    from typing_extensions import Self

PROVENANCE_RECORD = "pe_ros"
"""Name of the MCAP metadata records that hold the provenance; the last one counts."""
ROSBAG2_RECORD = "rosbag2"
"""Name of the MCAP metadata records in which rosbag2 keeps a copy of metadata.yaml; the last one counts."""
ENGAGEMENT_ATTACHMENT = "engagement.yaml"
"""Name of the MCAP attachment that holds the resolved engagement file."""
CHUNK_BYTES = 1 << 20
"""Size at which a chunk is closed before its time [bytes], uncompressed."""
FLUSH_PERIOD = NANOSECONDS // 2
"""Longest time that messages stay in the process [ns of wall time]."""


class Compression(str, Enum):
    """Compression of the chunks."""

    NONE = "none"
    LZ4 = "lz4"
    ZSTD = "zstd"


_COMPRESSIONS = {
    Compression.NONE: CompressionType.NONE,
    Compression.LZ4: CompressionType.LZ4,
    Compression.ZSTD: CompressionType.ZSTD,
}


class _Channel:
    """A topic in the MCAP file, and how many messages it has."""

    __slots__ = ("count", "number", "topic")

    def __init__(self, number: int, topic: TopicMetadata) -> None:
        self.number = number
        self.topic = topic
        self.count = 0


class BagWriter:
    """A bag being written: ``DIR/metadata.yaml`` and ``DIR/<name of DIR>_0.mcap``.

    Messages gather in a chunk. A flush closes the chunk, hands it to the operating system, waits for the disk
    (``synchronise``) and renews metadata.yaml, so that both files agree whenever the writer dies. ``write`` flushes
    when ``flush_period`` has passed; whoever may write nothing for a while calls ``flush_if_due`` from a timer.
    Not thread-safe: one thread at a time.
    """

    def __init__(
        self,
        directory: Path | str,
        provenance: Provenance | None = None,
        *,
        compression: Compression = Compression.ZSTD,
        chunk_bytes: int = CHUNK_BYTES,
        flush_period: int = FLUSH_PERIOD,
        synchronise: bool = True,
    ) -> None:
        """Create the bag.

        Args:
            directory: the bag; must not exist, its parent is created.
            provenance: what is known of the engagement; ``set_provenance`` amends it until the bag is closed.
            compression: of the chunks.
            chunk_bytes: size at which a chunk is closed before its time [bytes].
            flush_period: longest time that messages stay in the process [ns].
            synchronise: wait for the disk at each flush; without it a loss of power may take more than the last
                period (the death of the process alone never does).

        Raises:
            BagError: the directory exists or cannot be created or written.
        """
        self.directory = Path(directory)
        self.provenance = provenance or Provenance()
        self._flush_period = flush_period
        self._synchronise = synchronise
        self._channels: dict[str, _Channel] = {}
        self._schemas: dict[str, int] = {}
        self._attached: str | None = None
        self._recorded: Provenance | None = None
        self._failure: BagError | None = None
        self._open = True
        self._file = create_bag_file(self.directory)
        self._start_time = NO_TIME
        self._end_time = 0
        self._flushed = self._describe()
        self._writer = Writer(
            cast("IO[Any]", self._file),
            chunk_size=chunk_bytes,
            compression=_COMPRESSIONS[compression],
            index_types=IndexType.ALL,
        )
        self._next_flush = time.monotonic_ns() + flush_period
        self._guarded(self._start)

    @property
    def failure(self) -> BagError | None:
        """The fault that ended the recording early, or None."""
        return self._failure

    @property
    def message_count(self) -> int:
        """Messages written so far."""
        return sum(channel.count for channel in self._channels.values())

    def add_topic(self, topic: str, type_name: str, offered_qos: Sequence[OfferedQos] = ()) -> None:
        """Announce a topic; announcing it again changes nothing.

        Args:
            topic: resolved topic name.
            type_name: message type, ``package/msg/Name``.
            offered_qos: quality of service of each publisher, for ``ros2 bag play``.

        Raises:
            BagError: the type's definition is not installed, or the topic has another type in this bag.
        """
        if topic in self._channels:
            known = self._channels[topic].topic.type
            if known != type_name:
                rule = f"has type {known} in {self.directory}; a topic has one type"
                raise BagError(topic, rule, type_name, "record one of the two in another namespace")
            return
        definition = find_definition(type_name)
        entry = TopicMetadata(topic, definition.type, tuple(offered_qos), definition.type_hash)
        self._guarded(lambda: self._register(entry, definition))

    def write(self, topic: str, log_time: int, publish_time: int, data: bytes, sequence: int = 0) -> None:
        """Write one message.

        Args:
            topic: an announced topic.
            log_time: when it was received [ns].
            publish_time: when it was published [ns].
            data: serialized message (CDR with its header, as the middleware delivers it).
            sequence: number given by the publisher, 0 where unknown.

        Raises:
            BagError: the topic was not announced, or the disk is full or cannot be written; after the latter the
                bag takes no more messages, and what was flushed stays readable.
        """
        self._refuse_when_ended()
        try:
            channel = self._channels[topic]
        except KeyError:
            raise BagError(topic, f"not announced to {self.directory}", None, "call add_topic first") from None
        stamp = max(log_time, 0)
        try:
            self._writer.add_message(channel.number, stamp, data, max(publish_time, 0), sequence & 0xFFFFFFFF)
        except OSError as error:
            raise self._fail(error) from None
        channel.count += 1
        self._start_time = min(self._start_time, stamp)
        self._end_time = max(self._end_time, stamp)
        self.flush_if_due()

    def set_provenance(self, provenance: Provenance) -> None:
        """Replace what the bag says of its engagement; written at the next flush."""
        self.provenance = provenance

    def flush_if_due(self) -> None:
        """Flush if ``flush_period`` has passed since the last flush.

        Raises:
            BagError: the disk is full or cannot be written.
        """
        if self._open and time.monotonic_ns() >= self._next_flush:
            self.flush()

    def flush(self) -> None:
        """Put everything written so far onto the disk.

        Raises:
            BagError: the disk is full or cannot be written.
        """
        self._refuse_when_ended()
        self._guarded(self._flush)

    def close(self) -> None:
        """Write the indexes and close the bag; closing again, or after a failure, only releases the file.

        Raises:
            BagError: the disk is full or cannot be written: the bag needs ``pe-ros bag repair``.
        """
        if not self._open:
            return
        try:
            if self._failure is None:
                self.provenance = replace(self.provenance, recording=COMPLETE)
                self._guarded(self._finish)
        finally:
            self._open = False
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _start(self) -> None:
        self._writer.start(profile="ros2", library="pe_ros")
        self._write_provenance()
        self._write_rosbag2_record()
        self._renew_metadata()

    def _register(self, entry: TopicMetadata, definition: MessageDefinition) -> None:
        schema = self._schemas.get(entry.type)
        if schema is None:
            schema = self._writer.register_schema(entry.type, "ros2msg", definition.text.encode("utf-8"))
            self._schemas[entry.type] = schema
        channel_metadata = {
            "offered_qos_profiles": metadata_file.offered_qos_text(entry.offered_qos),
            "topic_type_hash": entry.type_hash,
        }
        number = self._writer.register_channel(entry.name, "cdr", schema, channel_metadata)
        self._channels[entry.name] = _Channel(number, entry)

    def _flush(self) -> None:
        self._write_provenance()
        self._writer.flush()
        if self._synchronise:
            self._file.synchronise()
        self._renew_metadata()
        self._next_flush = time.monotonic_ns() + self._flush_period

    def _finish(self) -> None:
        self._write_provenance()
        self._writer.flush()
        self._write_rosbag2_record()
        self._writer.finish()
        self._file.synchronise()
        self._renew_metadata()
        synchronise_directory(self.directory)

    def _write_provenance(self) -> None:
        if self.provenance == self._recorded:
            return
        self._writer.add_metadata(PROVENANCE_RECORD, self.provenance.to_custom_data())
        text = self.provenance.engagement_file
        if text and text != self._attached:
            now = time.time_ns()
            self._writer.add_attachment(now, now, ENGAGEMENT_ATTACHMENT, "application/yaml", text.encode("utf-8"))
            self._attached = text
        self._recorded = self.provenance

    def _write_rosbag2_record(self) -> None:
        self._writer.add_metadata(ROSBAG2_RECORD, {"serialized_metadata": metadata_file.serialized(self._describe())})

    def _renew_metadata(self) -> None:
        current = self._describe()
        metadata_file.write(self.directory, current)
        self._flushed = current

    def _describe(self) -> BagMetadata:
        return BagMetadata(
            self._file.path.name,
            {channel.topic: channel.count for channel in self._channels.values()},
            self._start_time,
            self._end_time,
            self.provenance.to_custom_data(),
            os.environ.get("ROS_DISTRO", ""),
        )

    def _guarded(self, action: Callable[[], None]) -> None:
        self._refuse_when_ended()
        try:
            action()
        except OSError as error:
            raise self._fail(error) from None

    def _fail(self, error: OSError) -> BagError:
        """Note that the recording has ended, and leave the files as the last flush left them."""
        reason = error.strerror or str(error)
        self._file.close()
        self.provenance = replace(self.provenance, recording=f"{STOPPED}: {reason}")
        self._flushed.custom_data = self.provenance.to_custom_data()
        with contextlib.suppress(OSError):  # on a full disk the metadata of the last flush stays, which is right too
            metadata_file.write(self.directory, self._flushed)
        self._failure = BagError(
            str(self.directory),
            f"recording stopped: {reason}; the first {self._flushed.message_count} messages are safe",
            None,
            f"make room, then pe-ros bag repair {self.directory}",
        )
        return self._failure

    def _refuse_when_ended(self) -> None:
        if self._failure is not None:
            raise self._failure
        if not self._open:
            raise BagError(str(self.directory), "the bag is closed", None, "record into a new one")


def create_bag_file(directory: Path) -> StorageFile:
    """Create a bag's directory and its MCAP file.

    Raises:
        BagError: the directory exists (nothing is ever overwritten) or cannot be created.
    """
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _cannot_create(directory, error) from None
    try:
        directory.mkdir()
    except FileExistsError:
        rule = "exists already; a recording never overwrites"
        raise BagError(str(directory), rule, None, "name a new directory, or remove this one") from None
    except OSError as error:
        raise _cannot_create(directory, error) from None
    try:
        return StorageFile(directory / f"{directory.resolve().name}_0.mcap")
    except OSError as error:
        with contextlib.suppress(OSError):
            directory.rmdir()
        raise _cannot_create(directory, error) from None


def _cannot_create(directory: Path, error: OSError) -> BagError:
    rule = f"cannot be created: {error.strerror}"
    return BagError(str(directory), rule, None, "name a directory on a disk that can be written")
