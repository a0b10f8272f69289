"""A2C for one agent: advantage actor-critic (Mnih et al., 2016), synchronous."""

from __future__ import annotations

from typing import Any, ClassVar

from numpy.typing import NDArray

from pe_sim.learning.agents.actor_critic import ActorCriticAgent, ActorCriticLearner
from pe_sim.learning.agents.learner import numbers


class A2CLearner(ActorCriticLearner):
    """Raises the log-probability of actions in proportion to their advantage."""

    def update(
        self, obs: NDArray[Any], actions: NDArray[Any], returns: NDArray[Any], values: NDArray[Any],
        advantages: NDArray[Any], aux_batch: dict[str, NDArray[Any]],
    ) -> dict[str, float]:
        """Learn from a minibatch; ``aux_batch`` holds 'drawn', the action before it was scaled."""
        log_prob, entropy, judged = self.evaluated(obs, aux_batch["drawn"])
        return self.improve(-(numbers(advantages) * log_prob).mean(), judged, returns, entropy)


class A2CAgent(ActorCriticAgent):
    """Advantage actor-critic. Its gradient holds for what was drawn by the present policy: leave n_epochs at 1."""

    learner_class: ClassVar[type[ActorCriticLearner]] = A2CLearner
