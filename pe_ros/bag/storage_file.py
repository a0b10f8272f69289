"""The file under a bag: appended to with whole writes, locked while open, and synchronised with the disk on request."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


class StorageFile:
    """A new file that is only appended to.

    Every write reaches the operating system at once and completely, or raises: what was written survives the death of
    the process. (A buffered file keeps the tail in the process; an unbuffered one may write less than it was given.)
    The file is locked while it is open, so that nobody repairs a bag that is still being recorded; the operating
    system releases the lock of a killed process.
    """

    def __init__(self, path: Path) -> None:
        """Create the file.

        Raises:
            FileExistsError: it is there already.
            OSError: it cannot be created.
        """
        self.path = path
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
        self._position = 0
        self._open = True
        try_lock(self._descriptor)

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Append all of the data.

        Raises:
            OSError: the disk is full or failed; a part of the data may have been written.
        """
        rest = memoryview(data).cast("B")
        length = len(rest)
        while rest:
            written = os.write(self._descriptor, rest)
            self._position += written
            rest = rest[written:]
        return length

    def tell(self) -> int:
        """Return the number of bytes written."""
        return self._position

    def synchronise(self) -> None:
        """Wait until the disk holds everything written, so that it survives a loss of power.

        Raises:
            OSError: the disk failed.
        """
        os.fdatasync(self._descriptor)

    def flush(self) -> None:
        """Do nothing: nothing is held back."""

    def close(self) -> None:
        """Close the file and release its lock."""
        if self._open:
            self._open = False
            os.close(self._descriptor)


def try_lock(descriptor: int) -> bool:
    """Lock an open file for this process without waiting; return False where another process holds the lock.

    A file system without locks counts as locked by nobody.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def is_being_written(path: Path) -> bool:
    """Return whether a recorder has the file open."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not try_lock(descriptor)
    finally:
        os.close(descriptor)


def synchronise_directory(directory: Path) -> None:
    """Wait until the disk holds the names in a directory; do nothing where a file system cannot."""
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        return
    finally:
        os.close(descriptor)
