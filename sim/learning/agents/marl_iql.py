"""IQL: every agent learns the values of its own choices as if the others were part of the world (Tan, 1993)."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from pe_sim.learning.agents.marl_q_agents import QAgents, mean_square


class IQLAgents(QAgents):
    """Independent Q-learning; settings as :class:`~pe_sim.learning.agents.marl_q_agents.QAgents`."""

    def _build_policy(self) -> nn.ModuleDict:
        policy = super()._build_policy()
        for key in self.model_keys:
            self.optimisers[key] = self.optimiser(policy["q"][key].parameters())  # type: ignore[index]
        return policy

    def update(self, sample: dict[str, Any]) -> dict[str, float]:
        """Learn from sequences; return each group's loss."""
        taken, following = self.taken_and_next(sample)
        info: dict[str, float] = {}
        for group in self.groups:
            mask, ended, reward = (
                group.rows({a: torch.from_numpy(sample[name][a]).float() for a in group.agents})
                for name in ("agent_mask", "terminals", "rewards")
            )
            target = reward + self.gamma * (1.0 - ended) * group.rows(following)
            loss = mean_square(group.rows(taken) - target, mask)
            info[f"loss_Q/{group.key}"] = info["loss_Q"] = self.step_optimiser(group.key, loss)
        self.sync()
        return info
