"""TD3+BC: twin delayed policy gradient that stays near what was done (Fujimoto and Gu, 2021)."""

from __future__ import annotations

from torch import Tensor

from pe_sim.learning.agents.offline import OfflineAgent
from pe_sim.learning.agents.td3 import TD3Learner, TwinCriticsAgent


class TD3BCLearner(TD3Learner):
    """Settings: those of TD3, and alpha: weight of the value against the distance to what was done, default 2.5."""

    def _actor_loss(self, seen: Tensor, taken: Tensor) -> Tensor:
        action = self.policy["actor"](seen)
        value = self.policy["critic_1"](seen, action)
        weight = float(getattr(self.config, "alpha", 2.5)) / value.detach().abs().mean().clamp(min=1e-8)
        loss: Tensor = -weight * value.mean() + (action - taken).square().mean()
        return loss


class TD3BCAgent(TwinCriticsAgent, OfflineAgent):
    """Twin delayed policy gradient with behaviour cloning, for bounded values."""

    title, learner_class = "TD3+BC", TD3BCLearner
