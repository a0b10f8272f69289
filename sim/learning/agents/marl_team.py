"""An engagement for the agents of some roles only: the others follow the file's policies, or given ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pe_sim.engagement import Engagement
from pe_sim.envs.pursuit_env import ALL, Infos, Observations, PursuitEnv, Step
from pe_sim.errors import EngagementError
from pe_sim.policies.base import Policy
from pe_sim.policies.loader import load_policy
from pe_sim.schema import nearest
from pe_sim.simulation import Simulation


class TeamPursuit:
    """Multi-agent environment in which the agents of some roles act; dicts hold those of them that decide next.

    It is what :class:`~pe_sim.learning.agents.marl_vector_env.DummyVecMultiAgentEnv` trains a team in against scripted
    guidance or frozen bundles.

    Args:
        engagement: the engagement, or the path of its file.
        roles: whose agents act.
        policies: role -> what makes its policy from the simulation; the file's for the others.
        seed: first seed; default the file's.

    Attributes:
        possible_agents: the agents that act, in order.
        observation_spaces, action_spaces: agent -> space.

    Raises:
        EngagementError: if there is no such role.
    """

    def __init__(
        self, engagement: Engagement | str | Path, roles: Sequence[str], *,
        policies: dict[str, Callable[[Simulation, str], Policy]] | None = None, seed: int | None = None,
    ) -> None:
        self.env = PursuitEnv(engagement, seed)
        known = self.env.engagement.roles
        for role in roles:
            if role not in known:
                raise EngagementError(role, "is no role of the engagement", cure=nearest(role, list(known)))
        self._role = {agent: self.env.engagement.role_of(agent) for agent in self.env.possible_agents}
        self.possible_agents = [agent for agent in self.env.possible_agents if self._role[agent] in roles]
        self.observation_spaces = {a: self.env.observation_spaces[a] for a in self.possible_agents}
        self.action_spaces = {a: self.env.action_spaces[a] for a in self.possible_agents}
        others = [role for role in known if role not in roles]
        made = policies or {}
        self._policies = {role: made.get(role, _by_the_file)(self.env.simulation, role) for role in others}

    @property
    def agents(self) -> list[str]:
        """The acting agents that are still in play."""
        return [agent for agent in self.possible_agents if agent in self.env.agents]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observations, Infos]:
        """Begin the next episode; see :meth:`pe_sim.envs.PursuitEnv.reset`."""
        self.env.reset(seed, options)
        for policy in self._policies.values():
            policy.reset(self.env.simulation.roots, None)
        results = self._run({})
        shown = [agent for agent in self.env.due if agent in self.possible_agents]
        return self.env.observe(shown), {**results[4], **{agent: self.env.info(agent) for agent in shown}}

    def step(self, actions: dict[str, Any]) -> Step:
        """Act, and run to the next decision of an acting agent or the end.

        Raises:
            ActionError: as :meth:`pe_sim.envs.PursuitEnv.step`.
        """
        return self._run(actions, begin=True)

    def _run(self, actions: dict[str, Any], *, begin: bool = False) -> Step:
        """Step until an acting agent decides, none is left or the engagement ends; return what concerns them."""
        merged: list[dict[str, Any]] = [{}, {}, {ALL: False}, {ALL: False}, {}]
        while begin or (self.agents and not any(agent in self.possible_agents for agent in self.env.due)):
            begin = False
            parts: tuple[Any, ...] = self.env.step({**actions, **self._scripted()})
            actions = {}
            for kept, part in zip(merged, parts, strict=True):
                kept.update({key: x for key, x in part.items() if key == ALL or key in self.possible_agents})
        observations, rewards, terminations, truncations, infos = merged
        return observations, rewards, terminations, truncations, infos

    def _scripted(self) -> dict[str, Any]:
        """Return the actions of the others that are due."""
        simulation = self.env.simulation
        out: dict[str, Any] = {}
        for name, policy in self._policies.items():
            role = simulation.roles[name]
            names = self.env.possible_agents[role.first : role.last]
            due = np.asarray([[agent in self.env.due] for agent in names])
            if due.any():
                assert role.perception is not None
                values = policy.decide(role.perception.view(simulation.now), simulation.now, due)
                out |= {agent: values[:, i, 0] for i, agent in enumerate(names) if due[i, 0]}
        return out

    def close(self) -> None:
        """Release the world."""
        self.env.close()


def _by_the_file(simulation: Simulation, role: str) -> Policy:
    return load_policy(simulation.engagement, role, simulation.roles[role].action, batch=1, xp=simulation.xp)
