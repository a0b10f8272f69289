"""MADDPG: deterministic actors, judged by critics that see what all agents see and do (Lowe et al., 2017)."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn

from pe_sim.errors import PeError
from pe_sim.learning.agents.marl_explorers import Hiddens
from pe_sim.learning.agents.marl_grouping import Group
from pe_sim.learning.agents.marl_q_agents import mean_square
from pe_sim.learning.agents.off_policy_marl import OffPolicyMARLAgents
from pe_sim.learning.agents.targets import follow


class MADDPGAgents(OffPolicyMARLAgents):
    """Multi-agent deterministic policy gradients, for continuous actions with bounds.

    Further settings: learning_rate_actor, learning_rate_critic, tau (share by which targets follow, default 0.005).
    Networks see actions in units of half the width between their bounds; that of an agent out of play is 0.
    """

    acting_network = "actor"

    def _build_policy(self) -> nn.ModuleDict:
        for agent, space in self.action_space.items():
            if agent not in self.bounds or not self.bounds[agent].space.is_bounded():
                raise PeError(agent, "must have a continuous action with bounds", space, "take QMIX, VDN, IQL or PPO")
        if self.use_rnn:
            raise PeError("config.use_rnn", "is not for MADDPG", cure="take MAPPO, or leave use_rnn out")
        inputs = sum(self.sizes.values()) + sum(self.action_size(agent) for agent in self.agent_keys)
        critics = {g.key: self.network("critic", inputs, len(g.agents), 1.0) for g in self.groups}
        policy = nn.ModuleDict({"actor": self.own_networks("actor", gain=0.01), "critic": nn.ModuleDict(critics)})
        for name in ("actor", "critic"):
            policy[f"target_{name}"] = copy.deepcopy(policy[name])
            for key, net in policy[name].items():  # type: ignore[operator]
                self.optimisers[f"{name} {key}"] = self.optimiser(net.parameters(), f"learning_rate_{name}")
        return policy

    def act(self, group: Group, seen: dict[str, Tensor], name: str = "actor") -> dict[str, Tensor]:
        """Return what agents of a group do, (L, U, A) by agent, in units of half the width between bounds."""
        net: Any = self.policy[name][group.key]  # type: ignore[index]
        return group.split(torch.tanh(net(group.identified(group.rows(seen)))[0]))

    def best(
        self, seen: dict[str, Tensor], available: dict[str, Tensor], hidden: Hiddens, active: dict[str, Tensor] | None
    ) -> tuple[dict[str, Tensor], Hiddens]:
        """Return the actors' actions, (1, E, A) by agent."""
        done = {agent: part for group in self.groups for agent, part in self.act(group, seen).items()}
        return {a: part * self.bounds[a].half + self.bounds[a].middle for a, part in done.items()}, None

    def judged(
        self, group: Group, seen: dict[str, Tensor], done: dict[str, Tensor], mask: dict[str, Tensor], name: str
    ) -> dict[str, Tensor]:
        """Return the values (L, U), by agent of a group, of what all see and do."""
        critic: Any = self.policy[name][group.key]  # type: ignore[index]
        actions = [done[agent] * mask[agent][..., None] for agent in self.agent_keys]
        values = critic(torch.cat([*(seen[agent] for agent in self.agent_keys), *actions], dim=-1))[0]
        return {agent: values[..., i] for i, agent in enumerate(group.agents)}

    def update(self, sample: dict[str, Any]) -> dict[str, float]:
        """Learn from a sample; return each group's losses."""
        seen, seen_next = self.seen(sample["obs"]), self.seen(sample["obs_next"])
        mask, ended, reward = (
            {a: torch.from_numpy(sample[name][a]).float() for a in self.agent_keys}
            for name in ("agent_mask", "terminals", "rewards")
        )
        stays = {a: mask[a] * (1.0 - ended[a]) for a in self.agent_keys}
        done = {}
        for agent, bounds in self.bounds.items():
            taken = torch.from_numpy(sample["actions"][agent])
            done[agent] = (taken.flatten(2) - bounds.middle) / bounds.half
        with torch.no_grad():
            parts = [self.act(group, seen_next, "target_actor") for group in self.groups]
            done_next = {agent: part for one in parts for agent, part in one.items()}
        info: dict[str, float] = {}
        for group in self.groups:
            with torch.no_grad():
                after = group.rows(self.judged(group, seen_next, done_next, stays, "target_critic"))
            weight = group.rows(mask)
            target = group.rows(reward) + self.gamma * (1.0 - group.rows(ended)) * after
            values = group.rows(self.judged(group, seen, done, mask, "critic"))
            info["critic_loss"] = self.step_optimiser(f"critic {group.key}", mean_square(values - target, weight))
            own = self.act(group, seen)
            gain = sum(
                (self.judged(group, seen, {**done, agent: own[agent]}, mask, "critic")[agent] * mask[agent]).sum()
                for agent in group.agents
            )
            info["actor_loss"] = self.step_optimiser(f"actor {group.key}", -gain / weight.sum().clamp(min=1.0))
            info |= {f"{name}_loss/{group.key}": info[f"{name}_loss"] for name in ("critic", "actor")}
        follow(self.policy, float(getattr(self.config, "tau", 0.005)), "actor", "critic")
        return info
