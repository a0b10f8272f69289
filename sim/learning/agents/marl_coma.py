"""COMA: each agent's action is compared with what its others would have been worth (Foerster et al., 2018)."""

from __future__ import annotations

import copy
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from pe_sim.errors import PeError
from pe_sim.learning.agents.marl_actors import NOW, Hiddens, Times
from pe_sim.learning.agents.marl_env import Info
from pe_sim.learning.agents.marl_grouping import Group
from pe_sim.learning.agents.on_policy_marl import OnPolicyMARLAgents


class COMAAgents(OnPolicyMARLAgents):
    """Counterfactual multi-agent policy gradients, for choices.

    The critic sees the global state, the agent's own observation and what the others do, and values each of its
    choices. Further settings: learning_rate_actor, learning_rate_critic, ent_coef (keeps the actors exploring),
    sync_frequency (updates between copies to the target critic, default 100). The team's reward is the mean of those of
    the agents that decided; n_epochs of 1 keeps to the gradient of the policy that acted.
    """

    needs_state: ClassVar[bool] = True
    judges_actions: ClassVar[bool] = True

    def _build_policy(self) -> nn.ModuleDict:
        for agent in self.bounds:
            raise PeError(agent, "must have choices", self.action_space[agent], "take MAPPO, or a grid engagement")
        acts = sum(self.action_size(agent) for agent in self.agent_keys)
        critics = {
            g.key: self.network("critic", self.state_size + self.seen_size(g) + acts, self.choices(g.key), 1.0,
                                recurrent=False)
            for g in self.groups
        }
        policy = nn.ModuleDict({"actor": self.own_networks("actor", gain=0.01), "critic": nn.ModuleDict(critics)})
        policy["target_critic"] = copy.deepcopy(policy["critic"])
        for name in ("actor", "critic"):
            for key, net in policy[name].items():  # type: ignore[operator]
                self.optimisers[f"{name} {key}"] = self.optimiser(net.parameters(), f"learning_rate_{name}")
        return policy

    def choice_values(
        self, group: Group, seen: dict[str, Tensor], state: Tensor, actions: dict[str, Tensor], name: str
    ) -> dict[str, Tensor]:
        """Return the value of each choice, (L, U, choices) by agent of a group, given what the others do."""
        critic: Any = self.policy[name][group.key]  # type: ignore[index]
        done = {a: functional.one_hot(actions[a].long(), self.choices(a)).float() for a in self.agent_keys}
        rows = []
        for agent in group.agents:
            others = [torch.zeros_like(done[a]) if a == agent else done[a] for a in self.agent_keys]
            rows.append(torch.cat([state, *others], dim=-1))
        own = group.identified(group.rows(seen))
        context = torch.stack(rows, dim=2).flatten(1, 2)
        return group.split(critic(torch.cat([context, own], dim=-1))[0])

    def judge(
        self, seen: dict[str, Tensor], state: Tensor | None, actions: dict[str, Tensor], hidden: Hiddens,
        times: Times = NOW,
    ) -> tuple[dict[str, Tensor], Hiddens]:
        """Return the target critic's values (L, U), by agent, of what is done."""
        assert state is not None, "the critic sees the global state: give it"
        values: dict[str, Tensor] = {}
        for group in self.groups:
            each = self.choice_values(group, seen, state, actions, "target_critic")
            values |= {agent: part.gather(-1, actions[agent].long()[..., None])[..., 0] for agent, part in each.items()}
        return values, None

    def paid(self, rewards: list[dict[str, float]], info: list[Info]) -> list[dict[str, float]]:
        """Return the team's reward for each agent, by environment."""
        out = []
        for one, step in zip(rewards, info, strict=True):
            each = [one[agent] for agent, counts in step["agent_mask"].items() if counts]
            out.append(dict.fromkeys(self.agent_keys, float(np.mean(each)) if each else 0.0))
        return out

    def update(self, sample: dict[str, Any]) -> dict[str, float]:
        """Learn from sequences; return metrics of each group."""
        seen, times, masks = self.seen(sample["obs"]), self.times(sample), self.flags(sample["agent_mask"])
        state = torch.from_numpy(sample["state"]).flatten(2)
        dists, _ = self.act(seen, self.available(sample.get("avail_actions")), self.revive(sample, "actor"), times)
        actions, returns = self.given(sample, "actions"), self.given(sample, "returns")
        info: dict[str, float] = {}
        for group in self.groups:
            mask = group.rows(masks)
            if not bool(mask.any()):
                continue  # nobody of the group decided: it has nothing to learn
            each = self.choice_values(group, seen, state, actions, "critic")
            taken = {a: part.gather(-1, actions[a].long()[..., None])[..., 0] for a, part in each.items()}
            error = group.rows(taken)[mask] - group.rows(returns)[mask]
            info["critic_loss"] = self.step_optimiser(f"critic {group.key}", error.square().mean())
            usual = {a: (dists[a].probabilities * each[a]).sum(-1) for a in group.agents}
            advantage = (group.rows(taken) - group.rows(usual))[mask].detach()
            log_prob = group.rows({a: dists[a].log_prob(actions[a]) for a in group.agents})[mask]
            entropy = group.rows({a: dists[a].entropy() for a in group.agents})[mask].mean()
            loss = -(advantage * log_prob).mean() - float(getattr(self.config, "ent_coef", 0.0)) * entropy
            info["actor_loss"] = self.step_optimiser(f"actor {group.key}", loss)
            info["entropy"] = float(entropy.detach())
            info |= {f"{name}/{group.key}": info[name] for name in ("critic_loss", "actor_loss", "entropy")}
        self.sync()
        return info
