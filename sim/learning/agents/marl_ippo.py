"""IPPO: proximal policy optimisation (Schulman et al., 2017) by agents on their own (de Witt et al., 2020)."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from pe_sim.learning.agents.marl_actors import NOW, Hiddens, Times, rows_of
from pe_sim.learning.agents.marl_grouping import Group
from pe_sim.learning.agents.marl_networks import Hidden, SequenceNet
from pe_sim.learning.agents.on_policy_marl import OnPolicyMARLAgents
from pe_sim.learning.ippo import clipped_objective
from pe_sim.learning.normaliser import RunningNormaliser


class IPPOAgents(OnPolicyMARLAgents):
    """Independent proximal policy optimisation.

    Further settings: clip_range, vf_coef, ent_coef, use_value_norm (critics predict returns in units of their running
    deviation), initial_std (of continuous actions, in units of half their range).
    """

    def _build_policy(self) -> nn.ModuleDict:
        config = self.config
        policy = nn.ModuleDict({"actor": self.own_networks("actor", gain=0.01)})
        policy["critic"] = nn.ModuleDict({group.key: self._critic(group) for group in self.groups})
        std = math.log(float(getattr(config, "initial_std", 0.6)))
        spread = {k: nn.Parameter(torch.full((self.action_size(k),), std)) for k in self.model_keys if k in self.bounds}
        policy["log_std"] = nn.ParameterDict(spread)
        self.value_rms = {group.key: RunningNormaliser(1) for group in self.groups}
        for group in self.groups:
            key = group.key
            mine = [*policy["actor"][key].parameters(), *policy["critic"][key].parameters()]  # type: ignore[index]
            self.optimisers[key] = self.optimiser([*mine, *([spread[key]] if key in spread else [])])
        return policy

    def _critic(self, group: Group) -> SequenceNet:
        """Return the critic of agents that share parameters."""
        return self.network("critic", self.seen_size(group), 1, 1.0)

    def _criticise(
        self, group: Group, seen: dict[str, Tensor], state: Tensor | None, hidden: Hidden | None, times: Times
    ) -> tuple[Tensor, Hidden | None]:
        """Return a group's values (L, U * n), in units of its value normaliser, and its critic's recurrent state."""
        critic: Any = self.policy["critic"][group.key]  # type: ignore[index]
        out, after = critic(group.identified(group.rows(seen)), hidden, *rows_of(group, times))
        return out[..., 0], after

    def judge(
        self, seen: dict[str, Tensor], state: Tensor | None, actions: dict[str, Tensor], hidden: Hiddens,
        times: Times = NOW,
    ) -> tuple[dict[str, Tensor], Hiddens]:
        """Return values (L, U) by agent, in units of returns, and the critics' recurrent state."""
        values: dict[str, Tensor] = {}
        after: dict[str, Hidden] = {}
        for group in self.groups:
            rows, memory = self._criticise(group, seen, state, (hidden or {}).get(group.key), times)
            if memory is not None:
                after[group.key] = memory
            scale = self.value_rms[group.key]
            values |= group.split(rows * float(scale.deviation[0]) + float(scale.mean[0]))
        return values, after or None

    def begin_epochs(self) -> None:
        """Take the returns of a horizon into the value normalisers."""
        if getattr(self.config, "use_value_norm", False):
            held = self.memory.targets()
            for group in self.groups:
                for agent in group.agents:
                    self.value_rms[group.key].update(held[agent][:, None])

    def update(self, sample: dict[str, Any]) -> dict[str, float]:
        """Learn from sequences; return metrics, of the last group where they are not named by it."""
        seen, times, masks = self.seen(sample["obs"]), self.times(sample), self.flags(sample["agent_mask"])
        state = torch.from_numpy(sample["state"]).flatten(2) if self.use_global_state else None
        dists, _ = self.act(seen, self.available(sample.get("avail_actions")), self.revive(sample, "actor"), times)
        critics = self.revive(sample, "critic") or {}
        fields = {name: self.given(sample, name) for name in ("actions", "log_pi_old", "advantages", "returns")}
        info: dict[str, float] = {}
        for group in self.groups:
            mask = group.rows(masks)
            if not bool(mask.any()):
                continue  # nobody of the group decided: it has nothing to learn
            log_prob = group.rows({a: dists[a].log_prob(fields["actions"][a]) for a in group.agents})[mask]
            entropy = group.rows({a: dists[a].entropy() for a in group.agents})[mask].mean()
            ratio = torch.exp(log_prob - group.rows(fields["log_pi_old"])[mask])
            advantage = group.rows(fields["advantages"])[mask]
            actor_loss = -clipped_objective(ratio, advantage, float(self.config.clip_range)).mean()
            values, _ = self._criticise(group, seen, state, critics.get(group.key), times)
            scale = self.value_rms[group.key]
            target = (group.rows(fields["returns"])[mask] - float(scale.mean[0])) / float(scale.deviation[0])
            critic_loss = (values[mask] - target).square().mean()
            bonus = float(getattr(self.config, "ent_coef", 0.0)) * entropy
            self.step_optimiser(group.key, actor_loss + float(self.config.vf_coef) * critic_loss - bonus)
            info |= {
                "actor_loss": float(actor_loss.detach()), "critic_loss": float(critic_loss.detach()),
                "entropy": float(entropy.detach()), "ratio": float(ratio.detach().mean()),
                f"actor_loss/{group.key}": float(actor_loss.detach()),
            }
        return info

    def state(self) -> dict[str, Any]:
        """Return everything needed to go on to the same bits, as plain data."""
        return {**super().state(), "value_rms": {key: one.state() for key, one in self.value_rms.items()}}

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        for key, one in self.value_rms.items():
            one.restore(state["value_rms"][key])
