"""Whether the index at the end of an MCAP file is there and right, so that readers find every message by it."""

from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path

from mcap.exceptions import McapError
from mcap.reader import make_reader
from mcap.summary import Summary

from pe_ros.bag.chunks import PARSE_ERRORS, RECORD_HEADER
from pe_ros.bag.scan import Survey

_FOOTER = struct.Struct("<QQI")
_MAGIC_LENGTH = 8


def index_is_right(path: Path, found: Survey) -> bool:
    """Return whether the index of a finished file fits what was found in the file.

    Raises:
        OSError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            summary = make_reader(file).get_summary()
    except (*PARSE_ERRORS, McapError):
        return False
    return summary is not None and _checksum_holds(path) and _fits(summary, found)


def _fits(summary: Summary, found: Survey) -> bool:
    counted = summary.statistics is not None and summary.statistics.message_count == sum(found.counts.values())
    chunks = sorted((index.chunk_start_offset, index.chunk_length) for index in summary.chunk_indexes)
    return bool(counted and chunks == sorted(found.chunks) and summary.channels.keys() == found.channels.keys())


def _checksum_holds(path: Path) -> bool:
    """Return whether the index is as it was written; a file without that checksum (0) is taken at its word."""
    with path.open("rb") as file:
        footer_at = os.fstat(file.fileno()).st_size - _MAGIC_LENGTH - _FOOTER.size - RECORD_HEADER.size
        file.seek(footer_at + RECORD_HEADER.size)
        begin, _, checksum = _FOOTER.unpack(file.read(_FOOTER.size))
        if not checksum:
            return True
        file.seek(begin)
        covered = file.read(footer_at + RECORD_HEADER.size + _FOOTER.size - 4 - begin)
    return bool(zlib.crc32(covered) == checksum)
