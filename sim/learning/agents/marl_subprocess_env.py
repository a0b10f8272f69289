"""Multi-agent environments in processes of their own, stepped together; equal to those of DummyVecMultiAgentEnv."""

from __future__ import annotations

import contextlib
import multiprocessing
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from gymnasium.vector.utils import CloudpickleWrapper

from pe_sim.errors import PluginError
from pe_sim.learning.agents.marl_env_slot import JointEnvSlot
from pe_sim.learning.agents.marl_vector_env import VecMultiAgentEnv

GRACE = 5.0
"""Seconds in which a process may end of itself when it is closed."""


def _work(pipe: Any, makers: Any) -> None:
    """Serve one process's environments until told to close."""
    slots: list[JointEnvSlot] = []
    try:
        slots += [JointEnvSlot(make) for make in makers.fn]
        pipe.send((slots[0].describe(), None))
        while (asked := pipe.recv()) is not None:
            method, arguments = asked
            answers = [getattr(slot, method)(*given) for slot, given in zip(slots, arguments, strict=True)]
            pipe.send((answers, None))
    except (EOFError, KeyboardInterrupt, BrokenPipeError):
        pass  # the learner has gone
    except BaseException:  # noqa: BLE001 - whatever an environment raises is told to the learner
        pipe.send((None, traceback.format_exc()))
    finally:
        for slot in slots:
            slot.close()
        pipe.close()


class SubprocVecMultiAgentEnv(VecMultiAgentEnv):
    """Environments in processes of their own.

    Args:
        env_fns: what makes each environment; carried to the processes by cloudpickle.
        env_seed: environment i is first reset with ``env_seed`` + i; None for no seed.
        context: how processes start: 'spawn', 'forkserver' or 'fork'.
        in_series: environments in one process.

    Raises:
        PluginError: if an environment raises, with what it said.
    """

    def __init__(
        self, env_fns: Sequence[Callable[[], Any]], env_seed: int | None = None, context: str = "spawn",
        in_series: int = 1,
    ) -> None:
        start: Any = multiprocessing.get_context(context)
        self._series, self._pipes, self._processes = in_series, [], []
        try:
            for i in range(0, len(env_fns), in_series):
                pipe, other = start.Pipe()
                makers: Any = list(env_fns[i : i + in_series])
                process = start.Process(target=_work, args=(other, CloudpickleWrapper(makers)), daemon=True)
                process.start()
                other.close()
                self._pipes.append(pipe)
                self._processes.append(process)
            spaces = [self._answer(pipe) for pipe in self._pipes]
        except BaseException:
            self.close()
            raise
        super().__init__(spaces[0], len(env_fns), env_seed)

    def _each(self, method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        for i, pipe in enumerate(self._pipes):
            pipe.send((method, list(arguments[i * self._series : (i + 1) * self._series])))
        return [item for pipe in self._pipes for item in self._answer(pipe)]

    def _answer(self, pipe: Any) -> Any:
        try:
            answer, fault = pipe.recv()
        except (EOFError, ConnectionResetError) as gone:
            raise PluginError("environment", "its process has ended without a word") from gone
        if fault is not None:
            self.close()
            raise PluginError("environment", f"raised in its process:\n{fault}")
        return answer

    def close(self) -> None:
        """Close all environments and end their processes."""
        for pipe in self._pipes:
            with contextlib.suppress(OSError, ValueError):  # closed already, or its process has gone
                pipe.send(None)
            pipe.close()
        for process in self._processes:
            process.join(GRACE)
            if process.is_alive():
                process.terminate()
        self._pipes, self._processes = [], []
