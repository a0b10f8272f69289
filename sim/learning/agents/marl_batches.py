"""How observations, masks and actions of many environments get into networks and out of them."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pe_sim.errors import PeError
from pe_sim.learning.agents.marl_distributions import Bounds
from pe_sim.learning.agents.marl_grouping import Group
from pe_sim.learning.agents.marl_vector_env import VecMultiAgentEnv
from pe_sim.learning.normaliser import RunningNormaliser

Actions = dict[str, Any]
Available = Sequence[dict[str, NDArray[Any]] | None]


class JointBatches:
    """Arrays of all agents, (L, U, ...): L steps of U environments or samples, and what networks take and give."""

    config: Namespace
    agent_keys: list[str]
    groups: list[Group]
    use_actions_mask: bool
    observation_space: dict[str, gym.Space[Any]]
    action_space: dict[str, gym.Space[Any]]

    def _measure(self) -> None:
        """Take sizes and units from the spaces.

        Raises:
            PeError: if a space is none that networks here can take.
        """
        spaces = self.observation_space
        for agent in self.agent_keys:
            if not isinstance(spaces[agent], gym.spaces.Box | gym.spaces.Discrete):
                raise PeError(f"observation_space of {agent}", "must be Box or Discrete", spaces[agent])
            space = self.action_space[agent]
            from_zero = isinstance(space, gym.spaces.Discrete) and int(space.start) == 0
            if not (from_zero or isinstance(space, gym.spaces.Box)):
                raise PeError(f"action_space of {agent}", "must be Discrete, from 0 on, or Box", space)
        self.sizes = {agent: int(np.prod(spaces[agent].shape or (1,))) for agent in self.agent_keys}
        self.obs_rms = {group.key: RunningNormaliser(self.sizes[group.key]) for group in self.groups}
        boxes = {agent: s for agent, s in self.action_space.items() if isinstance(s, gym.spaces.Box)}
        self.bounds = {agent: Bounds(space) for agent, space in boxes.items()}
        self.choosing = [agent for agent in self.agent_keys if self.choices(agent)]

    def choices(self, agent: str) -> int:
        """Return the number of an agent's choices; 0 where its action is continuous."""
        space = self.action_space[agent]
        return int(space.n) if isinstance(space, gym.spaces.Discrete) else 0

    def action_size(self, agent: str) -> int:
        """Return the length of an agent's action as networks see it: one place for each choice, or its values."""
        return self.choices(agent) or int(np.prod(self.action_space[agent].shape or (1,)))

    def seen_size(self, group: Group) -> int:
        """Return the length of what a group's network sees: an agent's observation and who of the group it is."""
        return self.sizes[group.key] + (len(group.agents) if len(group.agents) > 1 else 0)

    def column(self, values: Sequence[dict[str, Any]]) -> dict[str, NDArray[Any]]:
        """Return arrays (E, ...) by agent from values by environment and agent."""
        return {agent: np.stack([np.asarray(one[agent]) for one in values]) for agent in self.agent_keys}

    def seen(self, obs: dict[str, NDArray[Any]]) -> dict[str, Tensor]:
        """Return observations (L, U, ...) by agent as networks see them: scaled, float32 (L, U, F)."""
        out = {}
        bound, scale = float(getattr(self.config, "obsnorm_range", 5)), getattr(self.config, "use_obsnorm", False)
        for group in self.groups:
            statistics = self.obs_rms[group.key]
            for agent in group.agents:
                values = np.asarray(obs[agent], np.float32).reshape(*obs[agent].shape[:2], self.sizes[agent])
                if scale:
                    values = np.clip((values - statistics.mean) / statistics.deviation, -bound, bound)
                out[agent] = torch.from_numpy(np.ascontiguousarray(values))
        return out

    def seen_now(self, obs: Sequence[dict[str, Any]]) -> dict[str, Tensor]:
        """Return present observations, by environment and agent, as networks see them: (1, E, F) by agent."""
        return self.seen({agent: values[None] for agent, values in self.column(obs).items()})

    def available(self, masks: dict[str, NDArray[Any]] | None) -> dict[str, Tensor]:
        """Return which choices there are, bool (L, U, choices) by agent; empty where that is not used."""
        if not self.use_actions_mask or masks is None:
            return {}
        return {a: torch.from_numpy(np.asarray(masks[a], np.bool_)) for a in self.choosing if a in masks}

    def available_now(self, masks: Available | None) -> dict[str, Tensor]:
        """Return which choices there are at present, (1, E, choices) by agent, from those by environment and agent."""
        return self.available(None if masks is None else {a: v[None] for a, v in self.available_column(masks).items()})

    def available_column(self, masks: Available) -> dict[str, NDArray[np.bool_]]:
        """Return arrays (E, choices) by agent from choices by environment and agent."""
        return {a: np.stack([np.asarray((one or {})[a], np.bool_) for one in masks]) for a in self.choosing}

    def flags(self, masks: dict[str, NDArray[Any]]) -> dict[str, Tensor]:
        """Return masks (L, U) by agent as tensors, bool."""
        return {agent: torch.from_numpy(np.asarray(values, np.bool_)) for agent, values in masks.items()}

    def flags_now(self, masks: Sequence[dict[str, bool]] | None) -> dict[str, Tensor] | None:
        """Return present masks, by environment and agent, as tensors, bool (1, E) by agent."""
        return None if masks is None else self.flags({a: values[None] for a, values in self.column(masks).items()})

    def by_environment(self, values: dict[str, Tensor]) -> list[Actions]:
        """Return actions (1, E) or (1, E, A) by agent as actions by environment and agent, in the spaces' shapes."""
        arrays = {agent: values[agent][0].numpy() for agent in self.agent_keys}
        shaped = {
            agent: rows.reshape(len(rows), *(self.action_space[agent].shape or ())) for agent, rows in arrays.items()
        }
        return [{agent: shaped[agent][e] for agent in self.agent_keys} for e in range(len(shaped[self.agent_keys[0]]))]

    def to_env(self, actions: Sequence[Actions]) -> list[Actions]:
        """Return actions as the environments take them: continuous ones clipped to their spaces."""
        bounds = self.bounds
        return [{a: bounds[a].clip(x) if a in bounds else int(x) for a, x in one.items()} for one in actions]

    def note_statistics(self, obs: dict[str, NDArray[Any]], mask: dict[str, NDArray[Any]]) -> None:
        """Take observations (..., F) of agents that decided into the running statistics."""
        for group in self.groups:
            for agent in group.agents:
                rows = np.reshape(obs[agent], (-1, self.sizes[agent]))
                self.obs_rms[group.key].update(rows[np.asarray(mask[agent], np.bool_).reshape(-1)])

    def note_present(self, envs: VecMultiAgentEnv) -> None:
        """Take what agents that decide now see into the running statistics."""
        self.note_statistics(self.column(envs.buf_obs), self.column(envs.buf_acting))
