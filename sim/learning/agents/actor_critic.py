"""What on-policy agents with an actor and a critic share: how actions are drawn, scaled and judged."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pe_sim.learning.agents.learner import Learner, numbers, rows
from pe_sim.learning.agents.on_policy import OnPolicyAgent
from pe_sim.learning.agents.settings import setting, widths
from pe_sim.learning.networks import Actor, Critic
from pe_sim.policies.networks import NetworkSpec


class ActorCriticLearner(Learner):
    """Base of learners with one optimiser for actor and critic; settings: learning_rate, vf_coef, ent_coef."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.actor: Any = self.policy["actor"]
        self.critic: Any = self.policy["critic"]
        self.adam("policy", self.policy.parameters(), "learning_rate", eps=1e-5)

    def evaluated(self, obs: NDArray[Any], drawn: NDArray[Any]) -> tuple[Tensor, Tensor, Tensor]:
        """Return log-probabilities and entropies of actions as they were drawn, and values; (R,) each."""
        seen, action = rows(obs), numbers(drawn)
        log_prob, entropy = self.actor.evaluate(seen, action.long() if self.scale.discrete else action)
        return log_prob, entropy, self.critic(seen)[:, 0]

    def improve(self, policy_loss: Tensor, values: Tensor, returns: NDArray[Any], entropy: Tensor) -> dict[str, float]:
        """Step by policy loss + vf_coef * squared error of values - ent_coef * entropy."""
        value_loss = (values - numbers(returns)).square().mean()
        weights = float(setting(self.config, "vf_coef")), float(setting(self.config, "ent_coef"))
        self.step("policy", policy_loss + weights[0] * value_loss - weights[1] * entropy.mean())
        self.iterations += 1
        return {
            "actor_loss": float(policy_loss.detach()), "critic_loss": float(value_loss.detach()),
            "entropy": float(entropy.mean().detach()),
        }


class ActorCriticAgent(OnPolicyAgent):
    """Base of agents whose policy is a softmax over choices, or independent normal distributions of values.

    Further settings: widths of networks, initial_std, learner's.
    """

    learner_class: ClassVar[type[ActorCriticLearner]]

    def _build_policy(self) -> nn.ModuleDict:
        hidden = widths(self.config, "actor")
        actor = Actor(
            self.generator, NetworkSpec(hidden=hidden), self.inputs, self.scale.size, discrete=self.discrete,
            initial_std=float(getattr(self.config, "initial_std", 0.6)),
        )
        critic = Critic(self.generator, widths(self.config, "critic"), self.inputs, 1)
        policy = nn.ModuleDict({"actor": actor, "critic": critic})
        self.learner = self.learner_class(policy, self.config, self.scale, self.generator)
        return policy

    def _evaluate(self, observations: NDArray[Any], deterministic: bool) -> dict[str, Any]:
        seen = rows(observations)
        actor: Any = self.policy["actor"]
        with torch.no_grad():
            out = actor.body(seen)
            if deterministic:
                drawn = out.argmax(-1) if self.discrete else out
                log_pi, _ = actor.evaluate(seen, drawn)
            else:
                drawn, log_pi = actor.sample(seen, self.generator)
            values = self.policy["critic"](seen)[:, 0].numpy()
        self._drawn = drawn.numpy().astype(np.float32)
        return {
            "actions": self.scale.up(drawn.numpy()), "values": values,
            "log_pi": log_pi.numpy() - self.scale.log_stretch,
        }

    def get_aux_info(self, policy_output: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the log-probabilities that the actions were drawn with, and the actions before they were scaled."""
        assert policy_output is not None
        return {"old_logp": policy_output["log_pi"] + self.scale.log_stretch, "drawn": self._drawn}

    def _distributions(self, observations: NDArray[Any]) -> list[Any]:
        """Return the distribution of each row: over choices, or over actions in their units."""
        actor: Any = self.policy["actor"]
        with torch.no_grad():
            out = actor.body(rows(observations))
        if self.discrete:
            return [torch.distributions.Categorical(logits=row) for row in out]
        middle, width = (torch.tensor(x.reshape(-1)) for x in (self.scale.middle, self.scale.half))
        spread = torch.exp(actor.log_std.detach())
        return [torch.distributions.Normal(middle + row * width, spread * width) for row in out]
