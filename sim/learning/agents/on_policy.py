"""The on-policy agent: collects a horizon of steps, learns from it, forgets it."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pe_sim.learning.agents.on_policy_memory import OnPolicyMemory
from pe_sim.learning.agents.online import OnlineAgent, Step
from pe_sim.learning.agents.settings import setting
from pe_sim.learning.agents.vector_env import VecEnv


class OnPolicyAgent(OnlineAgent):
    """Base of on-policy agents: they learn whenever the horizon is reached.

    Args:
        config: settings: those of :class:`~pe_sim.learning.agents.agent.Agent`, horizon_size, n_minibatch, gae_lambda,
            use_gae (without it an advantage is what the horizon returned less the value), use_advnorm, and those of the
            algorithm.
        envs: training environments.
        observation_space, action_space: where there are no environments.
        callback: called at each stage.
    """

    def _prepare(self) -> None:
        config = self.config
        self.gae_lam = float(setting(config, "gae_lambda")) if getattr(config, "use_gae", True) else 1.0
        self.horizon_size, self.n_minibatch = int(setting(config, "horizon_size")), int(setting(config, "n_minibatch"))
        self.memory: OnPolicyMemory = self._build_memory()

    def _build_memory(self, auxiliary_info_shape: Any = None) -> OnPolicyMemory:
        """Return an empty memory of one horizon; auxiliary values take the shape of what is stored first."""
        del auxiliary_info_shape
        self.buffer_size = self.n_envs * self.horizon_size
        self.batch_size = self.buffer_size // self.n_minibatch
        return OnPolicyMemory(
            self.n_envs, self.horizon_size, self.observation_space.shape or (), self.action_space.shape or (),
            gamma=self.gamma, gae_lambda=self.gae_lam,
        )

    @abstractmethod
    def _evaluate(self, observations: NDArray[Any], deterministic: bool) -> dict[str, Any]:
        """Return 'actions', 'values' (None without a critic) and 'log_pi' for scaled observations."""

    @abstractmethod
    def _distributions(self, observations: NDArray[Any]) -> list[Any]:
        """Return the distribution of actions for each of some scaled observations."""

    def get_terminated_values(
        self, observations_next: NDArray[Any], rewards: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        """Return the critic's values of what was seen last, (n_envs,); 0 without a critic."""
        del rewards
        values = self._evaluate(self._process_observation(observations_next), True)["values"]  # noqa: FBT003
        return np.zeros(len(observations_next)) if values is None else np.asarray(values)

    def get_actions(
        self, observations: NDArray[Any], deterministic: bool = False, return_dists: bool = False,
        return_logpi: bool = False,
    ) -> dict[str, Any]:
        """Return 'actions', 'values', 'dists' and 'log_pi' for scaled observations.

        'values' is 0 without a critic; the last two are None unless asked for.
        """
        out = self._evaluate(observations, deterministic)
        return {
            "actions": out["actions"], "values": 0 if out["values"] is None else out["values"],
            "dists": self._distributions(observations) if return_dists else None,
            "log_pi": out["log_pi"] if return_logpi else None,
        }

    def get_aux_info(self, policy_output: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return what else is to be stored with a step."""
        del policy_output
        return {}

    def train_epochs(self, n_epochs: int = 1) -> dict[str, float]:
        """Learn from the memory; every epoch goes over every step once. Return the last minibatch's metrics."""
        info: dict[str, float] = {}
        self.memory.prepare(use_advnorm=bool(self.config.use_advnorm))
        for _ in range(n_epochs):
            order = torch.randperm(self.buffer_size, generator=self.generator).numpy()
            for part in np.array_split(order, self.n_minibatch):
                info = self._update(self.memory.sample(part))
        return info

    def _choose(self, observations: NDArray[np.float32]) -> dict[str, Any]:
        return self.get_actions(observations, return_logpi=True)

    def _told(self, out: dict[str, Any]) -> dict[str, Any]:
        return {"vals": out["values"], "aux_info": self.get_aux_info(out)}

    def _remember(self, step: Step, told: dict[str, Any]) -> None:
        rewards = self._process_reward(step.rewards)
        self.memory.store(step.obs, step.acts, rewards, told["vals"], step.terminals, told["aux_info"])
        self._end_paths(step.next_obs, step.rewards, step.terminals, step.truncations)

    def _updates_due(self) -> int:
        """Return 1 where the horizon is reached."""
        return int(self.memory.full)

    def _learn_once(self, info: dict[str, Any], train_steps: int) -> None:
        super()._learn_once(info, train_steps)
        self.memory.clear()

    def _end_paths(self, next_obs: NDArray[Any], rewards: NDArray[Any], terminals: Any, truncations: Any) -> None:
        """End paths: with 0 at a terminal state, with the value of what was seen last where time or memory is over."""
        cut = np.nonzero(~terminals & (truncations | self.memory.full))[0]
        for i in np.nonzero(terminals)[0]:
            self.memory.finish_path(0.0, int(i))
        if len(cut):
            values = self.get_terminated_values(next_obs, rewards)
            for i in cut:
                self.memory.finish_path(float(values[i]), int(i))

    def test(
        self, test_episodes: int, deterministic_policy: bool = True, test_envs: VecEnv | None = None,
        close_envs: bool = True,
    ) -> list[float]:
        """Run episodes to their ends and return the score of each; nothing is stored and no training env is touched.

        Raises:
            ValueError: if there are no environments to test in, or they are the training environments.
        """
        return self._run_test(
            lambda obs: self.get_actions(obs, deterministic=deterministic_policy), test_episodes, test_envs,
            close_envs=close_envs,
        )
