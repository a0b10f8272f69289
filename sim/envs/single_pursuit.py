"""The single-agent environment: one agent acts, all others follow the file's policies or given ones."""

from __future__ import annotations

from collections.abc import Callable
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
from pe_sim.policies.base import Policy
from pe_sim.policies.loader import load_policy
from pe_sim.rules import OUTCOMES
from pe_sim.simulation import Simulation
from pe_sim.timing import seconds


class SinglePursuit(gym.Env[NDArray[np.float32], Any]):
    """Gymnasium environment of one agent of an engagement file.

    Args:
        engagement: the engagement, or the path of its file.
        agent: who acts; default the first.
        policies: role -> what makes its policy from the simulation; the file's for the others.
        seed: first seed; default the file's.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 - Gymnasium's own interface

    def __init__(
        self, engagement: Engagement | str | Path, agent: str | None = None, *,
        policies: dict[str, Callable[[Simulation, str], Policy]] | None = None, seed: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        self.render_mode = render_mode
        self.engagement = engagement if isinstance(engagement, Engagement) else load(engagement)
        self.agent = self.engagement.agents[0] if agent is None else agent
        self._role = self.engagement.role_of(self.agent)
        self._index = self.engagement.agents.index(self.agent)
        self._place = self._index - self.engagement.role_ranges[self._role][0]
        self.simulation = Simulation(self.engagement)
        self._observer = Observer(self.simulation, (self._role,))
        self._policies = {
            name: (policies or {}).get(name, _by_the_file)(self.simulation, name)
            for name, role in self.engagement.roles.items()
            if name != self._role or role.count > 1
        }
        role = self.simulation.roles[self._role]
        self._mine = np.zeros((role.last - role.first, 1), bool)
        self._mine[self._place] = True
        self.observation_space: gym.Space[Any] = observation_space(self._observer.size(self._role))
        self.action_space = action_space(role.action)
        self._seed = self.engagement.seed if seed is None else checked_number("seed", seed)
        self._episode = -1
        self._waiting: NDArray[np.float32] | None = None
        self._colleagues: Any = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin the next episode at the agent's first decision.

        Args:
            seed: begins a new run at episode 0 with this seed; None goes on with the next episode.
            options: {'episode': n} begins at episode n of the run.

        Raises:
            EngagementError: if seed or episode is no whole number from 0 to 2^63 - 1, or there is no such option.
        """
        self._seed, self._episode = next_episode((self._seed, self._episode), seed, options)
        super().reset(seed=None if seed is None else self._seed)
        self.simulation.reset(np.asarray([self._seed], np.int64), np.asarray([self._episode], np.int64))
        self._observer.reset(None)
        for policy in self._policies.values():
            policy.reset(self.simulation.roots, None)
        self._run(None)
        return self._observe(), self._info()

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Act, and run to the agent's next decision, its end or that of the episode.

        Raises:
            ActionError: if the episode is over, or the action is of a wrong shape, not finite or no choice there is.
        """
        simulation = self.simulation
        if not self._in_play():
            raise ActionError("step", "the episode has ended", cure="call reset()")
        reward = self._run(checked_values(self.agent, simulation.roles[self._role].action, action))
        over = not bool(simulation.running[0])
        out = not bool(simulation.alive[self._index, 0])
        truncated = over and bool(simulation.truncated[0]) and not out
        return self._observe(), reward, out or (over and not truncated), truncated, self._info()

    def _in_play(self) -> bool:
        return bool(self.simulation.running[0]) and bool(self.simulation.alive[self._index, 0])

    def _run(self, action: NDArray[np.float32] | None) -> float:
        """Submit the agent's action, if any, and run until it decides again; return its reward."""
        simulation, reward = self.simulation, 0.0
        if action is not None:
            self._submit(action)
        while self._in_play():
            if action is not None:
                simulation.advance()
                reward += float(simulation.rewards[self._index, 0])
            simulation.sense()
            if self._in_play() and self._others_decide():
                return reward
            action = action if action is not None else np.zeros(0, np.float32)
        return reward

    def _others_decide(self) -> bool:
        """Let the others decide where they are due; return whether the agent itself is."""
        simulation, mine = self.simulation, False
        for name, role in simulation.roles.items():
            due = simulation.due(name)
            if due is None:
                continue
            others = due if name != self._role else due & ~self._mine
            values = None
            if others.any():
                assert role.perception is not None
                now = simulation.now
                values = self._policies[name].decide(role.perception.view(now), now, others)
            if name == self._role and bool(due[self._place, 0]):
                mine, self._colleagues = True, (values, due)
            elif values is not None:
                simulation.submit(name, values, others)
        return mine

    def _submit(self, action: NDArray[np.float32]) -> None:
        """Submit the agent's action together with those of its role that decided at the same instant."""
        simulation, role = self.simulation, self.simulation.roles[self._role]
        values, due = self._colleagues
        if values is None:
            values = np.zeros((role.action.size, *self._mine.shape), np.float32)
        values = np.where(self._mine, action[:, None, None], values).astype(np.float32)
        simulation.submit(self._role, values, due)
        self._observer.note(self._role, values, due)

    def _observe(self) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self._observer.observe(self._role)[:, self._place, 0]
        return vector.copy()

    def _info(self) -> dict[str, Any]:
        simulation = self.simulation
        return {
            "agent": self.agent,
            "time": seconds(int(simulation.now[0])),
            "episode": self._episode,
            "outcome": OUTCOMES[int(simulation.outcome[0])],
        }

    def close(self) -> None:
        """Release the world."""
        self.simulation.close()


def _by_the_file(simulation: Simulation, role: str) -> Policy:
    return load_policy(simulation.engagement, role, simulation.roles[role].action, batch=1, xp=simulation.xp)
