"""Removes shared memory that killed processes left: half a megabyte each, which Fast DDS itself never takes back."""

from __future__ import annotations

import fcntl
import re
import time
from pathlib import Path

DIRECTORY = Path("/dev/shm")  # noqa: S108 - where Fast DDS keeps its segments
#: A segment's lock file; its owner holds the lock as long as it lives.
LOCK = re.compile(r"(fast(?:rtps|dds)_[0-9a-f]{16})_el")
#: A process that is just starting has created its lock file but may not have locked it yet [s].
STARTING_TIME = 10.0


def remove_leftovers(directory: Path = DIRECTORY) -> list[str]:
    """Remove the segments whose owners are dead, as `fastdds shm clean` does; those of the living stay.

    Returns:
        The names of the segments removed.
    """
    try:
        locks = [path for path in directory.iterdir() if LOCK.fullmatch(path.name)]
    except OSError:
        return []
    removed = []
    for lock in locks:
        if _is_abandoned(lock):
            segment = lock.with_name(lock.name.removesuffix("_el"))
            for path in (segment, lock):
                path.unlink(missing_ok=True)
            removed.append(segment.name)
    return removed


def _is_abandoned(lock: Path) -> bool:
    """Whether nobody holds this lock, though its owner has had the time to take it; False for other users' files."""
    try:
        if time.time() - lock.stat().st_mtime < STARTING_TIME:
            return False
        with lock.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
