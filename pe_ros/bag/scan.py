"""Reads an MCAP file from its beginning, record by record, as far as it goes, whatever state it is in."""

from __future__ import annotations

import io
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from mcap.data_stream import ReadDataStream
from mcap.opcode import Opcode
from mcap.records import Attachment, Channel, Message, Metadata, Schema
from mcap.writer import MCAP0_MAGIC

from pe_ros.bag.chunks import PARSE_ERRORS, RECORD_HEADER, chunk_records, open_chunk, parse_record
from pe_sim.errors import BagError

Record = Schema | Channel | Message | Metadata | Attachment


@dataclass(frozen=True)
class Damage:
    """A place where a file is not as it was written.

    Attributes:
        offset: where it begins [bytes].
        length: how far it goes [bytes].
        reason: what is wrong.
    """

    offset: int
    length: int
    reason: str


@dataclass
class Survey:
    """What is in an MCAP file.

    Attributes:
        schemas: by id; the copy beside the messages counts, not that in the index.
        channels: by id, likewise.
        counts: messages by channel id; only of known channels.
        start: earliest log time [ns]; meaningless without messages.
        end: latest log time [ns].
        metadata: key-value pairs by name of their record; the last record of a name counts.
        chunks: offset and length of each chunk's record [bytes].
        compression: of the chunks: '', lz4 or zstd; None in a file without chunks.
        damage: where the file is not as it was written.
        finished: whether the file has its end.
    """

    schemas: dict[int, Schema] = field(default_factory=dict)
    channels: dict[int, Channel] = field(default_factory=dict)
    counts: Counter[int] = field(default_factory=Counter)
    start: int = 2**64
    end: int = 0
    metadata: dict[str, dict[str, str]] = field(default_factory=dict)
    chunks: list[tuple[int, int]] = field(default_factory=list)
    compression: str | None = None
    damage: list[Damage] = field(default_factory=list)
    finished: bool = False

    @property
    def healthy(self) -> bool:
        """Whether the file is as its writer meant to leave it."""
        return self.finished and not self.damage


def survey(path: Path) -> Survey:
    """Read all of an MCAP file and say what is in it and where it is damaged.

    Raises:
        BagError: the file cannot be read, or is not an MCAP file.
    """
    result = Survey()
    unknown: Counter[int] = Counter()
    for record in records(path, result):
        if isinstance(record, Schema):
            result.schemas.setdefault(record.id, record)
        elif isinstance(record, Channel):
            result.channels.setdefault(record.id, record)
        elif isinstance(record, Metadata):
            result.metadata[record.name] = record.metadata
        elif isinstance(record, Message):
            unknown[record.channel_id] += 1
            result.start = min(result.start, record.log_time)
            result.end = max(result.end, record.log_time)
    result.channels = {i: c for i, c in result.channels.items() if not c.schema_id or c.schema_id in result.schemas}
    result.counts = Counter({channel: unknown[channel] for channel in result.channels})
    orphans = sum(unknown.values()) - sum(result.counts.values())
    if orphans:
        result.damage.append(Damage(0, 0, f"{orphans} messages whose topic is lost"))
    return result


def records(path: Path, result: Survey | None = None) -> Iterator[Record]:
    """Yield the trusted records of an MCAP file in their order, those in chunks included.

    Args:
        path: the file.
        result: takes note of damage, compression and end.

    Raises:
        BagError: the file cannot be read, or is not an MCAP file.
    """
    note = result if result is not None else Survey()
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if _has_magic(file, path, size, note):
                yield from _records(file, size, note)
    except OSError as error:
        raise BagError(str(path), f"cannot be read: {error.strerror}") from None


def _has_magic(file: BinaryIO, path: Path, size: int, note: Survey) -> bool:
    magic = file.read(len(MCAP0_MAGIC))
    if magic == MCAP0_MAGIC:
        return True
    if MCAP0_MAGIC.startswith(magic.rstrip(b"\0")):  # cut short, or filled with zeros by the disk
        note.damage.append(Damage(0, size, "the file ends before its first record"))
        return False
    raise BagError(str(path), "is not an MCAP file", None, "only MCAP bags can be read; ros2 bag convert makes one")


def _records(file: BinaryIO, size: int, note: Survey) -> Iterator[Record]:
    at = len(MCAP0_MAGIC)
    while True:
        file.seek(at)
        header = file.read(RECORD_HEADER.size)
        if len(header) < RECORD_HEADER.size:
            note.damage.append(Damage(at, size - at, "the file ends without its index"))
            return
        opcode, length = RECORD_HEADER.unpack(header)
        begin = at + RECORD_HEADER.size
        whole = begin + length <= size
        if opcode == 0 or (not whole and opcode != Opcode.CHUNK):
            note.damage.append(Damage(at, size - at, "the file breaks off within a record"))
            return
        content = file.read(min(length, size - begin))
        if opcode == Opcode.FOOTER:
            note.finished = file.read() == MCAP0_MAGIC
            if not note.finished:
                note.damage.append(Damage(begin, size - begin, "the file does not end after its footer"))
            return
        yield from _opened(opcode, content, whole, at, note)
        if not whole:
            return
        at = begin + length


def _opened(opcode: int, content: bytes, whole: bool, at: int, note: Survey) -> Iterator[Record]:
    if opcode != Opcode.CHUNK:
        record = _parse(opcode, content)
        if record is not None:
            yield record
        return
    chunk = open_chunk(content, whole)
    note.chunks.append((at, RECORD_HEADER.size + len(content)))
    if chunk.damage:
        note.damage.append(Damage(at, RECORD_HEADER.size + len(content), chunk.damage))
    if note.compression is None:
        note.compression = chunk.compression
    yield from chunk_records(chunk.data)


def _parse(opcode: int, content: bytes) -> Record | None:
    record: Record | None = None
    try:
        if opcode == Opcode.METADATA:
            record = Metadata.read(ReadDataStream(io.BytesIO(content)))
        elif opcode == Opcode.ATTACHMENT:
            record = Attachment.read(ReadDataStream(io.BytesIO(content)))
        else:
            record = parse_record(opcode, content)
    except PARSE_ERRORS:
        return None
    return record
