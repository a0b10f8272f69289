"""Environments stepped at the same time, in processes of their own."""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import signal
import traceback
from collections.abc import Sequence
from typing import Any

import cloudpickle  # type: ignore[import-untyped]
import numpy as np

from pe_sim.errors import PeError
from pe_sim.learning.agents.environment_slot import EnvironmentSlot
from pe_sim.learning.agents.vector_env import Maker, VecEnv

PATIENCE = 5.0
"""Seconds [s] that a worker has to end by itself."""


class WorkerFaultError(Exception):
    """What an environment raised in its process: the text of its traceback."""


class SubprocVecEnv(VecEnv):
    """Environments in worker processes: worthwhile where a step takes far longer than sending it, about 0.1 ms.

    The results are those of :class:`~pe_sim.learning.agents.vector_env.DummyVecEnv`. Use it as a context manager, or
    call :meth:`close`. Workers also end when this process does, however it ends.

    Args:
        env_fns: what makes each environment, sent to the workers by cloudpickle.
        env_seed: environment i is first reset with ``env_seed`` + i; None for no seed.
        in_series: number of environments in one worker.
        context: how processes are begun ('fork', 'spawn', 'forkserver'); default the platform's.

    Raises:
        PeError: if an environment cannot be made; later, if one raises, or a worker ends unexpectedly.
    """

    def __init__(
        self, env_fns: list[Maker], env_seed: int | None = None, in_series: int = 1, context: str | None = None
    ) -> None:
        starter: Any = multiprocessing.get_context(context)
        count = -(-len(env_fns) // in_series)
        self._places = [part.tolist() for part in np.array_split(np.arange(len(env_fns)), count)]
        self._pipes: list[Any] = []
        self._workers: list[Any] = []
        self._closed = False
        for places in self._places:
            mine, theirs = starter.Pipe()
            makers = cloudpickle.dumps([env_fns[i] for i in places])
            worker = starter.Process(target=_work, args=(theirs, mine, makers), daemon=True)
            worker.start()
            theirs.close()  # so that this end sees at once when the worker is gone
            self._pipes.append(mine)
            self._workers.append(worker)
        try:
            described = self._each("describe", [()] * len(env_fns))
        except PeError:
            self.close()
            raise
        super().__init__(len(env_fns), described[0], env_seed)

    def __enter__(self) -> SubprocVecEnv:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close everything."""
        self.close()

    def _each(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        if self._closed:
            raise PeError("SubprocVecEnv", "is closed")
        for worker, places in enumerate(self._places):
            self._send(worker, (method, [arguments[i] for i in places]))
        # All answers are fetched before a fault is raised: questions and answers stay in step.
        answers = [self._receive(worker) for worker in range(len(self._places))]
        for places, (fault, _) in zip(self._places, answers, strict=True):
            if fault is not None:
                which, text, trace = fault
                raise PeError(f"environment {places[which]}", f"raised {text}") from WorkerFaultError(trace)
        return [result for _, results in answers for result in results]

    def _send(self, worker: int, message: Any) -> None:
        try:
            self._pipes[worker].send(message)
        except OSError as fault:
            raise self._gone(worker) from fault

    def _receive(self, worker: int) -> Any:
        pipe = self._pipes[worker]
        multiprocessing.connection.wait([pipe, self._workers[worker].sentinel])
        try:
            if pipe.poll():
                return pipe.recv()
        except (EOFError, OSError) as fault:
            raise self._gone(worker) from fault
        raise self._gone(worker)

    def _gone(self, worker: int) -> PeError:
        """Close everything and return the error that says which worker is gone."""
        process, places = self._workers[worker], self._places[worker]
        process.join(PATIENCE)
        code = process.exitcode
        self.close()
        how = f"was killed by signal {-code}" if code is not None and code < 0 else f"ended with exit code {code}"
        named = ", ".join(str(i) for i in places)
        return PeError(f"worker {worker} (environment {named})", f"{how}; all environments are closed")

    def close(self) -> None:
        """End all workers; those that do not end by themselves within some seconds are killed."""
        if self._closed:
            return
        self._closed = True
        for pipe in self._pipes:
            with contextlib.suppress(OSError):  # its worker is gone already
                pipe.send(None)
            pipe.close()
        for worker in self._workers:
            worker.join(PATIENCE)
            if worker.is_alive():
                worker.kill()
                worker.join()


def _work(pipe: Any, other_end: Any, makers: bytes) -> None:
    """Serve the environments of one worker until it is told to end, or the other end of the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt ends
    other_end.close()
    slots: list[EnvironmentSlot] = []
    try:
        while (message := pipe.recv()) is not None:
            pipe.send(_serve(slots, makers, *message))
    except (EOFError, OSError):
        pass
    finally:
        for slot in slots:
            slot.close()


def _serve(slots: list[EnvironmentSlot], makers: bytes, method: str, arguments: Any) -> tuple[Any, list[Any]]:
    """Return (None, results), or (which, text, traceback) of what an environment raised and no results."""
    results: list[Any] = []
    try:
        if not slots:
            for make in cloudpickle.loads(makers):
                slots.append(EnvironmentSlot(make))  # noqa: PERF401 - those made are closed if the next cannot be
        for slot, given in zip(slots, arguments, strict=True):
            results.append(getattr(slot, method)(*given))
    except Exception as fault:  # noqa: BLE001 - sent to the parent, which raises it
        which = len(results) if len(slots) == len(arguments) else len(slots)
        return (which, f"{type(fault).__name__}: {fault}", traceback.format_exc()), []
    return None, results
