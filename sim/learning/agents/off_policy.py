"""The off-policy agent: remembers its steps and learns from samples of them."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pe_sim.learning.agents.off_policy_schedules import OffPolicySchedules
from pe_sim.learning.agents.online import OnlineAgent, Step
from pe_sim.learning.agents.replay import ReplayBuffer
from pe_sim.learning.agents.settings import setting
from pe_sim.learning.agents.vector_env import VecEnv


class OffPolicyAgent(OffPolicySchedules, OnlineAgent):
    """Base of off-policy agents.

    What is remembered is not scaled; samples are, by the statistics at the time they are drawn. :meth:`train_epochs` is
    called once for every training_frequency environment steps after start_training, several times a step where there
    are more environments than that.

    Args:
        config: settings: those of :class:`~pe_sim.learning.agents.agent.Agent`, buffer_size, batch_size, start_training
            (environment steps before the first update, default 1), training_frequency (environment steps between
            updates, default 1), start_greedy, end_greedy and decay_step_greedy (choices), start_noise, end_noise and
            running_steps (values; noise in parts of half the width between the bounds), and those of the algorithm.
        envs: training environments.
        observation_space, action_space: where there are no environments.
        callback: called at each stage.

    Raises:
        PeError: if a setting is missing or cannot be.
    """

    def _prepare(self) -> None:
        self._read_schedules()
        self.memory: ReplayBuffer | None = self._build_memory() if self.train_envs is not None else None

    def _build_memory(self, auxiliary_info_shape: Any = None) -> ReplayBuffer:
        """Return an empty memory."""
        del auxiliary_info_shape
        self.buffer_size, self.batch_size = (int(setting(self.config, f"{what}_size")) for what in ("buffer", "batch"))
        return ReplayBuffer(
            self.n_envs, self.buffer_size, self.batch_size, self.observation_space.shape or (),
            self.action_space.shape or (), generator=self.generator,
        )

    @abstractmethod
    def _best_actions(self, observations: NDArray[Any]) -> NDArray[Any]:
        """Return the actions that are thought best, (R, ...), for scaled observations."""

    @property
    def e_greedy(self) -> float | None:
        """Present probability of a choice at random; None for values, and where it is not configured."""
        return self._scheduled("greedy", "decay_step_greedy") if self.discrete else None

    @property
    def noise_scale(self) -> float | None:
        """Present standard deviation of the noise on values; None for choices, and where it is not configured."""
        return None if self.discrete else self._scheduled("noise", "running_steps")

    def exploration(self, pi_actions: Any) -> NDArray[Any]:
        """Return actions to explore with, drawn for every environment by itself.

        A choice is replaced by a random one with probability :attr:`e_greedy`. Noise of :attr:`noise_scale` times half
        the width between the bounds is added to values, which stay within the bounds.

        Args:
            pi_actions: what is thought best, (R,) or (R, ...).
        """
        actions = np.asarray(pi_actions)
        if self.discrete:
            if self.e_greedy is None:
                return actions
            explores = torch.rand(len(actions), generator=self.generator).numpy() < self.e_greedy
            drawn = torch.randint(self.scale.size, (len(actions),), generator=self.generator).numpy()
            return np.where(explores, drawn, actions)
        if self.noise_scale is None:
            return actions
        noise = torch.randn(actions.shape, generator=self.generator).numpy() * self.noise_scale * self.scale.half
        return self.scale.clip((actions + noise).astype(np.float32))

    def get_actions(self, observations: NDArray[Any], test_mode: bool = False) -> dict[str, Any]:
        """Return 'actions' for scaled observations; in test mode those thought best."""
        best = self._best_actions(observations)
        return {"actions": best if test_mode else self.exploration(best)}

    def train_epochs(self, n_epochs: int = 1) -> dict[str, Any]:
        """Learn from ``n_epochs`` samples; return the last one's metrics, 'epsilon-greedy' and 'noise_scale'.

        Raises:
            PeError: if the memory is empty.
        """
        if self.memory is None:
            raise ValueError("this agent was built without envs: it only infers")
        info: dict[str, Any] = {}
        for _ in range(n_epochs):
            samples = self.memory.sample()
            samples["obs"] = self._process_observation(samples["obs"])
            samples["obs_next"] = self._process_observation(samples["obs_next"])
            samples["rewards"] = self._process_reward(samples["rewards"])
            info = self._update(samples)
        return {**info, "epsilon-greedy": self.e_greedy, "noise_scale": self.noise_scale}

    def _choose(self, observations: NDArray[np.float32]) -> dict[str, Any]:
        return self.get_actions(observations, test_mode=False)

    def _remember(self, step: Step, told: dict[str, Any]) -> None:
        del told
        assert self.memory is not None
        self.memory.store(step.raw, step.acts, step.rewards, step.terminals, step.next_obs)

    def test(self, test_episodes: int, test_envs: VecEnv | None = None, close_envs: bool = True) -> list[float]:
        """Run episodes to their ends without exploring and return the score of each.

        Nothing is stored and no training environment is touched.

        Raises:
            ValueError: if there are no environments to test in, or they are the training environments.
        """
        return self._run_test(
            lambda obs: self.get_actions(obs, test_mode=True), test_episodes, test_envs, close_envs=close_envs
        )
