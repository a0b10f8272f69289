"""Environments stepped at the same time, in processes of their own: the workers of both kinds of vectors."""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import signal
import traceback
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, TypeVar

import cloudpickle  # type: ignore[import-untyped]
import numpy as np

from pe_sim.errors import PluginError
from pe_sim.learning.agents.slot import Slot

PATIENCE = 5.0
"""Seconds [s] that a worker has to end by itself."""

Self = TypeVar("Self", bound="InProcesses")


class WorkerFaultError(Exception):
    """What an environment raised in its process: the text of its traceback."""


class InProcesses:
    """Environments in worker processes: worthwhile where a step takes far longer than sending it, about 0.1 ms.

    Workers also end when this process does, however it ends. An environment that raises is named, and all go on; where
    a worker ends unexpectedly, all are closed.
    """

    def _start(
        self, slot: Callable[[Any], Slot], env_fns: Sequence[Callable[[], Any]], in_series: int, context: str | None
    ) -> list[Any]:
        """Start workers of ``in_series`` environments each; return what each environment's slot describes.

        Args:
            slot: makes a slot of what makes an environment.
            env_fns: what makes each environment, sent to the workers by cloudpickle.
            in_series: number of environments in one worker.
            context: how processes are begun ('fork', 'spawn', 'forkserver'); None for the platform's.

        Raises:
            PluginError: if an environment cannot be made.
        """
        starter: Any = multiprocessing.get_context(context)
        count = -(-len(env_fns) // in_series)
        self._places = [part.tolist() for part in np.array_split(np.arange(len(env_fns)), count)]
        self._pipes: list[Any] = []
        self._workers: list[Any] = []
        self._closed = False
        for places in self._places:
            mine, theirs = starter.Pipe()
            makers = cloudpickle.dumps([env_fns[i] for i in places])
            worker = starter.Process(target=_work, args=(theirs, mine, slot, makers), daemon=True)
            worker.start()
            theirs.close()  # so that this end sees at once when the worker is gone
            self._pipes.append(mine)
            self._workers.append(worker)
        try:
            return self._each("describe", [()] * len(env_fns))
        except PluginError:
            self.close()
            raise

    def __enter__(self: Self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close everything."""
        self.close()

    def _each(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        if self._closed:
            raise PluginError(type(self).__name__, "is closed")
        for worker, places in enumerate(self._places):
            self._send(worker, (method, [arguments[i] for i in places]))
        # All answers are fetched before a fault is raised: questions and answers stay in step.
        answers = [self._receive(worker) for worker in range(len(self._places))]
        for places, (fault, _) in zip(self._places, answers, strict=True):
            if fault is not None:
                which, text, trace = fault
                raise PluginError(f"environment {places[which]}", f"raised {text}") from WorkerFaultError(trace)
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

    def _gone(self, worker: int) -> PluginError:
        """Close everything and return the error that says which worker is gone."""
        process, places = self._workers[worker], self._places[worker]
        process.join(PATIENCE)
        code = process.exitcode
        self.close()
        how = f"was killed by signal {-code}" if code is not None and code < 0 else f"ended with exit code {code}"
        named = ", ".join(str(i) for i in places)
        return PluginError(f"worker {worker} (environment {named})", f"{how}; all environments are closed")

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


def _work(pipe: Any, other_end: Any, slot: Callable[[Any], Slot], makers: bytes) -> None:
    """Serve the environments of one worker until it is told to end, or the other end of the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what an interrupt ends
    other_end.close()
    slots: list[Slot] = []
    try:
        while (message := pipe.recv()) is not None:
            pipe.send(_serve(slots, slot, makers, *message))
    except (EOFError, OSError):
        pass
    finally:
        for one in slots:
            one.close()


def _serve(
    slots: list[Slot], slot: Callable[[Any], Slot], makers: bytes, method: str, arguments: Any
) -> tuple[Any, list[Any]]:
    """Return (None, results), or (which, text, traceback) of what an environment raised and no results."""
    results: list[Any] = []
    try:
        if not slots:
            for make in cloudpickle.loads(makers):
                slots.append(slot(make))  # noqa: PERF401 - those made are closed if the next cannot be
        for one, given in zip(slots, arguments, strict=True):
            results.append(getattr(one, method)(*given))
    except Exception as fault:  # noqa: BLE001 - sent to the parent, which raises it
        which = len(results) if len(slots) == len(arguments) else len(slots)
        return (which, f"{type(fault).__name__}: {fault}", traceback.format_exc()), []
    return None, results
