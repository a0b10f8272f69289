"""Checkpoints: one file with everything a training needs to go on, whole or not there at all.

The file is a line that says what it is, a hash, and plain data: numbers, texts, lists, dictionaries and NumPy arrays.
Reading it builds nothing else, so that a file from elsewhere can do no harm.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from pathlib import Path
from typing import Any

from pe_sim.errors import PeError
from pe_sim.policies.bundle import replace_file

MAGIC = b"pe_ros training checkpoint 1\n"

BUILDERS = {
    (module, name)
    for base in ("numpy.core", "numpy._core")
    for module, name in (
        (f"{base}.multiarray", "_reconstruct"), (f"{base}.multiarray", "scalar"), (f"{base}.numeric", "_frombuffer"),
    )
} | {("numpy", "ndarray"), ("numpy", "dtype")}
"""What reading a checkpoint may call: what makes arrays out of bytes."""

MISFITS = (LookupError, TypeError, ValueError, RuntimeError, AttributeError, ArithmeticError)
"""What taking a state apart raises where it is not what it should be."""


class _PlainData(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in BUILDERS:
            raise pickle.UnpicklingError(f"{module}.{name} is no plain data")
        return super().find_class(module, name)


def write_checkpoint(path: Path, state: dict[str, Any]) -> None:
    """Write a checkpoint whole; what was there stays until the new one is on the disk.

    Its directory is made if need be.

    Raises:
        PeError: if it cannot be written, e.g. because the disk is full.
    """
    data = pickle.dumps(state, protocol=5)
    head = MAGIC + hashlib.sha256(data).hexdigest().encode() + b"\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, head + data)
    except OSError as fault:
        kept = "the one before is kept" if path.exists() else "there is none before it"
        raise PeError(str(path), f"cannot be written: {fault.strerror or fault}; {kept}") from fault


def read_checkpoint(path: Path) -> dict[str, Any]:
    """Read a checkpoint.

    Raises:
        PeError: if it is missing, no checkpoint, or damaged.
    """
    try:
        data = path.read_bytes()
    except OSError as fault:
        raise PeError(str(path), f"cannot be read: {fault.strerror or fault}") from fault
    if not data.startswith(MAGIC):
        raise PeError(str(path), "is no training checkpoint", cure="name a checkpoint.bin, or leave --resume out")
    sha, newline, body = data[len(MAGIC) :].partition(b"\n")
    if not newline or hashlib.sha256(body).hexdigest().encode() != sha:
        raise PeError(str(path), f"is damaged: {len(data)} bytes do not have the hash they were written with")
    try:
        state = _PlainData(io.BytesIO(body)).load()
    except (pickle.UnpicklingError, EOFError, *MISFITS) as fault:
        raise PeError(str(path), f"is no training checkpoint: {fault}") from fault
    if not isinstance(state, dict):
        raise PeError(str(path), "is no training checkpoint")
    return state
