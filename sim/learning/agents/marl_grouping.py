"""Who shares parameters with whom, and the arrays of a group: rows of its agents, environment by environment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import torch
from torch import Tensor

from pe_sim.errors import ContractError


@dataclass(frozen=True)
class Group:
    """Agents that share parameters.

    Attributes:
        key: name of the parameters, a model key: the group's first agent.
        agents: its agents, in order.
    """

    key: str
    agents: tuple[str, ...]

    def rows(self, values: dict[str, Tensor]) -> Tensor:
        """Return the rows of the group's agents, (L, U * n, ...), from those of each agent, (L, U, ...)."""
        return torch.stack([values[agent] for agent in self.agents], dim=2).flatten(1, 2)

    def split(self, rows: Tensor) -> dict[str, Tensor]:
        """Return each agent's rows: the inverse of :meth:`rows`."""
        parts = rows.reshape(rows.shape[0], -1, len(self.agents), *rows.shape[2:])
        return {agent: parts[:, :, i] for i, agent in enumerate(self.agents)}

    def identified(self, rows: Tensor) -> Tensor:
        """Return observations (L, U * n, F) with who it is, one of n, behind them: (L, U * n, F + n); F if alone."""
        n = len(self.agents)
        if n == 1:
            return rows
        who = torch.eye(n).repeat(rows.shape[1] // n, 1).expand(rows.shape[0], -1, -1)
        return torch.cat([rows, who], dim=-1)


def role(agent: str) -> str:
    """Return an agent's role: its name without the number behind it."""
    name, _, number = agent.rpartition("_")
    return name if name and number.isdigit() else agent


def groups(sharing: str | dict[str, list[str]], agents: list[str]) -> list[Group]:
    """Return the groups of agents that share parameters.

    Args:
        sharing: 'none', 'role', 'all', or the agents of each named group.
        agents: all agents, in order.

    Raises:
        ValueError: if it is none of these, or does not hold every agent once.
    """
    if isinstance(sharing, dict):
        named = [agent for members in sharing.values() for agent in members]
        if sorted(named) != sorted(agents):
            raise ValueError(f"parameter_sharing: each of {agents} must be in one group (got {sharing})")
        parts = [tuple(members) for members in sharing.values() if members]
    elif sharing == "none":
        parts = [(agent,) for agent in agents]
    elif sharing == "all":
        parts = [tuple(agents)]
    elif sharing == "role":
        parts = [tuple(a for a in agents if role(a) == name) for name in dict.fromkeys(role(a) for a in agents)]
    else:
        raise ValueError(f"parameter_sharing: 'none', 'role', 'all' or the agents of each group (got {sharing!r})")
    return [Group(members[0], members) for members in parts]


def require_alike(group: Group, observation: dict[str, gym.Space[Any]], action: dict[str, gym.Space[Any]]) -> None:
    """Refuse that agents of unequal observations or actions share parameters.

    Raises:
        ContractError: naming two that are not alike.
    """
    first = group.agents[0]
    for other in group.agents[1:]:
        for kind, spaces in (("observations", observation), ("actions", action)):
            if spaces[other].shape != spaces[first].shape or _choices(spaces[other]) != _choices(spaces[first]):
                raise ContractError(
                    f"{first} and {other}", f"share parameters, but their {kind} are unlike",
                    f"{spaces[first]} and {spaces[other]}", "set parameter_sharing: role, or none",
                )


def _choices(space: gym.Space[Any]) -> int:
    return int(space.n) if isinstance(space, gym.spaces.Discrete) else 0
