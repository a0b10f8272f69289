"""The inside of an MCAP chunk, also of one that was cut off or damaged: its whole records."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import lz4.frame  # type: ignore[import-untyped]
import zstandard
from mcap.data_stream import ReadDataStream
from mcap.exceptions import McapError
from mcap.opcode import Opcode
from mcap.records import Channel, Message, Schema

RECORD_HEADER = struct.Struct("<BQ")
"""Opcode and length of the content of every MCAP record."""
MESSAGE_HEADER = struct.Struct("<HIQQ")
"""Channel, sequence, log time and publish time, before the data of a message."""
_CHUNK_HEADER = struct.Struct("<QQQII")
_DATA_LENGTH = struct.Struct("<Q")
ZERO_TAIL = 512
"""Zeros at the end of a damaged chunk [bytes] that tell a disk which lost power before it stored the data."""

PARSE_ERRORS = (struct.error, ValueError, KeyError, OverflowError, EOFError, MemoryError, McapError)
DECOMPRESSION_ERRORS = (zstandard.ZstdError, RuntimeError, ValueError, MemoryError)


@dataclass(frozen=True)
class OpenedChunk:
    """The records of a chunk.

    Attributes:
        data: uncompressed records, as far as they are there and trusted.
        damage: what is wrong with the chunk, or ''.
        compression: '', lz4 or zstd.
    """

    data: bytes
    damage: str
    compression: str


def open_chunk(content: bytes, whole: bool) -> OpenedChunk:
    """Return what can be trusted of a chunk.

    The records of a whole chunk are trusted if its checksum holds. Of a chunk that was cut off, all that lies before
    the cut is trusted. A chunk that ends in zeros was cut off where they begin. Other damage may be anywhere: nothing
    of such a chunk is trusted.

    Args:
        content: content of the chunk's record, or its beginning.
        whole: whether that is all of it.
    """
    try:
        _, _, size, checksum, name_length = _CHUNK_HEADER.unpack_from(content)
        data_at = _CHUNK_HEADER.size + name_length + _DATA_LENGTH.size
        compression = content[_CHUNK_HEADER.size : _CHUNK_HEADER.size + name_length].decode("ascii")
        (length,) = _DATA_LENGTH.unpack_from(content, _CHUNK_HEADER.size + name_length)
    except (struct.error, UnicodeDecodeError):
        return OpenedChunk(b"", "chunk cut off in its header", "")
    packed = content[data_at:]
    if not whole:
        return OpenedChunk(_unpack_beginning(_stored(packed), compression), "chunk cut off", compression)
    data = _unpack(packed, compression, size)
    if data is not None and (not checksum or zlib.crc32(data) == checksum):
        return OpenedChunk(data, "" if len(packed) == length else "chunk with a wrong length", compression)
    written = _stored(packed)
    if len(written) < len(packed):
        return OpenedChunk(_unpack_beginning(written, compression), "chunk not stored to its end", compression)
    return OpenedChunk(b"", "chunk with a wrong checksum", compression)


def chunk_records(data: bytes) -> Iterator[Schema | Channel | Message]:
    """Yield the whole records in the uncompressed data of a chunk."""
    at = 0
    while at + RECORD_HEADER.size <= len(data):
        opcode, length = RECORD_HEADER.unpack_from(data, at)
        at += RECORD_HEADER.size
        if at + length > len(data):
            return
        record = parse_record(opcode, data[at : at + length])
        if isinstance(record, Schema | Channel | Message):
            yield record
        at += length


def parse_record(opcode: int, content: bytes) -> Schema | Channel | Message | None:
    """Return a schema, channel or message from the content of its record; None for others and for broken ones."""
    record: Schema | Channel | Message | None = None
    try:
        if opcode == Opcode.MESSAGE:
            channel, sequence, log_time, publish_time = MESSAGE_HEADER.unpack_from(content)
            record = Message(channel, log_time, content[MESSAGE_HEADER.size :], publish_time, sequence)
        elif opcode == Opcode.SCHEMA:
            record = Schema.read(ReadDataStream(io.BytesIO(content)))
        elif opcode == Opcode.CHANNEL:
            record = Channel.read(ReadDataStream(io.BytesIO(content)))
    except PARSE_ERRORS:
        return None
    return record


def _stored(packed: bytes) -> bytes:
    """Return the data without the zeros of a disk that lost power; a few zeros may be data."""
    written = packed.rstrip(b"\0")
    return written if len(packed) - len(written) >= ZERO_TAIL else packed


def _unpack(packed: bytes, compression: str, size: int) -> bytes | None:
    try:
        if compression == "zstd":
            data = zstandard.ZstdDecompressor().decompress(packed, max_output_size=size)
        elif compression == "lz4":
            data = bytes(lz4.frame.decompress(packed))
        else:
            data = packed
    except DECOMPRESSION_ERRORS:
        return None
    return data if len(data) == size else None


def _unpack_beginning(packed: bytes, compression: str) -> bytes:
    """Return what can be uncompressed of data that breaks off: all for none, whole blocks for lz4 and zstd."""
    try:
        if compression == "zstd":
            return zstandard.ZstdDecompressor().decompressobj().decompress(packed)
        if compression == "lz4":
            return bytes(lz4.frame.LZ4FrameDecompressor().decompress(packed))
    except DECOMPRESSION_ERRORS:
        return b""
    return packed
