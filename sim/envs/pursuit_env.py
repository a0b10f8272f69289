"""The dict multi-agent environment: one engagement, keyed by agent, over the one scheduler.

Time is the engagement's: a call of :meth:`PursuitEnv.step` runs from one instant at which somebody decides to the
next. The dicts it returns hold the agents that decide next, and those whose part has just ended.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from pe_sim.engagement import Engagement, load
from pe_sim.envs.flatten import Flattener
from pe_sim.errors import ActionError
from pe_sim.rules import OUTCOMES
from pe_sim.schema import nearest
from pe_sim.simulation import Simulation
from pe_sim.timing import seconds

Observations = dict[str, NDArray[np.float32]]
Step = tuple[Observations, dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]

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
        agents: agents still in play.
        observation_spaces: agent -> Box, float32.
        action_spaces: agent -> Box or Discrete.
    """

    def __init__(self, engagement: Engagement | str | Path, seed: int | None = None) -> None:
        self.engagement = engagement if isinstance(engagement, Engagement) else load(engagement)
        self.simulation = Simulation(self.engagement)
        self.possible_agents = list(self.engagement.agents)
        self.agents: list[str] = []
        self._seed = self.engagement.seed if seed is None else seed
        self._episode = -1
        self._flat: dict[str, Flattener] = {}
        for name, role in self.simulation.roles.items():
            assert role.perception is not None
            layouts = tuple(role.perception.layouts())
            observe = self.engagement.roles[name].observe
            self._flat[name] = Flattener(observe, layouts, role.action, self.simulation.xp)
        self.observation_spaces = {agent: self._observation_space(agent) for agent in self.possible_agents}
        self.action_spaces = {agent: self._action_space(agent) for agent in self.possible_agents}
        self._due: list[str] = []
        self._reward = np.zeros(len(self.possible_agents))
        self._history: dict[str, list[Any]] = {}

    def _observation_space(self, agent: str) -> gym.spaces.Box:
        size = self._flat[self.engagement.role_of(agent)].size
        return gym.spaces.Box(-np.inf, np.inf, (size,), np.float32)

    def _action_space(self, agent: str) -> gym.spaces.Space[Any]:
        action = self.simulation.roles[self.engagement.role_of(agent)].action
        if action.discrete:
            return gym.spaces.Discrete(action.choices)
        return gym.spaces.Box(action.low, action.high, dtype=np.float32)

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, dict[str, Any]]]:
        """Begin the next episode.

        Args:
            seed: begins a new run at episode 0 with this seed; None goes on with the next episode.
            options: {'episode': n} begins at episode n of the run.

        Returns:
            Observations and infos of the agents that decide first.
        """
        if seed is not None:
            self._seed, self._episode = seed, -1
        self._episode = int((options or {}).get("episode", self._episode + 1))
        self.simulation.reset(np.asarray([self._seed], np.int64), np.asarray([self._episode], np.int64))
        self.agents = list(self.possible_agents)
        self._reward[:] = 0.0
        self._history = {
            name: [np.zeros((role.action.size, role.last - role.first, 1), np.float32)] * self._depth(name)
            for name, role in self.simulation.roles.items()
        }
        self._run_to_decision()
        return self._observe(self._due), {agent: self._info(agent) for agent in self._due}

    def _depth(self, role: str) -> int:
        return self.engagement.roles[role].observe.actions

    def step(self, actions: dict[str, Any]) -> Step:
        """Submit the actions of all agents that are due and run to the next decision or the end.

        Returns:
            Observations, rewards, terminations, truncations, infos, keyed by the agents that decide next and those
            whose part has just ended; terminations and truncations also by '__all__'.

        Raises:
            ActionError: if an action is missing, not due, of a wrong shape, not finite or outside its space.
        """
        if not self.agents:
            raise ActionError("step", "the episode has ended", cure="call reset()")
        self._check_keys(actions)
        for name, role in self.simulation.roles.items():
            names = [f"{name}_{i}" for i in range(role.last - role.first)]
            due = np.asarray([[agent in actions and agent in self._due] for agent in names])
            if not due.any():
                continue
            values = np.zeros((role.action.size, len(names), 1), np.float32)
            for i, agent in enumerate(names):
                if due[i, 0]:
                    values[:, i, 0] = self._values(agent, actions[agent])
            self.simulation.submit(name, values, due)
            if self._depth(name):
                newest = np.where(due, values, self._history[name][0])
                past = self._history[name]
                shifted = [np.where(due, a, b) for a, b in zip(past, past[1:], strict=False)]
                self._history[name] = [newest, *shifted]
        before = set(self.agents)
        self._run_to_decision(advance=True)
        return self._results(before)

    def _check_keys(self, actions: dict[str, Any]) -> None:
        for agent in actions:
            if agent not in self.possible_agents:
                raise ActionError(agent, "no such agent", cure=nearest(agent, self.possible_agents))
            if agent not in self._due:
                raise ActionError(agent, "its decision is not due", cure=f"due now: {', '.join(self._due)}")
        for agent in self._due:
            if agent not in actions:
                raise ActionError(agent, "its decision is due, but it has no action")

    def _values(self, agent: str, action: Any) -> NDArray[np.float32]:
        """Return an action as float32 values, after checking it against the agent's space."""
        spec = self.simulation.roles[self.engagement.role_of(agent)].action
        try:
            values = np.asarray(action, dtype=np.float64).reshape(-1)
        except (TypeError, ValueError) as fault:
            raise ActionError(agent, "an action must be a number or an array of numbers", action) from fault
        if values.size != spec.size:
            raise ActionError(agent, f"needs {spec.size} values ({', '.join(spec.names)})", action)
        if not np.isfinite(values).all():
            raise ActionError(agent, "must be finite", action)
        if spec.discrete and not (values[0] == int(values[0]) and 0 <= values[0] < spec.choices):
            raise ActionError(agent, f"must be one of 0 to {spec.choices - 1}", action)
        return values.astype(np.float32)

    def _run_to_decision(self, advance: bool = False) -> None:
        """Advance until an agent in play is due or the episode ends."""
        simulation = self.simulation
        if not bool(simulation.running[0]):  # over before anybody had anything to decide on
            return
        while True:
            if advance:
                simulation.advance()
                self._reward += simulation.rewards[:, 0]
                if not bool(simulation.running[0]):
                    simulation.sense()
                    self._due = []
                    return
            simulation.sense()
            self._due = []
            for name, role in simulation.roles.items():
                due = simulation.due(name)
                if due is not None:
                    self._due += [f"{name}_{i}" for i in range(role.last - role.first) if due[i, 0]]
            if self._due:
                return
            advance = True

    def _observe(self, agents: list[str]) -> Observations:
        now = self.simulation.now
        vectors = {}
        for name in {self.engagement.role_of(agent) for agent in agents}:
            perception = self.simulation.roles[name].perception
            assert perception is not None
            vectors[name] = self._flat[name].flatten(perception.view(now), self._history[name])
        out = {}
        for agent in agents:
            role, _, number = agent.rpartition("_")
            out[agent] = vectors[role][:, int(number), 0].copy()
        return out

    def _info(self, agent: str) -> dict[str, Any]:
        """Return what a user, never a policy, may want to know."""
        simulation = self.simulation
        i = self.engagement.agents.index(agent)
        return {
            "time": seconds(int(simulation.now[0])),
            "episode": self._episode,
            "outcome": OUTCOMES[int(simulation.outcome[0])],
            "position": tuple(float(c) for c in simulation.state.block[:3, i, 0]),
        }

    def _results(self, before: set[str]) -> Step:
        simulation = self.simulation
        ended = not bool(simulation.running[0])
        truncated = ended and bool(simulation.truncated[0])
        alive = [bool(flag) for flag in simulation.alive[:, 0]]
        out = {agent for agent, living in zip(self.possible_agents, alive, strict=True) if not living}
        shown = [a for a in self.possible_agents if a in before and (ended or a in out or a in self._due)]
        rewards, terminations, truncations = {}, {}, {}
        for agent in shown:
            i = self.possible_agents.index(agent)
            rewards[agent] = float(self._reward[i])
            self._reward[i] = 0.0
            terminations[agent] = agent in out or (ended and not truncated)
            truncations[agent] = truncated and agent not in out
        self.agents = [] if ended else [a for a in self.agents if a not in out]
        infos = {agent: self._info(agent) for agent in shown}
        return (
            self._observe(shown), rewards, EndDict(terminations, ended and not truncated),
            EndDict(truncations, truncated), infos,
        )

    def observation_space(self, agent: str) -> gym.spaces.Box:
        """Return the observation space of an agent."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> gym.spaces.Space[Any]:
        """Return the action space of an agent."""
        return self.action_spaces[agent]

    def observation_names(self, agent: str) -> tuple[str, ...]:
        """Return the name of each place of an agent's observation vector."""
        return self._flat[self.engagement.role_of(agent)].layout.names

    def close(self) -> None:
        """Release the world."""
        self.simulation.close()
