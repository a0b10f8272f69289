"""What is kept of multi-agent cores, and what one agent of them needs to fly."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn

from pe_sim.learning.agents.core import Core
from pe_sim.learning.agents.marl_grouping import Group
from pe_sim.learning.agents.marl_vector_env import VecMultiAgentEnv
from pe_sim.learning.networks import plain, tensors
from pe_sim.learning.normaliser import RunningNormaliser
from pe_sim.policies.bundle import Weights


class SavedAgents(Core[VecMultiAgentEnv]):
    """What is kept of multi-agent cores; see :class:`~pe_sim.learning.agents.marl_agents.MARLAgents`."""

    policy: nn.ModuleDict
    optimisers: dict[str, torch.optim.Optimizer]
    groups: list[Group]
    obs_rms: dict[str, RunningNormaliser]
    rng: np.random.Generator
    iterations: int

    named: ClassVar[str] = "agents"

    acting_network = "actor"
    """Which network of the policy acts."""

    hidden: Any = None
    """Recurrent state of the episodes under way."""

    def state(self) -> dict[str, Any]:
        """Return everything needed to go on to the same bits, as plain data."""
        return {
            **super().state(), "optimisers": {name: plain(one.state_dict()) for name, one in self.optimisers.items()},
            "obs_rms": {key: one.state() for key, one in self.obs_rms.items()}, "iterations": self.iterations,
            "rng": self.rng.bit_generator.state, "hidden": plain(self.hidden),
        }

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        if self._goes_on_from(state):
            self.hidden = tensors(state["hidden"])
        for name, one in self.optimisers.items():
            one.load_state_dict(tensors(state["optimisers"][name]))
        for key, statistics in self.obs_rms.items():
            statistics.restore(state["obs_rms"][key])
        self.iterations = int(state["iterations"])
        self.rng.bit_generator.state = state["rng"]

    def export(self, agent: str) -> Weights:
        """Return what one agent needs to act: weights and scaling of observations, as a policy bundle names them.

        Who of a group it is, which shared networks see, has become part of the weights.

        Raises:
            ValueError: if no bundle can hold its network.
        """
        group = next(group for group in self.groups if agent in group.agents)
        net: Any = self.policy[self.acting_network][group.key]  # type: ignore[index]
        weights: Weights = net.weights(group.agents.index(agent), len(group.agents))
        if "log_std" in self.policy and group.key in self.policy["log_std"]:  # type: ignore[operator]
            spread: Any = self.policy["log_std"][group.key]  # type: ignore[index]
            weights["log_std"] = spread.detach().numpy().copy()
        if getattr(self.config, "use_obsnorm", False):
            statistics = self.obs_rms[group.key]
            weights |= {"normalisation.mean": statistics.mean, "normalisation.deviation": statistics.deviation}
        return weights
