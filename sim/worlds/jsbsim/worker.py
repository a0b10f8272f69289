"""A worker process: one fleet on memory shared with its world. Started by pool.py as ``python -m``; not for hands.

It waits for a word on its socket, does it, answers, and ends when told or when the other end is gone: a parent that
dies, however it dies, closes the socket.
"""

from __future__ import annotations

import contextlib
import mmap
import pickle
import signal
import sys
from math import prod
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from pe_sim.errors import PeError
from pe_sim.worlds.jsbsim.fleet import Fleet, FleetArrays

STEP, RESTART, QUIT, DONE = b"step", b"restart", b"quit", b"done"
ALIGNMENT = 64
"""Each array begins on a cache line of its own."""


def arrays_on(memory: mmap.mmap, agents: int, batch: int) -> FleetArrays:
    """Return the fleet's arrays laid out one after another on shared memory."""
    place = 0

    def allocate(shape: tuple[int, ...], kind: Any) -> Any:
        nonlocal place
        array: Any = np.frombuffer(memory, dtype=kind, count=prod(shape), offset=place).reshape(shape)
        place += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
        return array

    return FleetArrays.make(agents, batch, allocate)


def size_of(agents: int, batch: int) -> int:
    """Return the bytes that :func:`arrays_on` needs."""
    layout = FleetArrays.layout(agents, batch).values()
    return sum(-(-prod(shape) * np.dtype(kind).itemsize // ALIGNMENT) * ALIGNMENT for shape, kind in layout)


def serve(fleet: Fleet, link: Connection) -> None:
    """Do what the socket says until it says quit or closes."""
    while True:
        word = link.recv_bytes()
        if word == QUIT:
            return
        try:
            fleet.restart() if word == RESTART else fleet.step()
        except PeError as fault:
            link.send_bytes(pickle.dumps(fault))
        else:
            link.send_bytes(DONE)


def main() -> None:
    """Run one worker; arguments: descriptors of the socket and of the memory."""
    for number in (signal.SIGINT, signal.SIGTERM):  # they reach the whole group; the parent says when to end
        signal.signal(number, signal.SIG_IGN)
    link = Connection(int(sys.argv[1]))
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        agents, batch, first, last, specs, around = pickle.loads(link.recv_bytes())  # noqa: S301 - from our own parent
        memory = mmap.mmap(int(sys.argv[2]), size_of(agents, batch))
        try:
            fleet = Fleet(specs, around, arrays_on(memory, agents, batch).rows(first, last))
        except PeError as fault:
            link.send_bytes(pickle.dumps(fault))
            return
        link.send_bytes(DONE)
        serve(fleet, link)


if __name__ == "__main__":
    main()
