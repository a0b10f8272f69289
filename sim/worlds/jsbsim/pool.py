"""A pool of worker processes, each flying a share of the batch on shared memory.

JSBSim holds Python's lock while it runs, so aircraft fly at once only in processes. The memory has no name: nothing is
left behind in /dev/shm, whoever dies. Workers are plain subprocesses, not forks: they share no locks with a parent
that runs threads, and need no guard in its main module.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import pickle
import socket
import subprocess
import sys
import tempfile
import weakref
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from pe_sim.errors import PeError, PluginError
from pe_sim.worlds.jsbsim.fleet import FleetArrays
from pe_sim.worlds.jsbsim.flight import FlightSpec, Surroundings
from pe_sim.worlds.jsbsim.worker import DONE, QUIT, RESTART, STEP, arrays_on, size_of

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108 - a file without a name
"""Where files lie in memory; None for where temporary files go otherwise."""
PATIENCE = 5.0
"""How long a worker may take to end when told [s]."""


@dataclass
class Worker:
    """One worker, seen from its parent."""

    process: subprocess.Popen[bytes]
    link: Connection


def _share_cores(processes: list[int]) -> None:
    """Bind each process to a core of its own, where they are as many as the cores.

    They wait for each other at every tick: moved to and fro they lose their caches, and two on one core take twice as
    long while another core idles. Where cores are left over, the system's scheduler knows better which are free.
    """
    if not hasattr(os, "sched_setaffinity"):  # only Linux has it
        return
    cores = sorted(os.sched_getaffinity(0))
    if len(processes) % len(cores):
        return
    for i, process in enumerate(processes):
        with contextlib.suppress(OSError):  # one that has ended is noticed where its answer is missing
            os.sched_setaffinity(process, {cores[i % len(cores)]})


def _end(workers: list[Worker]) -> None:
    """Tell workers to end, and see that they do."""
    for worker in workers:
        with contextlib.suppress(OSError):
            worker.link.send_bytes(QUIT)
        worker.link.close()
    for worker in workers:
        _reap(worker.process)
    workers.clear()


def _reap(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class FleetPool:
    """Does what a fleet does, in several processes.

    Args:
        specs: one per agent.
        around: what all flights share.
        batch: number of engagements.
        workers: number of processes, at most one per engagement.

    Attributes:
        arrays: commands in, states out.

    Raises:
        PluginError: if an aircraft cannot be used, or a worker cannot be started.
    """

    def __init__(self, specs: tuple[FlightSpec, ...], around: Surroundings, batch: int, workers: int) -> None:
        agents, count = len(specs), min(workers, batch)
        with tempfile.TemporaryFile(dir=MEMORY) as file:  # it has no name: gone with the last process that holds it
            file.truncate(size_of(agents, batch))
            memory = mmap.mmap(file.fileno(), size_of(agents, batch))
            self._workers: list[Worker] = [self._start(file.fileno()) for _ in range(count)]
        self._finalizer = weakref.finalize(self, _end, self._workers)
        _share_cores([worker.process.pid for worker in self._workers])
        self.arrays: FleetArrays = arrays_on(memory, agents, batch)
        for i, worker in enumerate(self._workers):
            share = (batch * i // count, batch * (i + 1) // count)
            worker.link.send_bytes(pickle.dumps((agents, batch, *share, specs, around)))
        self._collect()

    @staticmethod
    def _start(memory: int) -> Worker:
        ours, theirs = socket.socketpair()
        settings = dict.fromkeys(ONE_THREAD, "1") | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        command = [sys.executable, "-m", "pe_sim.worlds.jsbsim.worker", str(theirs.fileno()), str(memory)]
        with theirs:
            process = subprocess.Popen(  # noqa: S603 - ourselves
                command, env=os.environ | settings, pass_fds=(theirs.fileno(), memory), stdin=subprocess.DEVNULL
            )
        return Worker(process, Connection(ours.detach()))

    def restart(self) -> None:
        """Begin the flights of the engagements marked to restart.

        Raises:
            EngagementError: if a start is impossible.
        """
        self._all(RESTART)

    def step(self) -> None:
        """Fly one tick with everybody who is active."""
        self._all(STEP)

    def _all(self, word: bytes) -> None:
        if not self._workers:
            raise PluginError("world fixed_wing", "is closed", cure="make a new one")
        for worker in self._workers:
            with contextlib.suppress(OSError):  # one that has ended is noticed where its answer is missing
                worker.link.send_bytes(word)
        self._collect()

    def _collect(self) -> None:
        """Wait for every worker's answer; raise the first fault when all have answered."""
        faults: list[PeError] = []
        for i in range(len(self._workers)):
            answer = self._answer(i)
            if answer != DONE:
                faults.append(pickle.loads(answer))  # noqa: S301 - from our own worker
        if faults:
            raise faults[0]

    def _answer(self, number: int) -> bytes:
        try:
            return self._workers[number].link.recv_bytes()
        except (EOFError, OSError) as fault:
            raise self._lost(number) from fault

    def _lost(self, number: int) -> PluginError:
        code = self._workers[number].process.poll()
        self.close()
        return PluginError("world fixed_wing", f"worker {number} has ended", code, "see its messages above")

    def close(self) -> None:
        """End the workers; safe to call twice."""
        self._finalizer()
