"""Multi-agent environments in processes of their own, stepped together; equal to those of DummyVecMultiAgentEnv."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pe_sim.learning.agents.marl_env_slot import JointEnvSlot
from pe_sim.learning.agents.marl_vector_env import VecMultiAgentEnv
from pe_sim.learning.agents.vector_processes import InProcesses


class SubprocVecMultiAgentEnv(InProcesses, VecMultiAgentEnv):
    """Environments in worker processes, see :class:`~pe_sim.learning.agents.vector_processes.InProcesses`.

    Args:
        env_fns: what makes each environment; carried to the processes by cloudpickle.
        env_seed: environment i is first reset with ``env_seed`` + i; None for no seed.
        context: how processes start: 'spawn', 'forkserver' or 'fork'.
        in_series: environments in one process.

    Raises:
        PluginError: if an environment cannot be made; later, if one raises, or a worker ends unexpectedly.
    """

    def __init__(
        self, env_fns: Sequence[Callable[[], Any]], env_seed: int | None = None, context: str = "spawn",
        in_series: int = 1,
    ) -> None:
        described = self._start(JointEnvSlot, env_fns, in_series, context)
        super().__init__(described[0], len(env_fns), env_seed)
