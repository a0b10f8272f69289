"""QMIX: the team's value rises with that of each agent's choice, as the state decides (Rashid et al., 2018)."""

from __future__ import annotations

import copy
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from pe_sim.learning.agents.marl_q_agents import QAgents, mean_square
from pe_sim.learning.networks import Perceptron


class Mixer(nn.Module):
    """The values of N agents' choices to that of the team, rising in each of them.

    Args:
        generator: draws the weights.
        agents: N.
        state: length of the global state, S.
        width: of the hidden layer.
        hyper: width of the hidden layers of what makes the weights from the state.
    """

    def __init__(self, generator: torch.Generator, agents: int, state: int, width: int, hyper: int) -> None:
        super().__init__()
        self.agents, self.width = agents, width
        self.first = Perceptron(generator, (state, hyper, agents * width), 1.0)
        self.second = Perceptron(generator, (state, hyper, width), 1.0)
        self.first_bias = Perceptron(generator, (state, width), 1.0)
        self.second_bias = Perceptron(generator, (state, hyper, 1), 1.0)

    def forward(self, values: Tensor, state: Tensor) -> Tensor:
        """Return the team's value (L, U) from its agents', (L, U, N), and the state, (L, U, S)."""
        weights = self.first(state).abs().reshape(*values.shape, self.width)
        hidden = functional.elu((values[..., None, :] @ weights)[..., 0, :] + self.first_bias(state))
        total: Tensor = (hidden * self.second(state).abs()).sum(-1) + self.second_bias(state)[..., 0]
        return total


class QMIXAgents(QAgents):
    """Value decomposition by a monotonic network of the global state.

    Further settings: hidden_dim_mixing_net, hidden_dim_hyper_net, and those of
    :class:`~pe_sim.learning.agents.marl_q_agents.QAgents`. The team's reward is the mean of those of the agents that
    decided. Agents that are out of play have value 0.
    """

    needs_state: ClassVar[bool] = True

    def _build_policy(self) -> nn.ModuleDict:
        policy, config = super()._build_policy(), self.config
        policy["mixer"] = Mixer(
            self.generator, self.n_agents, self.state_size, int(getattr(config, "hidden_dim_mixing_net", 32)),
            int(getattr(config, "hidden_dim_hyper_net", 32)),
        )
        policy["target_mixer"] = copy.deepcopy(policy["mixer"])
        self.optimisers["team"] = self.optimiser([*policy["q"].parameters(), *policy["mixer"].parameters()])
        return policy

    def update(self, sample: dict[str, Any]) -> dict[str, float]:
        """Learn from sequences; return the loss."""
        taken, following = self.taken_and_next(sample)
        mask, ended = self.joint(sample, "agent_mask"), self.joint(sample, "terminals")
        state, state_next = (torch.from_numpy(sample[name]).flatten(2) for name in ("state", "state_next"))
        total = self.policy["mixer"](torch.stack([taken[a] for a in self.agent_keys], dim=-1) * mask, state)
        with torch.no_grad():
            after = torch.stack([following[a] for a in self.agent_keys], dim=-1) * mask * (1.0 - ended)
            goes_on = 1.0 - ended.amin(-1)
            target = self.team_reward(sample) + self.gamma * goes_on * self.policy["target_mixer"](after, state_next)
        loss = mean_square(total - target, mask.amax(-1))
        self.step_optimiser("team", loss)
        self.sync()
        return {"loss_Q": float(loss.detach()), "predictQ": float(total.detach().mean())}
