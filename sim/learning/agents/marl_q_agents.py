"""What IQL, VDN and QMIX share: a network of action values for each group, its target, and values of samples."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn

from pe_sim.errors import PeError
from pe_sim.learning.agents.marl_actors import rows_of
from pe_sim.learning.agents.marl_distributions import FORBIDDEN, masked
from pe_sim.learning.agents.marl_explorers import Hiddens
from pe_sim.learning.agents.marl_networks import Hidden
from pe_sim.learning.agents.off_policy_marl import OffPolicyMARLAgents


class QAgents(OffPolicyMARLAgents):
    """Agents that know the values of their choices. Further settings: double_q, sync_frequency (updates)."""

    def _build_policy(self) -> nn.ModuleDict:
        for agent in self.bounds:
            raise PeError(agent, "must have choices", self.action_space[agent], "take MADDPG, or a grid engagement")
        q = self.own_networks("q", gain=1.0)
        return nn.ModuleDict({"q": q, "target_q": copy.deepcopy(q)})

    def best(
        self, seen: dict[str, Tensor], available: dict[str, Tensor], hidden: Hiddens, active: dict[str, Tensor] | None
    ) -> tuple[dict[str, Tensor], Hiddens]:
        """Return the choices of highest value, (1, E) by agent, and the recurrent state after them."""
        out: dict[str, Tensor] = {}
        after: dict[str, Hidden] = {}
        for group in self.groups:
            net: Any = self.policy["q"][group.key]  # type: ignore[index]
            rows = group.identified(group.rows(seen))
            values, memory = net(rows, (hidden or {}).get(group.key), *rows_of(group, (None, active)))
            if memory is not None:
                after[group.key] = memory
            for agent, part in group.split(values).items():
                mask = available.get(agent)
                out[agent] = (part if mask is None else masked(part, mask, FORBIDDEN)).argmax(-1)
        return out, after or None

    def taken_and_next(self, sample: dict[str, Any]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Return the values (L, U), by agent, of what was done, and of the best that could be done next.

        What is best next is decided by the network that learns (double Q, van Hasselt et al., 2016) or with double_q
        off by its target; its value is the target's.
        """
        seen, seen_next = self.seen(sample["obs"]), self.seen(sample["obs_next"])
        times = torch.from_numpy(sample["episode_steps"] == 0), self.flags(sample["agent_mask"])
        available = self.available(sample.get("avail_actions_next"))
        taken: dict[str, Tensor] = {}
        following: dict[str, Tensor] = {}
        for group in self.groups:
            net: Any = self.policy["q"][group.key]  # type: ignore[index]
            target: Any = self.policy["target_q"][group.key]  # type: ignore[index]
            first, when = self.revive(sample, group.key), rows_of(group, times)
            rows, rows_next = (group.identified(group.rows(part)) for part in (seen, seen_next))
            done = group.rows({agent: torch.from_numpy(sample["actions"][agent]).long() for agent in group.agents})
            values, hiddens = net.unroll(rows, first, *when)
            taken |= group.split(values.gather(-1, done[..., None])[..., 0])
            with torch.no_grad():
                kept = target.unroll(rows, first, *when)[1] if self.use_rnn else []
                worth = target.following(rows_next, kept)
                liked = net.following(rows_next, hiddens) if getattr(self.config, "double_q", True) else worth
                if available:
                    liked = masked(liked, group.rows(available), FORBIDDEN)
                following |= group.split(worth.gather(-1, liked.argmax(-1, keepdim=True))[..., 0])
        return taken, following

    def joint(self, sample: dict[str, Any], name: str) -> Tensor:
        """Return a sample's field of all agents, float32 (L, U, N)."""
        return torch.stack([torch.from_numpy(sample[name][a]).float() for a in self.agent_keys], dim=-1)

    def team_reward(self, sample: dict[str, Any]) -> Tensor:
        """Return the mean reward of the agents that decided, (L, U)."""
        mask = self.joint(sample, "agent_mask")
        total: Tensor = (self.joint(sample, "rewards") * mask).sum(-1) / mask.sum(-1).clamp(min=1.0)
        return total


def mean_square(error: Tensor, mask: Tensor) -> Tensor:
    """Return the mean of squared errors where ``mask`` is one; 0 where it is nowhere."""
    return (error.square() * mask).sum() / mask.sum().clamp(min=1.0)
