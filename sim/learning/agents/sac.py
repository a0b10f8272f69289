"""SAC: soft actor-critic with a temperature that is learned (Haarnoja et al., 2018)."""

from __future__ import annotations

import math
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pe_sim.learning.agents.learner import Learner, numbers, rows
from pe_sim.learning.agents.off_policy import OffPolicyAgent
from pe_sim.learning.agents.q_networks import ActionCritic, SquashedGaussianActor
from pe_sim.learning.agents.settings import setting, widths

CRITICS = ("critic_1", "critic_2")


class Temperature(nn.Module):
    """Weight of the entropy, exp(log_alpha)."""

    def __init__(self, alpha: float) -> None:
        super().__init__()
        self.log_alpha = nn.Parameter(torch.tensor(math.log(alpha)))


class SACLearner(Learner):
    """Settings: learning_rate_actor, learning_rate_critic, gamma, tau, use_automatic_entropy_tuning (default yes).

    Also alpha (temperature, or its first value, default 0.2) and target_entropy (default -1 per value).
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        critics = [parameter for name in CRITICS for parameter in self.policy[name].parameters()]
        self.adam("actor", self.policy["actor"].parameters(), "learning_rate_actor")
        self.adam("critic", critics, "learning_rate_critic")
        self.actor: Any = self.policy["actor"]
        self.temperature: Any = self.policy["temperature"]
        if getattr(self.config, "use_automatic_entropy_tuning", True):
            self.adam("temperature", self.temperature.parameters(), "learning_rate_actor")
        wanted = getattr(self.config, "target_entropy", None)
        self.target_entropy = float(-self.scale.size if wanted is None else wanted)
        self.follow(1.0, *CRITICS)

    def update(
        self, obs: NDArray[Any], actions: NDArray[Any], rewards: NDArray[Any], obs_next: NDArray[Any],
        terminals: NDArray[Any],
    ) -> dict[str, float]:
        """Judge actions by what follows and the entropy there; act well and by chance; keep the entropy at its aim."""
        alpha = self.temperature.log_alpha.detach().exp()
        seen, taken = rows(obs), numbers(self.scale.down(actions))
        with torch.no_grad():
            following = self._soft_value(rows(obs_next), alpha)
            target = self.target(rewards, terminals, following)
        judged = [self.policy[name](seen, taken) for name in CRITICS]
        loss = sum(((one - target).square().mean() for one in judged), torch.zeros(()))
        info = {"Qloss": self.step("critic", loss), "Qvalue": float(judged[0].detach().mean())}
        action, log_prob = self.actor.sample(seen, self.generator)
        value = torch.minimum(*(self.policy[name](seen, action) for name in CRITICS))
        info["Ploss"] = self.step("actor", (alpha * log_prob - value).mean())
        if "temperature" in self.optimisers:
            lack = (log_prob.detach() + self.target_entropy).mean()
            self.step("temperature", -self.temperature.log_alpha * lack)
        self.follow(float(setting(self.config, "tau")), *CRITICS)
        self.iterations += 1
        return {**info, "alpha": float(alpha)}

    def _soft_value(self, seen: Tensor, alpha: Tensor) -> Tensor:
        """Return the lower value of an action that is drawn, less alpha times its log-probability, (R,)."""
        action, log_prob = self.actor.sample(seen, self.generator)
        value = torch.minimum(*(self.policy[f"target_{name}"](seen, action) for name in CRITICS))
        soft: Tensor = value - alpha * log_prob
        return soft


class SACAgent(OffPolicyAgent):
    """Soft actor-critic for bounded values: it explores by drawing from its policy, and tests with the means."""

    def _build_policy(self) -> nn.ModuleDict:
        self.scale.require_bounded("SAC")
        sizes = (self.inputs, self.scale.size)
        policy = nn.ModuleDict({"actor": SquashedGaussianActor(self.generator, widths(self.config, "actor"), *sizes)})
        for prefix in ("", "target_"):
            for name in CRITICS:
                policy[prefix + name] = ActionCritic(self.generator, widths(self.config, "critic"), *sizes)
        policy["temperature"] = Temperature(float(getattr(self.config, "alpha", 0.2)))
        self.learner = SACLearner(policy, self.config, self.scale, self.generator)
        return policy

    def _best_actions(self, observations: NDArray[Any]) -> NDArray[Any]:
        actor: Any = self.policy["actor"]
        with torch.no_grad():
            return self.scale.clip(self.scale.up(actor.mode(rows(observations)).numpy()))

    def get_actions(self, observations: NDArray[Any], test_mode: bool = False) -> dict[str, Any]:
        """Return 'actions' for scaled observations: drawn from the policy, in test mode its means."""
        if test_mode:
            return {"actions": self._best_actions(observations)}
        actor: Any = self.policy["actor"]
        with torch.no_grad():
            drawn, _ = actor.sample(rows(observations), self.generator)
        return {"actions": self.scale.clip(self.scale.up(drawn.numpy()))}
