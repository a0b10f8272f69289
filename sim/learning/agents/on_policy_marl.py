"""Multi-agent on-policy cores: collect a horizon of joint steps, learn from it, forget it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pe_sim.learning.agents.marl_actors import Hiddens, StochasticActors, Times
from pe_sim.learning.agents.marl_batches import Actions, Available
from pe_sim.learning.agents.marl_env import Flags, Info, Observations
from pe_sim.learning.agents.marl_networks import kept, revived
from pe_sim.learning.agents.marl_rollout import JointRollout
from pe_sim.learning.agents.marl_testing import run_test
from pe_sim.learning.agents.marl_training import JointStep
from pe_sim.learning.agents.marl_vector_env import VecMultiAgentEnv
from pe_sim.learning.agents.settings import setting


class OnPolicyMARLAgents(StochasticActors):
    """Base of multi-agent on-policy cores; an algorithm builds actors and critics and learns from samples.

    They learn whenever the horizon is reached. Further settings: buffer_size (joint steps of all environments in a
    horizon), n_epochs, n_minibatch, gae_lambda, use_advnorm, and with use_rnn sequence_length (steps through which
    gradients flow; default the whole horizon). For arguments and attributes see
    :class:`~pe_sim.learning.agents.marl_agents.MARLAgents`.
    """

    memory: JointRollout

    def _build_memory(self) -> JointRollout:
        config = self.config
        self.buffer_size, self.n_minibatch = int(setting(config, "buffer_size")), int(setting(config, "n_minibatch"))
        horizon = self.buffer_size // self.n_envs
        length = int(getattr(config, "sequence_length", None) or horizon) if self.use_rnn else 1
        self.hidden = self.init_rnn_hidden(self.n_envs)
        return JointRollout(
            self.agent_keys, self.n_envs, horizon, length, gamma=self.gamma, gae_lambda=float(config.gae_lambda)
        )

    def store_experience(  # noqa: PLR0917 - XuanCe's signature
        self, obs_dict: list[Observations], avail_actions: Available | None, actions_dict: list[Actions],
        log_pi_a: dict[str, NDArray[Any]], rewards_dict: list[dict[str, float]], values_dict: dict[str, NDArray[Any]],
        terminals_dict: list[Flags], info: list[Info], **kwargs: Any,
    ) -> None:
        """Store one step of every environment.

        Args:
            obs_dict: what the agents saw, by environment and agent.
            avail_actions: what they could do; used with use_actions_mask.
            actions_dict: what they did.
            log_pi_a: log-probabilities of that, (n_envs,) by agent.
            rewards_dict: what followed, by environment and agent.
            values_dict: critics' values before the step, (n_envs,) by agent.
            terminals_dict: for whom the game has ended.
            info: of the step: 'agent_mask', whose action counted, and 'episode_step', 1 at an episode's first step.
            kwargs: 'state', before the step, (n_envs, S), if the critic sees it; 'rnn_hidden', recurrent states before
                the step, of actors and critics; whatever :meth:`get_aux_info` adds.
        """
        fields: dict[str, Any] = {
            "obs": self.column(obs_dict), "actions": self.column(actions_dict), "log_pi_old": log_pi_a,
            "rewards": self.column(self.paid(rewards_dict, info)), "values": values_dict,
            "terminals": self.column(terminals_dict),
            "agent_mask": self.column([one["agent_mask"] for one in info]),
            "episode_steps": np.asarray([one["episode_step"] - 1 for one in info]),
        }
        state, hidden = kwargs.pop("state", None), kwargs.pop("rnn_hidden", None)
        if self.use_global_state:
            fields["state"] = np.asarray(state, np.float32)
        if self.use_actions_mask and avail_actions is not None:
            fields["avail_actions"] = self.available_column(avail_actions)
        if self.use_rnn:
            for part, states in zip(("actor", "critic"), hidden or self.init_rnn_hidden(self.n_envs), strict=True):
                for key, one in (states or {}).items():
                    fields[f"{part} {key}"] = kept(one, self.n_envs)
        self.memory.store(**fields, **kwargs)

    def paid(self, rewards: list[dict[str, float]], info: list[Info]) -> list[dict[str, float]]:
        """Return the rewards to learn from, by environment and agent: each agent's own."""
        del info
        return rewards

    def _choose(self, envs: VecMultiAgentEnv) -> dict[str, Any]:
        return self.get_actions(
            envs.buf_obs, envs.buf_state, envs.buf_avail_actions, *self.hidden, agent_mask=envs.buf_acting
        )

    def _told(self, out: dict[str, Any]) -> dict[str, Any]:
        return {"values_dict": out["values"]}

    def _remember(self, step: JointStep, out: dict[str, Any]) -> None:
        self.store_experience(
            step.obs, step.avail_actions, step.acts, out["log_pi"], step.rewards, out["values"], step.terminals,
            step.infos, state=step.state, rnn_hidden=self.hidden, **self.get_aux_info(out),
        )
        self.hidden = (out["rnn_hidden_actor"], out["rnn_hidden_critic"])
        self._end_paths(step)

    def _begin_again(self, e: int) -> None:
        if self.use_rnn:
            self.hidden = self.init_hidden_item(e, *self.hidden)

    def _updates_due(self) -> int:
        """Return 1 where the horizon is reached."""
        return int(self.memory.full)

    def _end_paths(self, step: JointStep) -> None:
        """End paths: with 0 where the game has ended for an agent, with a value where time or the memory is over."""
        full, ended = self.memory.full, step.terminals
        over = [
            {a: ended[e][a] or info["truncations"][a] or full for a in self.agent_keys}
            for e, info in enumerate(step.infos)
        ]
        values = [dict.fromkeys(self.agent_keys, 0.0)] * self.n_envs
        if any(flags[a] and not ended[e][a] for e, flags in enumerate(over) for a in self.agent_keys):
            values = self.get_terminated_values(
                step.next_obs, None, ended, step.next_state, rnn_hidden=self.hidden,
                avail_actions=step.next_avail_actions,
            )
        for e, flags in enumerate(over):
            self.memory.finish_path(e, {a: values[e][a] for a in self.agent_keys if flags[a]})

    def _leave(self, envs: VecMultiAgentEnv) -> None:
        """End all open paths here: what follows has the critic's value."""
        if self.memory.size and not self.memory.full:
            nobody = [dict.fromkeys(self.agent_keys, False)] * self.n_envs
            values = self.get_terminated_values(
                envs.buf_obs, None, nobody, envs.buf_state, rnn_hidden=self.hidden, avail_actions=envs.buf_avail_actions
            )
            for e in range(self.n_envs):
                self.memory.finish_path(e, values[e])

    def run_episodes(
        self, n_episodes: int = 1, deterministic_policy: bool = False, run_envs: VecMultiAgentEnv | None = None,
        test_mode: bool = False, close_envs: bool = True,
    ) -> list[float]:
        """Run episodes from their beginnings to their ends, shared out evenly among the environments.

        Outside of test mode what happens is stored, whole horizons are learnt from, and steps and episodes are counted;
        actions are then always drawn.

        Args:
            n_episodes: how many.
            deterministic_policy: in test mode, whether to take the most probable actions.
            run_envs: where; None for the training environments, which are never tested in.
            test_mode: whether nothing is to be stored or learnt.
            close_envs: whether to close the environments after a test.

        Returns:
            Score of each, the mean over the agents, ``n_episodes`` of them.

        Raises:
            ValueError: if a test has no environments of its own, or these are not as many as in training.
        """
        if test_mode:
            return self.test(n_episodes, deterministic_policy, run_envs, close_envs)
        return self._train_episodes(n_episodes, run_envs)

    def train_epochs(self, n_epochs: int = 1) -> dict[str, float]:
        """Learn from what is stored and forget it; every epoch goes over every step once.

        Returns:
            The last minibatch's metrics; none where nothing is stored.
        """
        self._leave(self.training_envs())
        memory, info = self.memory, {}
        if not memory.units:
            return {}
        memory.prepare(use_advnorm=bool(getattr(self.config, "use_advnorm", True)))
        self.begin_epochs()
        for _ in range(n_epochs):
            order = torch.randperm(memory.units, generator=self.generator).numpy()
            for part in np.array_split(order, min(self.n_minibatch, memory.units)):
                info = self.learn_from(memory.sample(part))
        held = memory.everything()
        self.note_statistics(held["obs"], held["agent_mask"])
        memory.clear()
        return info

    def begin_epochs(self) -> None:
        """Called before the epochs over a horizon, whose advantages and returns are ready."""

    def revive(self, sample: dict[str, Any], part: str) -> Hiddens:
        """Return the recurrent states of 'actor' or 'critic' at the beginning of a sample's sequences."""
        if not self.use_rnn:
            return None
        stored = {key: sample[f"{part} {key}"] for key in self.model_keys}
        return {key: revived({name: v[0] for name, v in parts.items()}) for key, parts in stored.items()}

    def times(self, sample: dict[str, Any]) -> Times:
        """Return where episodes begin in a sample, and who decides."""
        return torch.from_numpy(sample["episode_steps"] == 0), self.flags(sample["agent_mask"])

    def given(self, sample: dict[str, Any], name: str) -> dict[str, Tensor]:
        """Return a sample's field by agent as tensors."""
        return {agent: torch.from_numpy(sample[name][agent]) for agent in self.agent_keys}

    def test(
        self, test_episodes: int, deterministic_policy: bool = True, test_envs: VecMultiAgentEnv | None = None,
        close_envs: bool = True,
    ) -> list[float]:
        """Run episodes to their ends; nothing is stored and no training environment is touched.

        Returns:
            Score of each, the mean over the agents.

        Raises:
            ValueError: if there are no environments to test in, or they are the training environments.
        """
        return run_test(self, test_episodes, test_envs, deterministic=deterministic_policy, close_envs=close_envs)
