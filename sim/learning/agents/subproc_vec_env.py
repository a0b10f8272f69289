"""Environments for one learner stepped at the same time, in processes of their own."""

from __future__ import annotations

from pe_sim.learning.agents.environment_slot import EnvironmentSlot
from pe_sim.learning.agents.vector_env import Maker, VecEnv
from pe_sim.learning.agents.vector_processes import InProcesses


class SubprocVecEnv(InProcesses, VecEnv):
    """Environments in worker processes, see :class:`~pe_sim.learning.agents.vector_processes.InProcesses`.

    The results are those of :class:`~pe_sim.learning.agents.vector_env.DummyVecEnv`. Use it as a context manager, or
    call :meth:`close`.

    Args:
        env_fns: what makes each environment, sent to the workers by cloudpickle.
        env_seed: environment i is first reset with ``env_seed`` + i; None for no seed.
        in_series: number of environments in one worker.
        context: how processes are begun ('fork', 'spawn', 'forkserver'); default the platform's.

    Raises:
        PluginError: if an environment cannot be made; later, if one raises, or a worker ends unexpectedly.
    """

    def __init__(
        self, env_fns: list[Maker], env_seed: int | None = None, in_series: int = 1, context: str | None = None
    ) -> None:
        described = self._start(EnvironmentSlot, env_fns, in_series, context)
        super().__init__(len(env_fns), described[0], env_seed)
