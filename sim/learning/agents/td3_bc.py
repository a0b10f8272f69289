"""TD3+BC: twin delayed policy gradient that stays near what was done (Fujimoto and Gu, 2021)."""

from __future__ import annotations

from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pe_sim.learning.agents.learner import rows
from pe_sim.learning.agents.offline import OfflineAgent
from pe_sim.learning.agents.td3 import TD3Learner, twin_networks


class TD3BCLearner(TD3Learner):
    """Settings: those of TD3, and alpha: weight of the value against the distance to what was done, default 2.5."""

    def _actor_loss(self, seen: Tensor, taken: Tensor) -> Tensor:
        action = self.policy["actor"](seen)
        value = self.policy["critic_1"](seen, action)
        weight = float(getattr(self.config, "alpha", 2.5)) / value.detach().abs().mean().clamp(min=1e-8)
        loss: Tensor = -weight * value.mean() + (action - taken).square().mean()
        return loss


class TD3BCAgent(OfflineAgent):
    """Twin delayed policy gradient with behaviour cloning, for bounded values."""

    def _build_policy(self) -> nn.ModuleDict:
        self.scale.require_bounded("TD3+BC")
        policy = twin_networks(self.config, self.generator, self.inputs, self.scale)
        self.learner = TD3BCLearner(policy, self.config, self.scale, self.generator)
        return policy

    def _best_actions(self, observations: NDArray[Any]) -> NDArray[Any]:
        with torch.no_grad():
            return self.scale.clip(self.scale.up(self.policy["actor"](rows(observations)).numpy()))
