"""DQN: deep Q-learning with a slow copy (Mnih et al., 2015), optionally double (van Hasselt et al., 2016)."""

from __future__ import annotations

from typing import Any

import torch
from numpy.typing import NDArray
from torch import nn

from pe_sim.errors import PeError
from pe_sim.learning.agents.learner import Learner, numbers, rows
from pe_sim.learning.agents.off_policy import OffPolicyAgent
from pe_sim.learning.agents.settings import setting, widths
from pe_sim.learning.networks import Critic


class DQNLearner(Learner):
    """Settings: learning_rate, gamma, sync_frequency (updates between copies), use_double (default no)."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.adam("q", self.policy["q"].parameters(), "learning_rate")

    def update(
        self, obs: NDArray[Any], actions: NDArray[Any], rewards: NDArray[Any], obs_next: NDArray[Any],
        terminals: NDArray[Any],
    ) -> dict[str, float]:
        """Move Q(s, a) towards r + gamma max Q'(s', .), without what follows a terminal state."""
        with torch.no_grad():
            following = self.policy["target_q"](rows(obs_next))
            judge = self.policy["q"](rows(obs_next)) if getattr(self.config, "use_double", False) else following
            best = following.gather(1, judge.argmax(-1, keepdim=True))[:, 0]
            target = self.target(rewards, terminals, best)
        chosen = self.policy["q"](rows(obs)).gather(1, numbers(actions).long()[:, None])[:, 0]
        loss = self.step("q", (chosen - target).square().mean())
        self.iterations += 1
        if self.iterations % int(setting(self.config, "sync_frequency")) == 0:
            self.follow(1.0, "q")
        return {"Qloss": loss, "predictQ": float(chosen.detach().mean())}


class DQNAgent(OffPolicyAgent):
    """Deep Q-learning of choices."""

    def _build_policy(self) -> nn.ModuleDict:
        if not self.discrete:
            raise PeError("action_space", "must be Discrete: DQN learns choices, not values", self.action_space)
        sizes = (widths(self.config, "q"), self.inputs, self.scale.size)
        policy = nn.ModuleDict({name: Critic(self.generator, *sizes) for name in ("q", "target_q")})
        self.learner = DQNLearner(policy, self.config, self.scale, self.generator)
        self.learner.follow(1.0, "q")
        return policy

    def _best_actions(self, observations: NDArray[Any]) -> NDArray[Any]:
        with torch.no_grad():
            return self.policy["q"](rows(observations)).argmax(-1).numpy()  # type: ignore[no-any-return]
