"""MAPPO: IPPO with critics that see what all agents see, or the global state (Yu et al., 2022).

The critic's input is the observations of all agents, one after another, of whatever lengths, or with use_global_state
the global state; never actions. It has one output for each agent that it judges. Actors see their own observation only
and act without any of this.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from pe_sim.learning.agents.marl_actors import Times
from pe_sim.learning.agents.marl_grouping import Group
from pe_sim.learning.agents.marl_ippo import IPPOAgents
from pe_sim.learning.agents.marl_networks import Hidden, SequenceNet


class MAPPOAgents(IPPOAgents):
    """Proximal policy optimisation with centralised critics; settings as :class:`IPPOAgents`."""

    def _critic(self, group: Group) -> SequenceNet:
        """Return the critic of agents that share parameters: one value for each of them."""
        inputs = self.state_size if self.use_global_state else sum(self.sizes.values())
        return self.network("critic", inputs, len(group.agents), 1.0)

    def _criticise(
        self, group: Group, seen: dict[str, Tensor], state: Tensor | None, hidden: Hidden | None, times: Times
    ) -> tuple[Tensor, Hidden | None]:
        """Return a group's values (L, U * n), in units of its value normaliser, and its critic's recurrent state."""
        critic: Any = self.policy["critic"][group.key]  # type: ignore[index]
        whole = state if self.use_global_state else torch.cat([seen[agent] for agent in self.agent_keys], dim=-1)
        assert whole is not None, "the critic sees the global state: give it"
        n = len(group.agents)
        if not self.use_rnn:
            return critic(whole)[0].flatten(1), None
        # A recurrent critic has a state for each agent, as actors have, all fed with the same.
        starts = None if times[0] is None else times[0].repeat_interleave(n, 1)
        out, after = critic(whole.repeat_interleave(n, 1), hidden, starts)
        own = torch.arange(n).repeat(whole.shape[1]).expand(whole.shape[0], -1)
        return out.gather(-1, own[..., None])[..., 0], after
