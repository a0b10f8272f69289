"""The dict multi-agent environment: one engagement, keyed by agent, over the one scheduler.

Time is the engagement's: a call of :meth:`PursuitEnv.step` runs from one instant at which somebody decides to the
next. The dicts it returns hold the agents that decide next, and those whose part has just ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from pe_sim.engagement import Engagement, load
from pe_sim.envs.actions import action_space, checked_values, observation_space
from pe_sim.envs.episodes import checked_number, next_episode
from pe_sim.envs.observer import Observer
from pe_sim.errors import ActionError
from pe_sim.rules import OUTCOMES
from pe_sim.schema import nearest
from pe_sim.simulation import Simulation
from pe_sim.timing import seconds

Observations = dict[str, NDArray[np.float32]]
Infos = dict[str, dict[str, Any]]
Step = tuple[Observations, dict[str, float], dict[str, bool], dict[str, bool], Infos]

ALL = "__all__"
"""Key of 'the whole episode' in terminations and truncations."""


class EndDict(dict[str, bool]):
    """Terminations or truncations: always holds '__all__'."""

    def __init__(self, flags: dict[str, bool], everything: bool) -> None:
        super().__init__(flags)
        self[ALL] = everything


class PursuitEnv:
    """Multi-agent environment of one engagement file.

    Args:
        engagement: the engagement, or the path of its file.
        seed: first seed; default the file's.

    Attributes:
        possible_agents: all agents in order.
        agents: agents still in play; none after the end.
        due: agents whose decision is due.
        observation_spaces: agent -> Box, float32.
        action_spaces: agent -> Box or Discrete.
    """

    def __init__(self, engagement: Engagement | str | Path, seed: int | None = None) -> None:
        self.engagement = engagement if isinstance(engagement, Engagement) else load(engagement)
        self.simulation = Simulation(self.engagement)
        self.observer = Observer(self.simulation)
        self.possible_agents = list(self.engagement.agents)
        self.agents: list[str] = []
        self.due: list[str] = []
        self._seed = self.engagement.seed if seed is None else checked_number("seed", seed)
        self._episode = -1
        self._number = {agent: i for i, agent in enumerate(self.possible_agents)}
        self._role = {agent: self.engagement.role_of(agent) for agent in self.possible_agents}
        self.observation_spaces = {a: observation_space(self.observer.size(r)) for a, r in self._role.items()}
        self.action_spaces = {a: action_space(self.simulation.roles[r].action) for a, r in self._role.items()}
        self._reward = np.zeros(len(self.possible_agents))

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observations, Infos]:
        """Begin the next episode.

        Args:
            seed: begins a new run at episode 0 with this seed; None goes on with the next episode.
            options: {'episode': n} begins at episode n of the run.

        Returns:
            Observations and infos of the agents that decide first.

        Raises:
            EngagementError: if seed or episode is no whole number from 0 to 2^63 - 1, or there is no such option.
        """
        self._seed, self._episode = next_episode((self._seed, self._episode), seed, options)
        self.simulation.reset(np.asarray([self._seed], np.int64), np.asarray([self._episode], np.int64))
        self.observer.reset(None)
        self.agents = list(self.possible_agents)
        self._reward[:] = 0.0
        self._run_to_decision(advance=False)
        return self.observe(self.due), {agent: self.info(agent) for agent in self.due}

    def step(self, actions: dict[str, Any]) -> Step:
        """Submit the actions of all agents that are due and run to the next decision or the end.

        Returns:
            Observations, rewards, terminations, truncations, infos, keyed by the agents that decide next and those
            whose part has just ended; terminations and truncations also by '__all__'.

        Raises:
            ActionError: if an action is missing, not due, of a wrong shape, not finite or outside its space; nothing
                has happened then, and the step can be tried again.
        """
        if not self.agents:
            raise ActionError("step", "the episode has ended", cure="call reset()")
        self._check_keys(actions)
        checked = {a: checked_values(a, self.simulation.roles[self._role[a]].action, actions[a]) for a in self.due}
        for name, role in self.simulation.roles.items():
            names = self.possible_agents[role.first : role.last]
            due = np.asarray([[agent in checked] for agent in names])
            if not due.any():
                continue
            values = np.zeros((role.action.size, len(names), 1), np.float32)
            for i, agent in enumerate(names):
                if agent in checked:
                    values[:, i, 0] = checked[agent]
            self.simulation.submit(name, values, due)
            self.observer.note(name, values, due)
        before = set(self.agents)
        self._run_to_decision(advance=True)
        return self._results(before)

    def _check_keys(self, actions: Any) -> None:
        if not isinstance(actions, Mapping):
            raise ActionError("actions", "must be a mapping of agents to their actions", actions)
        for agent in actions:
            if agent not in self._number:
                raise ActionError(str(agent), "no such agent", cure=nearest(str(agent), self.possible_agents))
            if agent not in self.due:
                raise ActionError(agent, "its decision is not due", cure=f"due now: {', '.join(self.due) or 'nobody'}")
        for agent in self.due:
            if agent not in actions:
                raise ActionError(agent, "its decision is due, but it has no action")

    def _run_to_decision(self, advance: bool) -> None:
        """Advance until an agent in play is due or the episode ends."""
        simulation = self.simulation
        self.due = []
        while bool(simulation.running[0]):
            if advance:
                simulation.advance()
                self._reward += simulation.rewards[:, 0]
            simulation.sense()
            advance = True
            if not bool(simulation.running[0]):
                return
            for name, role in simulation.roles.items():
                due = simulation.due(name)
                if due is not None:
                    self.due += [self.possible_agents[role.first + i] for i in np.flatnonzero(due[:, 0])]
            if self.due:
                return

    def observe(self, agents: list[str]) -> Observations:
        """Return what some agents know at the present instant."""
        vectors = {role: self.observer.observe(role) for role in {self._role[agent] for agent in agents}}
        first = self.engagement.role_ranges
        return {a: vectors[self._role[a]][:, self._number[a] - first[self._role[a]][0], 0].copy() for a in agents}

    def info(self, agent: str) -> dict[str, Any]:
        """Return what a user, never a policy, may want to know.

        Time [s], episode, outcome, position [m; world], and why the agent's motion ended by itself ('': it did not).
        """
        simulation = self.simulation
        return {
            "time": seconds(int(simulation.now[0])),
            "episode": self._episode,
            "outcome": OUTCOMES[int(simulation.outcome[0])],
            "failure": simulation.world.failures(0).get(agent, ""),
            "position": tuple(float(c) for c in simulation.state.block[:3, self._number[agent], 0]),
        }

    def _results(self, before: set[str]) -> Step:
        simulation = self.simulation
        ended = not bool(simulation.running[0])
        truncated = ended and bool(simulation.truncated[0])
        out = {agent for agent, i in self._number.items() if not simulation.alive[i, 0]}
        shown = [a for a in self.possible_agents if a in before and (ended or a in out or a in self.due)]
        rewards, terminations, truncations = {}, {}, {}
        for agent in shown:
            rewards[agent] = self.take_reward(agent)
            terminations[agent] = agent in out or (ended and not truncated)
            truncations[agent] = truncated and agent not in out
        self.agents = [] if ended else [a for a in self.agents if a not in out]
        return (
            self.observe(shown), rewards, EndDict(terminations, ended and not truncated),
            EndDict(truncations, truncated), {agent: self.info(agent) for agent in shown},
        )

    def take_reward(self, agent: str) -> float:
        """Return the rewards of an agent since they were last taken."""
        i = self._number[agent]
        reward = float(self._reward[i])
        self._reward[i] = 0.0
        return reward

    def observation_space(self, agent: str) -> gym.spaces.Box:
        """Return the observation space of an agent."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gym.spaces.Discrete | gym.spaces.Box:
        """Return the action space of an agent."""
        return self.action_spaces[agent]

    def observation_names(self, agent: str) -> tuple[str, ...]:
        """Return the name of each place of an agent's observation vector."""
        return self.observer.layout(self._role[agent]).names

    def close(self) -> None:
        """Release the world."""
        self.simulation.close()
