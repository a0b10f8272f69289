"""TD3: twin delayed deterministic policy gradient (Fujimoto et al., 2018)."""

from __future__ import annotations

from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pe_sim.learning.agents.action_scale import ActionScale
from pe_sim.learning.agents.learner import Learner, numbers, rows
from pe_sim.learning.agents.off_policy import OffPolicyAgent
from pe_sim.learning.agents.q_networks import ActionCritic, BoundedActor
from pe_sim.learning.agents.settings import setting, widths

NETWORKS = ("actor", "critic_1", "critic_2")


def twin_networks(config: Any, generator: torch.Generator, inputs: int, scale: ActionScale) -> nn.ModuleDict:
    """Return an actor, two critics, and those that follow them."""
    policy = nn.ModuleDict()
    for prefix in ("", "target_"):
        policy[f"{prefix}actor"] = BoundedActor(generator, widths(config, "actor"), inputs, scale.size)
        for number in (1, 2):
            critic = ActionCritic(generator, widths(config, "critic"), inputs, scale.size)
            policy[f"{prefix}critic_{number}"] = critic
    return policy


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


class TD3Agent(OffPolicyAgent):
    """Twin delayed deterministic policy gradient for bounded values."""

    def _build_policy(self) -> nn.ModuleDict:
        self.scale.require_bounded("TD3")
        policy = twin_networks(self.config, self.generator, self.inputs, self.scale)
        self.learner = TD3Learner(policy, self.config, self.scale, self.generator)
        return policy

    def _best_actions(self, observations: NDArray[Any]) -> NDArray[Any]:
        with torch.no_grad():
            return self.scale.clip(self.scale.up(self.policy["actor"](rows(observations)).numpy()))
