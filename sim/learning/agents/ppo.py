"""PPO for one agent: proximal policy optimisation with a clipped objective (Schulman et al., 2017)."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from numpy.typing import NDArray

from pe_sim.learning.agents.actor_critic import ActorCriticAgent, ActorCriticLearner
from pe_sim.learning.agents.learner import numbers
from pe_sim.learning.agents.settings import setting
from pe_sim.learning.ippo import clipped_objective


class PPOLearner(ActorCriticLearner):
    """Raises the probability of what was better than expected, as long as it is near what it was; and clip_range."""

    def update(
        self, obs: NDArray[Any], actions: NDArray[Any], returns: NDArray[Any], values: NDArray[Any],
        advantages: NDArray[Any], aux_batch: dict[str, NDArray[Any]],
    ) -> dict[str, float]:
        """Learn from a minibatch; ``aux_batch`` holds 'old_logp' and 'drawn', the action before it was scaled."""
        log_prob, entropy, judged = self.evaluated(obs, aux_batch["drawn"])
        ratio = torch.exp(log_prob - numbers(aux_batch["old_logp"]))
        policy_loss = -clipped_objective(ratio, numbers(advantages), float(setting(self.config, "clip_range"))).mean()
        return {**self.improve(policy_loss, judged, returns, entropy), "ratio": float(ratio.mean().detach())}


class PPOAgent(ActorCriticAgent):
    """Proximal policy optimisation."""

    learner_class: ClassVar[type[ActorCriticLearner]] = PPOLearner
