"""Stochastic actors and their critics: actions with log-probabilities and values, recurrent or not."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pe_sim.learning.agents.marl_batches import Available
from pe_sim.learning.agents.marl_distributions import MaskedChoices, ScaledNormal
from pe_sim.learning.agents.marl_env import Flags, Observations
from pe_sim.learning.agents.marl_grouping import Group
from pe_sim.learning.agents.marl_networks import Hidden, item, reset_item
from pe_sim.learning.agents.marl_training import TrainedAgents
from pe_sim.learning.agents.marl_vector_env import VecMultiAgentEnv

Hiddens = dict[str, Hidden] | None
Times = tuple[Tensor | None, dict[str, Tensor] | None]
"""Where episodes begin, bool (L, U), and who decides, bool (L, U) by agent."""

NOW: Times = (None, None)


class StochasticActors(TrainedAgents):
    """Agents that draw their actions; a critic judges them in training only."""

    judges_actions: ClassVar[bool] = False
    """Whether the critic looks at actions."""

    @abstractmethod
    def judge(
        self, seen: dict[str, Tensor], state: Tensor | None, actions: dict[str, Tensor], hidden: Hiddens,
        times: Times = NOW,
    ) -> tuple[dict[str, Tensor], Hiddens]:
        """Return values (L, U) by agent, in units of returns, and the critics' recurrent state.

        Args:
            seen: observations as networks see them, (L, U, F) by agent.
            state: global state, (L, U, S), where it is used.
            actions: what the agents do, (L, U) or (L, U, A); only some critics look at it.
            hidden: the critics' recurrent state.
            times: where episodes begin and who decides.
        """

    def act(
        self, seen: dict[str, Tensor], available: dict[str, Tensor], hidden: Hiddens, times: Times = NOW
    ) -> tuple[dict[str, Any], Hiddens]:
        """Return each agent's distribution over its actions, and the actors' recurrent state; see :meth:`judge`."""
        out: dict[str, Any] = {}
        after: dict[str, Hidden] = {}
        for group in self.groups:
            actor: Any = self.policy["actor"][group.key]  # type: ignore[index]
            rows = group.identified(group.rows(seen))
            logits, memory = actor(rows, (hidden or {}).get(group.key), *rows_of(group, times))
            if memory is not None:
                after[group.key] = memory
            for agent, part in group.split(logits).items():
                out[agent] = self.distribution(group, agent, part, available.get(agent))
        return out, after or None

    def distribution(self, group: Group, agent: str, out: Tensor, available: Tensor | None) -> Any:
        """Return the distribution that an actor's output (L, U, K) stands for."""
        if self.choices(agent):
            return MaskedChoices(out, available)
        return ScaledNormal(out, self.policy["log_std"][group.key], self.bounds[agent])  # type: ignore[index]

    def get_actions(  # noqa: PLR0917 - XuanCe's signature
        self, obs_dict: list[Observations], state: NDArray[Any] | None = None,
        avail_actions_dict: Available | None = None, rnn_hidden_actor: Hiddens = None,
        rnn_hidden_critic: Hiddens = None, test_mode: bool = False, deterministic: bool = False, **kwargs: Any,
    ) -> dict[str, Any]:
        """Choose actions for every agent of every environment.

        Args:
            obs_dict: observations, by environment and agent.
            state: global states, (n_envs, S), where the critic sees them.
            avail_actions_dict: choices, by environment and agent; used with use_actions_mask.
            rnn_hidden_actor: recurrent states by model key; None for the beginning of episodes.
            rnn_hidden_critic: likewise.
            test_mode: whether critics stay out of it.
            deterministic: whether to take the most probable actions.
            kwargs: 'agent_mask', who decides, by environment and agent; the recurrent states of others stay.

        Returns:
            'rnn_hidden_actor' and 'rnn_hidden_critic'; 'actions', by environment and agent; 'log_pi' and 'values',
            (n_envs,) by agent. 'rnn_hidden_critic', 'log_pi' and 'values' are empty in test mode.
        """
        seen, times = self.seen_now(obs_dict), (None, self.flags_now(kwargs.get("agent_mask")))
        with torch.no_grad():
            dists, hidden_actor = self.act(seen, self.available_now(avail_actions_dict), rnn_hidden_actor, times)
            drawn = {a: dist.mode() if deterministic else dist.sample(self.generator) for a, dist in dists.items()}
            out: dict[str, Any] = {
                "rnn_hidden_actor": hidden_actor, "rnn_hidden_critic": {}, "actions": self.by_environment(drawn),
                "log_pi": {}, "values": {},
            }
            if not test_mode:
                values, out["rnn_hidden_critic"] = self.judge(seen, _now(state), drawn, rnn_hidden_critic, times)
                out["log_pi"] = {a: dists[a].log_prob(drawn[a])[0].numpy() for a in self.agent_keys}
                out["values"] = {a: values[a][0].numpy() for a in self.agent_keys}
        return out

    def next_values(
        self, obs: Sequence[Observations], state: NDArray[Any] | None, hidden: tuple[Hiddens, Hiddens],
        available: Available | None = None,
    ) -> tuple[Hiddens, dict[str, NDArray[Any]]]:
        """Return the critics' recurrent state and their values (E,), by agent, of what followed a step."""
        seen = self.seen_now(obs)
        with torch.no_grad():
            drawn: dict[str, Tensor] = {}
            if self.judges_actions:
                dists, _ = self.act(seen, self.available_now(available), hidden[0])
                drawn = {agent: dist.sample(self.generator) for agent, dist in dists.items()}
            values, after = self.judge(seen, _now(state), drawn, hidden[1])
        return after, {agent: values[agent][0].numpy() for agent in self.agent_keys}

    def values_next(
        self, i_env: int, obs_dict: Observations, state: NDArray[Any] | None = None, rnn_hidden_critic: Hiddens = None
    ) -> tuple[Hiddens, dict[str, float]]:
        """Return the critics' recurrent state and value, by agent, of what followed a step in one environment.

        Args:
            i_env: the environment.
            obs_dict: what the agents see there.
            state: the global state there, (S,).
            rnn_hidden_critic: recurrent states of all environments after the step.
        """
        mine: list[Hiddens] = [None, None]
        if rnn_hidden_critic is not None:
            mine = [None if h is None else item(h, i_env, self.n_envs) for h in (self.hidden[0], rnn_hidden_critic)]
        whole = None if state is None else np.asarray(state)[None]
        after, values = self.next_values([obs_dict], whole, (mine[0], mine[1]))
        return after, {agent: float(values[agent][0]) for agent in self.agent_keys}

    def get_terminated_values(
        self, observations_next: Sequence[Observations], rewards: Any = None, terminals: Sequence[Flags] | None = None,
        state: NDArray[Any] | None = None, **kwargs: Any,
    ) -> list[dict[str, float]]:
        """Return what follows a step, by environment and agent: 0 where the game has ended, else the critic's value.

        Args:
            observations_next: what the agents saw last, by environment and agent.
            rewards: not used.
            terminals: for whom the game has ended, by environment and agent; None for nobody.
            state: the global states then, (E, S).
            kwargs: 'rnn_hidden', recurrent states after the step, and 'avail_actions'.
        """
        del rewards
        hidden = kwargs.get("rnn_hidden") or (None, None)
        _, values = self.next_values(observations_next, state, hidden, kwargs.get("avail_actions"))
        return [
            {a: 0.0 if terminals is not None and terminals[e][a] else float(values[a][e]) for a in self.agent_keys}
            for e in range(len(observations_next))
        ]

    def init_rnn_hidden(self, n_envs: int) -> tuple[Hiddens, Hiddens]:
        """Return recurrent states of actors and critics at the beginning of episodes, by model key; None without.

        They hold n_envs * n rows for a group of n agents, environment by environment.
        """
        if not self.use_rnn:
            return None, None
        first: list[dict[str, Hidden]] = [{}, {}]
        for group in self.groups:
            for states, part in zip(first, ("actor", "critic"), strict=True):
                net: Any = self.policy[part][group.key]  # type: ignore[index]
                if net.unit is not None:
                    states[group.key] = net.begin(n_envs * len(group.agents))
        return first[0], first[1]

    def init_hidden_item(
        self, i_env: int, rnn_hidden_actor: Hiddens = None, rnn_hidden_critic: Hiddens = None
    ) -> tuple[Hiddens, Hiddens]:
        """Return recurrent states with those of environment ``i_env`` as at the beginning of an episode.

        Raises:
            ValueError: without recurrent networks.
        """
        if not self.use_rnn or rnn_hidden_actor is None:
            raise ValueError("there is no recurrent state to reset: set use_rnn")
        group = self.groups[0]
        n_envs = rnn_hidden_actor[group.key][0].shape[1] // len(group.agents)
        critic = None if not rnn_hidden_critic else reset_item(rnn_hidden_critic, i_env, n_envs)
        return reset_item(rnn_hidden_actor, i_env, n_envs), critic

    def first_hidden(self, n_envs: int) -> Any:
        """Return the actors' recurrent state at the beginning of ``n_envs`` episodes; None without."""
        return self.init_rnn_hidden(n_envs)[0]

    def reset_hidden(self, i_env: int, hidden: Any) -> Any:
        """Return the actors' recurrent state with that of one environment as at the beginning; None without."""
        return None if hidden is None else self.init_hidden_item(i_env, hidden)[0]

    def test_actions(self, envs: VecMultiAgentEnv, hidden: Any, *, deterministic: bool) -> tuple[dict[str, Any], Any]:
        """Return what :meth:`get_actions` says of the present in test mode, and the recurrent state after it."""
        out = self.get_actions(
            envs.buf_obs, None, envs.buf_avail_actions, hidden, None, True, deterministic,  # noqa: FBT003
            agent_mask=envs.buf_acting,
        )
        return out, out["rnn_hidden_actor"]


def rows_of(group: Group, times: Times) -> tuple[Tensor | None, Tensor | None]:
    """Return where episodes begin and who decides for a group's rows, bool (L, U * n)."""
    starts, active = times
    return (
        None if starts is None else starts.repeat_interleave(len(group.agents), 1),
        None if active is None else group.rows(active),
    )


def _now(state: NDArray[Any] | None) -> Tensor | None:
    """Return present global states (E, S) as a tensor (1, E, S)."""
    return None if state is None else torch.tensor(np.asarray(state, np.float32)).flatten(1)[None]
