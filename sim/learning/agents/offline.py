"""The offline agent: learns from what others did, without acting itself."""

from __future__ import annotations

from abc import abstractmethod
from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pe_sim.errors import PeError
from pe_sim.learning.agents.agent import Agent
from pe_sim.learning.agents.callbacks import BaseCallback
from pe_sim.learning.agents.dataset import OfflineMemory, as_transitions, read_dataset, require_fit
from pe_sim.learning.agents.replay import Transitions
from pe_sim.learning.agents.settings import setting
from pe_sim.learning.agents.vector_env import VecEnv


class OfflineAgent(Agent):
    """Base of agents that learn from a dataset: :meth:`load_dataset`, then :meth:`train`.

    Every training_frequency-th step of training learns; without data it raises a PeError.

    Args:
        config: settings: those of :class:`~pe_sim.learning.agents.agent.Agent`, batch_size, training_frequency (steps
            between updates, default 1), dataset (file, optional), and those of the algorithm. With use_obsnorm
            observations are scaled by the statistics of the data.
        envs: environments of the kind the data are from; they tell the spaces and are not stepped.
        callback: called at each stage.

    Attributes:
        current_step: steps of training so far.
        memory: the data, None before they are loaded.

    Raises:
        PeError: if a setting is missing or cannot be.
    """

    def __init__(self, config: Namespace, envs: VecEnv, callback: BaseCallback | None = None) -> None:
        super().__init__(config, envs, callback=callback)
        if getattr(config, "use_rewnorm", False):
            raise PeError("config.use_rewnorm", "cannot be: data are learned from as they are", value=True)
        self.training_frequency = int(getattr(config, "training_frequency", 1))
        self.memory: OfflineMemory | None = None
        if getattr(config, "dataset", None) is not None:
            self.load_dataset(config.dataset)

    def load_dataset(self, dataset: str | Path | Mapping[str, Any] | Transitions) -> None:
        """Take the data to learn from.

        Args:
            dataset: an .npz file, arrays by D4RL's names ('observations', 'actions', 'rewards', 'next_observations',
                'terminals'), or ``memory.transitions()`` of an off-policy agent.

        Raises:
            PeError: if they cannot be read, are not complete, not finite, or of other spaces.
        """
        if isinstance(dataset, str | Path):
            data = read_dataset(dataset)
        else:
            data = dataset if isinstance(dataset, Transitions) else as_transitions("dataset", dataset)
        require_fit(data, self.observation_space, self.action_space)
        self.memory = OfflineMemory(data, int(setting(self.config, "batch_size")), self.generator)
        self.obs_rms = type(self.obs_rms)(self.inputs)
        self.obs_rms.update(np.asarray(data.observations).reshape(len(data), -1))

    @abstractmethod
    def _best_actions(self, observations: NDArray[Any]) -> NDArray[Any]:
        """Return the actions that are thought best, (R, ...), for scaled observations."""

    def get_actions(self, observations: NDArray[Any]) -> dict[str, Any]:
        """Return 'actions' for scaled observations; there is no chance in them."""
        return {"actions": self._best_actions(observations)}

    def _loaded(self) -> OfflineMemory:
        if self.memory is None:
            cure = "call load_dataset, or set config.dataset"
            raise PeError("dataset", "is not there: nothing to learn from", cure=cure)
        return self.memory

    def train_epochs(self, n_epochs: int = 1) -> dict[str, float]:
        """Learn from ``n_epochs`` samples and return the last one's metrics.

        Raises:
            PeError: without data.
        """
        memory, info = self._loaded(), {}
        for _ in range(n_epochs):
            samples = memory.sample()
            samples["obs"] = self._process_observation(samples["obs"])
            samples["obs_next"] = self._process_observation(samples["obs_next"])
            info = self._update(samples)
        return info

    def _require_trainable(self) -> None:
        self._loaded()

    def _advance(self, info: dict[str, Any], train_steps: int) -> None:
        self.current_step += 1
        if self.current_step % self.training_frequency == 0:
            self._learn_once(info, train_steps)

    def test(self, env_fn: Callable[[], VecEnv], steps: int) -> list[float]:
        """Run ``steps`` episodes in environments of their own and return the score of each.

        Args:
            env_fn: makes the environments, which are closed at the end.
            steps: number of episodes, which is what the offline algorithms of XuanCe take it for.
        """
        return self._run_test(self.get_actions, steps, env_fn(), close_envs=True)
