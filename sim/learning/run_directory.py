"""The directory of a training: made before anything is computed, and held, so that no other training writes into it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pe_sim.errors import PeError

try:
    import fcntl
except ImportError:  # pragma: no cover - there is no such lock on this system
    fcntl = None  # type: ignore[assignment]


@contextmanager
def held(directory: Path) -> Iterator[None]:
    """Make a directory if need be and hold it to the end of the block; the system lets go of it however that comes.

    Raises:
        PeError: if it cannot be made or written into, or another process holds it.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory) as probe:
            probe.write(b"room")
        handle = os.open(directory, os.O_RDONLY)
    except OSError as fault:
        raise PeError(str(directory), f"cannot be written into: {fault.strerror or fault}") from fault
    try:
        _lock(directory, handle)
        yield
    finally:
        os.close(handle)


def _lock(directory: Path, handle: int) -> None:
    if fcntl is None:  # pragma: no cover - see above
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as fault:
        cure = "wait for its end, or give another --output"
        raise PeError(str(directory), "is being trained into by another process", cure=cure) from fault
    except OSError:  # a file system without locks
        return
