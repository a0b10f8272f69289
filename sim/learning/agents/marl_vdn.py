"""VDN: the team's value is the sum of the values of its agents' choices (Sunehag et al., 2018)."""

from __future__ import annotations

from typing import Any

from torch import nn

from pe_sim.learning.agents.marl_q_agents import QAgents, mean_square


class VDNAgents(QAgents):
    """Value decomposition by a sum; settings as :class:`~pe_sim.learning.agents.marl_q_agents.QAgents`.

    The team's reward is the mean of those of the agents that decided. Agents that are out of play add nothing.
    """

    def _build_policy(self) -> nn.ModuleDict:
        policy = super()._build_policy()
        self.optimisers["team"] = self.optimiser(policy["q"].parameters())
        return policy

    def update(self, sample: dict[str, Any]) -> dict[str, float]:
        """Learn from sequences; return the loss."""
        taken, following = self.taken_and_next(sample)
        mask, ended = self.joint(sample, "agent_mask"), self.joint(sample, "terminals")
        total = sum(taken[agent] * mask[..., i] for i, agent in enumerate(self.agent_keys))
        stays = mask * (1.0 - ended)
        after = sum(following[agent] * stays[..., i] for i, agent in enumerate(self.agent_keys))
        target = self.team_reward(sample) + self.gamma * after
        loss = mean_square(total - target, mask.amax(-1))
        self.step_optimiser("team", loss)
        self.sync()
        return {"loss_Q": float(loss.detach()), "predictQ": float(total.detach().mean())}  # type: ignore[union-attr]
