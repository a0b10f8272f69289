"""What all agents for one learner share: spaces, statistics, tests, and everything that is saved."""

from __future__ import annotations

from abc import abstractmethod
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from numpy.typing import NDArray

from pe_sim.errors import PeError
from pe_sim.learning.agents.action_scale import ActionScale
from pe_sim.learning.agents.callbacks import BaseCallback
from pe_sim.learning.agents.core import Core
from pe_sim.learning.agents.settings import setting
from pe_sim.learning.agents.testing import begin_test, end_test, require_test_envs, shares
from pe_sim.learning.agents.vector_env import VecEnv
from pe_sim.learning.networks import plain, tensors
from pe_sim.learning.normaliser import RunningNormaliser
from pe_sim.learning.requirement import require_torch


class Agent(Core[VecEnv]):
    """Base of all agents; an algorithm builds networks and a learner in :meth:`_build_policy`.

    Built without environments, from spaces, it only infers.

    Args:
        config: settings: seed, gamma, use_obsnorm, use_rewnorm, obsnorm_range, rewnorm_range, parallels (number of
            environments where there are none), n_epochs, render, render_mode, fps and log_dir (of the video of a test's
            best episode), update_rms (whether tests change the statistics of observations: default no), and those of
            the algorithm.
        envs: training environments.
        observation_space, action_space: where there are no environments.
        callback: called at each stage.

    Attributes:
        current_step: environment steps so far.
        current_episode: episodes ended in each environment, (n_envs,).
        policy: the networks.
        learner: has ``update(**samples) -> dict`` and ``policy``.
        memory: what it learns from.
        best_episode_video: file of the last test's best episode, None where none was asked for.

    Raises:
        PeError: if a setting is missing or a space is none it can work with.
    """

    learner: Any

    def __init__(
        self,
        config: Namespace,
        envs: VecEnv | None = None,
        observation_space: gym.Space[Any] | None = None,
        action_space: gym.Space[Any] | None = None,
        callback: BaseCallback | None = None,
    ) -> None:
        require_torch(type(self).__name__)
        if not str(getattr(config, "device", "cpu")).startswith("cpu"):
            raise PeError("config.device", "must be cpu, which is where these agents compute", config.device)
        self.config, self.train_envs = config, envs
        if envs is None:
            if observation_space is None or action_space is None:
                raise ValueError("give observation_space and action_space where there are no envs: networks need them")
            self.n_envs = int(setting(config, "parallels"))
            self.observation_space, self.action_space = observation_space, action_space
        else:
            envs.reset()
            self.n_envs = envs.num_envs
            self.observation_space, self.action_space = envs.observation_space, envs.action_space
        if not isinstance(self.observation_space, gym.spaces.Box | gym.spaces.Discrete):
            raise PeError("observation_space", "must be Box or Discrete", self.observation_space)
        self.callback = callback or BaseCallback()
        self.generator = torch.Generator().manual_seed(int(setting(config, "seed")))
        self.gamma = float(setting(config, "gamma"))
        self.n_epochs = int(getattr(config, "n_epochs", 1))
        self.scale = ActionScale(self.action_space)
        self.discrete = self.scale.discrete
        self.inputs = int(np.prod(self.observation_space.shape or (1,)))
        self.obs_rms = RunningNormaliser(self.inputs)
        self.ret_rms = RunningNormaliser(1)
        self.returns = np.zeros(self.n_envs)
        self.current_step, self.current_episode = 0, np.zeros(self.n_envs, np.int32)
        self.best_episode_video: Path | None = None
        self.policy = self._build_policy()
        self._prepare()

    @abstractmethod
    def _build_policy(self) -> Any:
        """Return the networks and set :attr:`learner`."""

    def _prepare(self) -> None:
        """Take the settings of training and build the memory."""

    @abstractmethod
    def _require_trainable(self) -> None:
        """Raise what says so where there is nothing to train with."""

    @abstractmethod
    def _advance(self, info: dict[str, Any], train_steps: int) -> None:
        """Train for one step; take the metrics of what is learnt into ``info``."""

    @abstractmethod
    def train_epochs(self, n_epochs: int = 1) -> dict[str, Any]:
        """Learn from what is stored; return the last metrics."""

    def train(self, train_steps: int) -> dict[str, Any]:
        """Train for some steps, of all environments where there are any; return the last metrics.

        Raises:
            ValueError: if the agent was built without environments.
        """
        self._require_trainable()
        info: dict[str, Any] = {}
        for _ in range(train_steps):
            self._advance(info, train_steps)
            self.callback.on_train_step_end(
                self.current_step, envs=self.train_envs, policy=self.policy, train_steps=train_steps, train_info=info
            )
            if self.callback.stop_training:
                break
        return info

    def _learn_once(self, info: dict[str, Any], train_steps: int) -> None:
        """Learn from what is stored, take the metrics into ``info`` and tell the callback."""
        info.update(self.train_epochs(self.n_epochs))
        self.callback.on_train_epochs_end(
            self.current_step, policy=self.policy, memory=self.memory, update_info=info,
            current_episode=self.current_episode, train_steps=train_steps,
        )

    def _process_observation(self, observations: NDArray[Any]) -> NDArray[np.float32]:
        """Return observations scaled by the running statistics, if so configured."""
        if not getattr(self.config, "use_obsnorm", False):
            return np.asarray(observations, np.float32)
        bound = float(getattr(self.config, "obsnorm_range", 5))
        mean, deviation = (x.reshape(observations.shape[1:]) for x in (self.obs_rms.mean, self.obs_rms.deviation))
        scaled: NDArray[np.float32] = np.clip((observations - mean) / deviation, -bound, bound).astype(np.float32)
        return scaled

    def _process_reward(self, rewards: NDArray[Any]) -> NDArray[Any]:
        """Return rewards divided by the deviation of returns, if so configured."""
        if not getattr(self.config, "use_rewnorm", False):
            return rewards
        bound = float(getattr(self.config, "rewnorm_range", 5))
        scaled: NDArray[Any] = np.clip(rewards / max(float(self.ret_rms.deviation[0]), 0.1), -bound, bound)
        return scaled

    def _update(self, samples: dict[str, Any]) -> dict[str, float]:
        """Learn from one batch, between the callback's two calls; return metrics and what the callback adds."""
        stage = {"policy": self.policy, **samples}
        self.callback.on_update_start(self.learner.iterations, **stage)
        info: dict[str, float] = self.learner.update(**samples)
        info.update(self.callback.on_update_end(self.learner.iterations, info=info, **stage) or {})
        return info

    def _to_env(self, actions: NDArray[Any]) -> NDArray[Any]:
        """Return actions as the environments take them: continuous ones clipped to the space."""
        return self.scale.clip(actions)

    def _run_test(
        self, act: Callable[[NDArray[Any]], dict[str, Any]], episodes: int, test_envs: VecEnv | None, *,
        close_envs: bool,
    ) -> list[float]:
        """Run episodes to their ends and return the score of each, in the order they ended.

        Every environment runs its share, see :func:`~pe_sim.learning.agents.testing.shares`. Nothing is stored and no
        training environment is touched.

        Raises:
            ValueError: if there are no environments to test in, or they are the training environments.
        """
        envs = require_test_envs(self, test_envs)
        left = shares(episodes, envs.num_envs)
        recorder = begin_test(self, envs)
        raw = envs.buf_obs.copy()
        scores: list[float] = []
        steps = 0
        while left.any():
            if getattr(self.config, "update_rms", False):
                self.obs_rms.update(raw.reshape(len(raw), -1))
            obs = self._process_observation(raw)
            out = act(obs)
            raw, rewards, terminals, truncations, infos = envs.step(self._to_env(out["actions"]))
            steps += envs.num_envs
            if recorder is not None:
                recorder.add(infos)
            self.callback.on_test_step(
                envs=envs, policy=self.policy, images=[info.get("frame") for info in infos], obs=obs, policy_out=out,
                next_obs=raw, rewards=rewards, terminals=terminals, truncations=truncations, infos=infos,
                current_train_step=self.current_step, current_step=steps, current_episode=len(scores),
            )
            raw = raw.copy()
            for i in np.nonzero(terminals | truncations)[0]:
                raw[i] = infos[i]["reset_obs"]
                if recorder is not None:
                    recorder.end(int(i), infos[i], counted=bool(left[i]))
                if left[i]:
                    left[i] -= 1
                    scores.append(infos[i]["episode_score"])
        end_test(self, envs, scores, recorder, steps, close_envs=close_envs)
        return scores

    def state(self) -> dict[str, Any]:
        """Return everything needed to go on to the same bits, as plain data."""
        return {
            **super().state(), "learner": plain(self.learner.state()), "obs_rms": self.obs_rms.state(),
            "ret_rms": self.ret_rms.state(), "returns": self.returns.copy(),
        }

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        if self._goes_on_from(state):
            self.returns = state["returns"].copy()
        self.learner.restore(tensors(state["learner"]))
        self.obs_rms.restore(state["obs_rms"])
        self.ret_rms.restore(state["ret_rms"])
