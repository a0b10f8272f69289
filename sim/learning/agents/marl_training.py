"""How multi-agent cores train: joint steps of all environments, what is learnt between them, and episodes."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pe_sim.learning.agents.marl_agents import MARLAgents
from pe_sim.learning.agents.marl_batches import Actions, Available
from pe_sim.learning.agents.marl_env import Flags, Info, Observations
from pe_sim.learning.agents.marl_vector_env import VecMultiAgentEnv
from pe_sim.learning.agents.testing import shares


@dataclass(frozen=True)
class JointStep:
    """One step of all environments, by environment, under the names that callbacks know.

    Attributes:
        obs, next_obs: what the agents saw before it and then, at the end of an episode the last of it.
        state, next_state: the global states, (n_envs, S).
        avail_actions, next_avail_actions: what they could do.
        acts: what they did.
        rewards: what they got.
        terminals: for whom the game has ended.
        truncations: where time is over.
        infos: of the step.
    """

    obs: list[Observations]
    state: NDArray[np.float32]
    avail_actions: Available
    acts: list[Actions]
    next_obs: list[Observations]
    next_state: NDArray[np.float32]
    next_avail_actions: Available
    rewards: list[dict[str, float]]
    terminals: list[Flags]
    truncations: list[bool]
    infos: list[Info]


class TrainedAgents(MARLAgents):
    """Agents that act, remember and learn; what each does of that in its own way an algorithm's kind says."""

    @abstractmethod
    def _choose(self, envs: VecMultiAgentEnv) -> dict[str, Any]:
        """Return what :meth:`get_actions` says of the present."""

    @abstractmethod
    def _remember(self, step: JointStep, out: dict[str, Any]) -> None:
        """Store a step and what was thought in it, and go on to the recurrent state after it."""

    @abstractmethod
    def _begin_again(self, e: int) -> None:
        """Put the recurrent state of one environment where an episode begins."""

    @abstractmethod
    def _updates_due(self) -> int:
        """Return how often to learn after the latest steps."""

    @abstractmethod
    def train_epochs(self, n_epochs: int = 1) -> dict[str, Any]:
        """Learn from what is stored; return the last metrics."""

    def _told(self, out: dict[str, Any]) -> dict[str, Any]:
        """Return what else callbacks are told of a step."""
        del out
        return {}

    def _require_learnable(self, step: JointStep) -> None:
        """Refuse a step that cannot be learnt from."""

    def _leave(self, envs: VecMultiAgentEnv) -> None:
        """Called where what is stored next does not follow what was stored last."""

    def train(self, train_steps: int) -> dict[str, Any]:
        """Step all environments ``train_steps`` times, learning as often as is due.

        Returns:
            The last update's metrics.

        Raises:
            ValueError: if the agents were built without environments.
            PeError: if a step cannot be learnt from.
        """
        envs, info = self.training_envs(), {}
        for _ in range(train_steps):
            info.update(self._advance(envs, train_steps=train_steps)[1])
            if self.callback.stop_training:
                break
        return info

    def _advance(self, envs: VecMultiAgentEnv, **stage: Any) -> tuple[list[Info], dict[str, Any]]:
        """Take one step of every environment, and learn as often as is due; return infos and metrics."""
        step, out = self._step(envs)
        self._require_learnable(step)
        self.callback.on_train_step(
            self.current_step, envs=envs, policy=self.policy, policy_out=out, **vars(step), **self._told(out), **stage
        )
        self._remember(step, out)
        for e in (e for e, info in enumerate(step.infos) if "reset_obs" in info):
            self._begin_again(e)
        self._end_episodes(step.infos, envs=envs, **stage)
        metrics: dict[str, Any] = {}
        for _ in range(self._updates_due()):
            metrics = self.train_epochs(self.n_epochs)
            self.callback.on_train_epochs_end(
                self.current_step, policy=self.policy, memory=self.memory, current_episode=self.current_episode,
                update_info=metrics, **stage,
            )
        self.current_step += self.n_envs
        self.callback.on_train_step_end(self.current_step, envs=envs, policy=self.policy, train_info=metrics, **stage)
        return step.infos, metrics

    def _step(self, envs: VecMultiAgentEnv) -> tuple[JointStep, dict[str, Any]]:
        """Act once in every environment; return the step, and what was thought."""
        obs, state, available = list(envs.buf_obs), envs.buf_state.copy(), list(envs.buf_avail_actions)
        out = self._choose(envs)
        next_obs, rewards, terminated, truncated, infos = envs.step(self.to_env(out["actions"]))
        step = JointStep(
            obs, state, available, out["actions"], next_obs, np.stack([info["state"] for info in infos]),
            [info["avail_actions"] for info in infos], rewards, terminated, truncated, infos,
        )
        return step, out

    def _end_episodes(self, infos: list[Info], **stage: Any) -> None:
        """Count the episodes that ended in a step, and tell the callback."""
        for e, info in enumerate(infos):
            if "reset_obs" in info:
                self.current_episode[e] += 1
                self.callback.on_train_episode_info(
                    policy=self.policy, env_id=e, infos=infos, current_step=self.current_step,
                    current_episode=self.current_episode, **stage,
                )

    def _train_episodes(self, n_episodes: int, run_envs: VecMultiAgentEnv | None) -> list[float]:
        """Run episodes from their beginnings to their ends, learning as often as is due; return the score of each.

        Raises:
            ValueError: if the environments are not as many as in training.
        """
        envs = self.training_envs() if run_envs is None else run_envs
        if self.training_envs().num_envs != envs.num_envs:
            raise ValueError(f"run_envs: must be {self.n_envs} environments, as in training (got {envs.num_envs})")
        self._leave(self.training_envs())
        before, self.hidden = self.hidden, self.init_rnn_hidden(self.n_envs)
        envs.reset()
        left, scores = shares(n_episodes, self.n_envs), []
        while left.any() and not self.callback.stop_training:
            infos, _ = self._advance(envs, n_episodes=n_episodes)
            for e in (e for e, info in enumerate(infos) if "reset_obs" in info and left[e]):
                left[e] -= 1
                scores.append(self.score(infos[e]))
        if envs is not self.train_envs:
            self._leave(envs)
            self.hidden = before
        return scores

    def learn_from(self, sample: dict[str, Any]) -> dict[str, float]:
        """Learn from one sample, between the callback's two calls; return metrics and what the callback adds."""
        self.callback.on_update_start(self.iterations, policy=self.policy, **sample)
        info = self.update(sample)
        self.iterations += 1
        info.update(self.callback.on_update_end(self.iterations, policy=self.policy, info=info, **sample) or {})
        return info

    def get_aux_info(self, policy_output: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return what else is to be stored with a step: field -> array, or field -> agent -> array."""
        del policy_output
        return {}
