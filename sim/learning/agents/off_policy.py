"""The off-policy agent: remembers its steps and learns from samples of them."""

from __future__ import annotations

from abc import abstractmethod
from argparse import Namespace
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from numpy.typing import NDArray

from pe_sim.errors import PeError
from pe_sim.learning.agents.agent import Agent
from pe_sim.learning.agents.callbacks import BaseCallback
from pe_sim.learning.agents.replay import ReplayBuffer
from pe_sim.learning.agents.settings import setting
from pe_sim.learning.agents.vector_env import VecEnv


class OffPolicyAgent(Agent):
    """Base of off-policy agents.

    What is remembered is not scaled; samples are, by the statistics at the time they are drawn.

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

    def __init__(
        self,
        config: Namespace,
        envs: VecEnv | None = None,
        observation_space: gym.Space[Any] | None = None,
        action_space: gym.Space[Any] | None = None,
        callback: BaseCallback | None = None,
    ) -> None:
        super().__init__(config, envs, observation_space, action_space, callback)
        self.start_training = int(getattr(config, "start_training", 1))
        self.training_frequency = int(getattr(config, "training_frequency", 1))
        if self.training_frequency < 1:
            raise PeError("config.training_frequency", "must be at least 1 step", self.training_frequency)
        self.memory: ReplayBuffer | None = self._build_memory() if envs is not None else None

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

    def _scheduled(self, what: str, duration: str) -> float | None:
        """Return start + share * (end - start), the share of the steps that are done being at most 1."""
        start, end = getattr(self.config, f"start_{what}", None), getattr(self.config, f"end_{what}", None)
        if start is None:
            return None
        if end is None or start == end:
            return float(start)
        share = min(1.0, self.current_step / max(1.0, float(setting(self.config, duration))))
        return float(end) if share == 1.0 else float(start) + share * (float(end) - float(start))

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

    def _updates_due(self) -> int:
        """Return how many multiples of the training frequency, counted after start_training, the latest steps hold."""
        after, before = (max(0, n - self.start_training) for n in (self.current_step + self.n_envs, self.current_step))
        return after // self.training_frequency - before // self.training_frequency

    def train(self, train_steps: int) -> dict[str, Any]:
        """Step all environments ``train_steps`` times; return the last metrics.

        :meth:`train_epochs` is called once for every training_frequency environment steps after start_training, several
        times a step where there are more environments than that.
        """
        envs, info = self.training_envs(), {}
        assert self.memory is not None
        for _ in range(train_steps):
            raw = envs.buf_obs.copy()
            self.obs_rms.update(raw.reshape(self.n_envs, -1))
            obs = self._process_observation(raw)
            out = self.get_actions(obs, test_mode=False)
            next_obs, rewards, terminals, truncations, infos = envs.step(self._to_env(out["actions"]))
            self.callback.on_train_step(
                self.current_step, envs=envs, policy=self.policy, obs=obs, policy_out=out, acts=out["actions"],
                next_obs=next_obs, rewards=rewards, terminals=terminals, truncations=truncations, infos=infos,
                train_steps=train_steps,
            )
            self.memory.store(raw, out["actions"], rewards, terminals, next_obs)
            self._end_episodes(rewards, terminals | truncations, infos, train_steps)
            for _ in range(self._updates_due()):
                info.update(self.train_epochs(self.n_epochs))
                self.callback.on_train_epochs_end(
                    self.current_step, policy=self.policy, memory=self.memory, update_info=info,
                    current_episode=self.current_episode, train_steps=train_steps,
                )
            self.current_step += self.n_envs
            self.callback.on_train_step_end(
                self.current_step, envs=envs, policy=self.policy, train_steps=train_steps, train_info=info
            )
            if self.callback.stop_training:
                break
        return info

    def test(self, test_episodes: int, test_envs: VecEnv | None = None, close_envs: bool = True) -> list[float]:
        """Run episodes to their ends without exploring and return the score of each.

        Nothing is stored and no training environment is touched.

        Raises:
            ValueError: without ``test_envs``.
        """
        if test_envs is None:
            raise ValueError("give test_envs: the training environments are not tested in")
        return self._run_test(
            lambda obs: self.get_actions(obs, test_mode=True), test_episodes, test_envs, close_envs=close_envs
        )
