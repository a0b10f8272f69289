"""Agents that do what they think best and try out other things in training: by chance, or with noise."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pe_sim.learning.agents.marl_batches import Actions, Available
from pe_sim.learning.agents.marl_env import Observations
from pe_sim.learning.agents.marl_networks import Hidden, reset_item, revived
from pe_sim.learning.agents.marl_training import TrainedAgents
from pe_sim.learning.agents.marl_vector_env import VecMultiAgentEnv
from pe_sim.learning.agents.off_policy_schedules import OffPolicySchedules

Hiddens = dict[str, Hidden] | None


class ExploringActors(OffPolicySchedules, TrainedAgents):
    """Agents with actions thought best and schedules of exploration; recurrent or not."""

    acting_network = "q"

    @abstractmethod
    def best(
        self, seen: dict[str, Tensor], available: dict[str, Tensor], hidden: Hiddens, active: dict[str, Tensor] | None
    ) -> tuple[dict[str, Tensor], Hiddens]:
        """Return the actions thought best, (1, E) or (1, E, A) by agent, and the recurrent state after them.

        Args:
            seen: observations as networks see them, (1, E, F) by agent.
            available: which choices there are, bool (1, E, choices) by agent; of those left out, all.
            hidden: recurrent state before.
            active: who decides, bool (1, E) by agent; None for all.
        """

    @property
    def e_greedy(self) -> float | None:
        """Present probability of a choice at random; None where no agent has choices or it is not configured."""
        return self._scheduled("greedy", "decay_step_greedy") if self.choosing else None

    @property
    def noise_scale(self) -> float | None:
        """Present deviation of the noise on values; None where no agent has values or it is not configured."""
        return self._scheduled("noise", "running_steps") if self.bounds else None

    def exploration(
        self, batch_size: int, pi_actions_dict: list[Actions], avail_actions_dict: Available | None = None
    ) -> list[Actions]:
        """Return actions to explore with, drawn for every environment and agent by itself.

        A choice is replaced by a random one of those available with probability :attr:`e_greedy`. Noise of
        :attr:`noise_scale` times half the width between the bounds is added to values, which stay within the bounds.

        Args:
            batch_size: number of environments, E.
            pi_actions_dict: what is thought best, by environment and agent.
            avail_actions_dict: choices, by environment and agent; used with use_actions_mask.
        """
        out = [dict(one) for one in pi_actions_dict]
        masks = None if avail_actions_dict is None or not self.use_actions_mask else avail_actions_dict
        for agent in self.agent_keys:
            if agent in self.bounds:
                if self.noise_scale is not None:
                    half = self.bounds[agent].half.numpy().reshape(self.action_space[agent].shape)
                    noise = self.rng.standard_normal((batch_size, *half.shape)) * self.noise_scale * half
                    for e in range(batch_size):
                        out[e][agent] = self.bounds[agent].clip(out[e][agent] + noise[e])
            elif self.e_greedy is not None:
                explores = self.rng.random(batch_size) < self.e_greedy
                lots = self.rng.random((batch_size, self.choices(agent)))
                for e in (int(i) for i in np.nonzero(explores)[0]):
                    allowed = None if masks is None else masks[e]
                    out[e][agent] = np.argmax(lots[e] + (0.0 if allowed is None else np.asarray(allowed[agent], float)))
        return out

    def get_actions(
        self, obs_dict: list[Observations], avail_actions_dict: Available | None = None, rnn_hidden: Hiddens = None,
        test_mode: bool = False, **kwargs: Any,
    ) -> dict[str, Any]:
        """Choose actions for every agent of every environment.

        Args:
            obs_dict: observations, by environment and agent.
            avail_actions_dict: choices, by environment and agent; used with use_actions_mask.
            rnn_hidden: recurrent states by model key; None for the beginning of episodes.
            test_mode: whether to take the actions thought best, without exploration.
            kwargs: 'agent_mask', who decides, by environment and agent; the recurrent states of others stay.

        Returns:
            'hidden_state', by model key, None without recurrent networks, and 'actions', by environment and agent.
        """
        seen, active = self.seen_now(obs_dict), self.flags_now(kwargs.get("agent_mask"))
        with torch.no_grad():
            actions, after = self.best(seen, self.available_now(avail_actions_dict), rnn_hidden, active)
        chosen = self.by_environment(actions)
        if not test_mode:
            chosen = self.exploration(len(obs_dict), chosen, avail_actions_dict)
        return {"hidden_state": after, "actions": chosen}

    def init_rnn_hidden(self, n_envs: int) -> Hiddens:
        """Return recurrent states at the beginning of episodes, by model key; None without.

        They hold n_envs * n rows for a group of n agents, environment by environment.
        """
        if not self.use_rnn:
            return None
        nets: Any = self.policy[self.acting_network]
        return {group.key: nets[group.key].begin(n_envs * len(group.agents)) for group in self.groups}

    def init_hidden_item(self, i_env: int, rnn_hidden: Hiddens = None) -> Hiddens:
        """Return recurrent states with those of environment ``i_env`` as at the beginning of an episode.

        Raises:
            ValueError: without recurrent networks.
        """
        if not self.use_rnn or rnn_hidden is None:
            raise ValueError("there is no recurrent state to reset: set use_rnn")
        group = self.groups[0]
        return reset_item(rnn_hidden, i_env, rnn_hidden[group.key][0].shape[1] // len(group.agents))

    def first_hidden(self, n_envs: int) -> Any:
        """Return the recurrent state at the beginning of ``n_envs`` episodes; None without."""
        return self.init_rnn_hidden(n_envs)

    def reset_hidden(self, i_env: int, hidden: Any) -> Any:
        """Return the recurrent state with that of one environment as at the beginning; None without."""
        return None if hidden is None else self.init_hidden_item(i_env, hidden)

    def revive(self, sample: dict[str, Any], key: str) -> Hidden | None:
        """Return the recurrent state of a group at the beginning of a sample's sequences."""
        if not self.use_rnn:
            return None
        return revived({name: values[0] for name, values in sample[f"hidden {key}"].items()})

    def test_actions(self, envs: VecMultiAgentEnv, hidden: Any, *, deterministic: bool) -> tuple[dict[str, Any], Any]:
        """Return what :meth:`get_actions` says of the present in test mode, and the recurrent state after it."""
        out = self.get_actions(envs.buf_obs, envs.buf_avail_actions, hidden, test_mode=True, agent_mask=envs.buf_acting)
        return out, out["hidden_state"]
