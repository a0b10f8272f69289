"""What agents share whose actor says one action, within bounds: DDPG, TD3, TD3+BC."""

from __future__ import annotations

from typing import Any

import torch
from numpy.typing import NDArray

from pe_sim.learning.agents.agent import Agent
from pe_sim.learning.agents.learner import rows


class DeterministicAgent(Agent):
    """Base of agents with a network 'actor' whose outputs are actions in units of half the width between bounds."""

    def _best_actions(self, observations: NDArray[Any]) -> NDArray[Any]:
        """Return the actions that are thought best, (R, ...), for scaled observations."""
        with torch.no_grad():
            return self.scale.clip(self.scale.up(self.policy["actor"](rows(observations)).numpy()))
