"""BC: behaviour cloning, doing what was done (Pomerleau, 1989)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from pe_sim.learning.agents.learner import Learner, numbers, rows
from pe_sim.learning.agents.offline import OfflineAgent
from pe_sim.learning.agents.settings import widths
from pe_sim.learning.networks import Actor
from pe_sim.policies.networks import NetworkSpec


class BCLearner(Learner):
    """Settings: learning_rate."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        actor: Any = self.policy["actor"]
        self.body = actor.body
        self.adam("actor", self.body.parameters(), "learning_rate")

    def update(
        self, obs: NDArray[Any], actions: NDArray[Any], rewards: NDArray[Any], obs_next: NDArray[Any],
        terminals: NDArray[Any],
    ) -> dict[str, float]:
        """Make the choices that were made more probable, or the values nearer to those taken."""
        out = self.body(rows(obs))
        if self.scale.discrete:
            loss = nn.functional.cross_entropy(out, numbers(actions).long())
        else:
            loss = (out - numbers(self.scale.down(actions))).square().mean()
        self.iterations += 1
        return {"Ploss": self.step("actor", loss)}


class BCAgent(OfflineAgent):
    """Behaviour cloning of choices or values."""

    def _build_policy(self) -> nn.ModuleDict:
        actor = Actor(
            self.generator, NetworkSpec(hidden=widths(self.config, "actor")), self.inputs, self.scale.size,
            discrete=self.discrete, initial_std=float(getattr(self.config, "initial_std", 0.1)),
        )
        policy = nn.ModuleDict({"actor": actor})
        self.learner = BCLearner(policy, self.config, self.scale, self.generator)
        return policy

    def _best_actions(self, observations: NDArray[Any]) -> NDArray[Any]:
        actor: Any = self.policy["actor"]
        with torch.no_grad():
            out: NDArray[Any] = actor.body(rows(observations)).numpy()
        return np.argmax(out, axis=-1) if self.discrete else self.scale.clip(self.scale.up(out))
