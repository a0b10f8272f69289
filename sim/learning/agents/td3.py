"""TD3: twin delayed deterministic policy gradient (Fujimoto et al., 2018)."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pe_sim.learning.agents.deterministic import DeterministicAgent
from pe_sim.learning.agents.learner import Learner, numbers, rows
from pe_sim.learning.agents.off_policy import OffPolicyAgent
from pe_sim.learning.agents.q_networks import ActionCritic, BoundedActor
from pe_sim.learning.agents.settings import setting, widths

NETWORKS = ("actor", "critic_1", "critic_2")


class TD3Learner(Learner):
    """Settings: learning_rate_actor, learning_rate_critic, gamma, tau, actor_update_delay (default 2).

    Also target_noise (default 0.2) and target_noise_clip (0.5), in parts of half the width between the bounds.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        critics = [*self.policy["critic_1"].parameters(), *self.policy["critic_2"].parameters()]
        self.adam("actor", self.policy["actor"].parameters(), "learning_rate_actor")
        self.adam("critic", critics, "learning_rate_critic")
        self.follow(1.0, *NETWORKS)

    def update(
        self, obs: NDArray[Any], actions: NDArray[Any], rewards: NDArray[Any], obs_next: NDArray[Any],
        terminals: NDArray[Any],
    ) -> dict[str, float]:
        """Judge actions by the lower of two opinions of what follows; the actor learns every few updates."""
        policy, seen, taken = self.policy, rows(obs), numbers(self.scale.down(actions))
        with torch.no_grad():
            target = self.target(rewards, terminals, self._following(obs_next))
        judged = [policy[f"critic_{number}"](seen, taken) for number in (1, 2)]
        loss = sum(((one - target).square().mean() for one in judged), torch.zeros(()))
        info = {"Qloss": self.step("critic", loss), "Qvalue": float(judged[0].detach().mean())}
        self.iterations += 1
        if self.iterations % int(getattr(self.config, "actor_update_delay", 2)) == 0:
            info["Ploss"] = self.step("actor", self._actor_loss(seen, taken))
            self.follow(float(setting(self.config, "tau")), *NETWORKS)
        return info

    def _following(self, obs_next: NDArray[Any]) -> Tensor:
        """Return the lower value, (R,), of what the slow actor does next, with noise that smooths the judgement."""
        seen = rows(obs_next)
        action = self.policy["target_actor"](seen)
        bound = float(getattr(self.config, "target_noise_clip", 0.5))
        noise = torch.randn(action.shape, generator=self.generator) * float(getattr(self.config, "target_noise", 0.2))
        action = (action + noise.clamp(-bound, bound)).clamp(-1.0, 1.0)
        return torch.minimum(*(self.policy[f"target_critic_{number}"](seen, action) for number in (1, 2)))

    def _actor_loss(self, seen: Tensor, taken: Tensor) -> Tensor:
        """Return the actor's loss; ``taken`` are the actions of the batch."""
        del taken
        loss: Tensor = -self.policy["critic_1"](seen, self.policy["actor"](seen)).mean()
        return loss


class TwinCriticsAgent(DeterministicAgent):
    """Base of agents with an actor, two critics, and those that follow them."""

    title: ClassVar[str]
    learner_class: ClassVar[type[TD3Learner]]

    def _build_policy(self) -> nn.ModuleDict:
        self.scale.require_bounded(self.title)
        sizes, policy = (self.inputs, self.scale.size), nn.ModuleDict()
        for prefix in ("", "target_"):
            policy[f"{prefix}actor"] = BoundedActor(self.generator, widths(self.config, "actor"), *sizes)
            for number in (1, 2):
                critic = ActionCritic(self.generator, widths(self.config, "critic"), *sizes)
                policy[f"{prefix}critic_{number}"] = critic
        self.learner = self.learner_class(policy, self.config, self.scale, self.generator)
        return policy


class TD3Agent(TwinCriticsAgent, OffPolicyAgent):
    """Twin delayed deterministic policy gradient for bounded values."""

    title, learner_class = "TD3", TD3Learner
