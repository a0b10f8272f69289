"""DDPG: deep deterministic policy gradient (Lillicrap et al., 2016)."""

from __future__ import annotations

from typing import Any

import torch
from numpy.typing import NDArray
from torch import nn

from pe_sim.learning.agents.deterministic import DeterministicAgent
from pe_sim.learning.agents.learner import Learner, numbers, rows
from pe_sim.learning.agents.off_policy import OffPolicyAgent
from pe_sim.learning.agents.q_networks import ActionCritic, BoundedActor
from pe_sim.learning.agents.settings import setting, widths


class DDPGLearner(Learner):
    """Settings: learning_rate_actor, learning_rate_critic, gamma, tau."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        for name in ("actor", "critic"):
            self.adam(name, self.policy[name].parameters(), f"learning_rate_{name}")

    def update(
        self, obs: NDArray[Any], actions: NDArray[Any], rewards: NDArray[Any], obs_next: NDArray[Any],
        terminals: NDArray[Any],
    ) -> dict[str, float]:
        """Judge actions by what follows them, then do what is judged better."""
        policy, seen, seen_next = self.policy, rows(obs), rows(obs_next)
        with torch.no_grad():
            following = policy["target_critic"](seen_next, policy["target_actor"](seen_next))
            target = self.target(rewards, terminals, following)
        judged = policy["critic"](seen, numbers(self.scale.down(actions)))
        critic_loss = self.step("critic", (judged - target).square().mean())
        actor_loss = self.step("actor", -policy["critic"](seen, policy["actor"](seen)).mean())
        self.follow(float(setting(self.config, "tau")), "actor", "critic")
        self.iterations += 1
        return {"Qloss": critic_loss, "Ploss": actor_loss, "Qvalue": float(judged.detach().mean())}


class DDPGAgent(DeterministicAgent, OffPolicyAgent):
    """Deep deterministic policy gradient for bounded values."""

    def _build_policy(self) -> nn.ModuleDict:
        self.scale.require_bounded("DDPG")
        sizes, policy = (self.inputs, self.scale.size), nn.ModuleDict()
        for prefix in ("", "target_"):
            policy[f"{prefix}actor"] = BoundedActor(self.generator, widths(self.config, "actor"), *sizes)
            policy[f"{prefix}critic"] = ActionCritic(self.generator, widths(self.config, "critic"), *sizes)
        self.learner = DDPGLearner(policy, self.config, self.scale, self.generator)
        self.learner.follow(1.0, "actor", "critic")
        return policy
