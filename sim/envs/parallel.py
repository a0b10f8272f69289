"""PettingZoo: the engagement as a parallel environment. Needs the library ``pettingzoo``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pettingzoo import ParallelEnv

from pe_sim.engagement import Engagement
from pe_sim.envs.pursuit_env import Infos, Observations, PursuitEnv


class ParallelPursuit(ParallelEnv):  # type: ignore[misc]
    """Every agent in play gets an observation and gives an action at every step.

    A step ends where somebody decides next. The action of an agent whose decision is not due then is not used;
    ``infos[agent]["due"]`` tells. Rewards are those since the agent's last step.

    Args:
        engagement: the engagement, or the path of its file.
        seed: first seed; default the file's.
    """

    metadata = {"name": "pe_ros_pursuit_v0", "is_parallelizable": True}  # noqa: RUF012 - PettingZoo's own interface

    def __init__(self, engagement: Engagement | str | Path, seed: int | None = None) -> None:
        self.env = PursuitEnv(engagement, seed)
        self.possible_agents = list(self.env.possible_agents)
        self.agents: list[str] = []
        self.observation_spaces = dict(self.env.observation_spaces)
        self.action_spaces = dict(self.env.action_spaces)
        self.render_mode = None

    def observation_space(self, agent: str) -> Any:
        """Return the observation space of an agent."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        """Return the action space of an agent."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Observations, Infos]:
        """Begin the next episode; see :meth:`pe_sim.envs.PursuitEnv.reset`."""
        self.env.reset(seed, options)
        self.agents = list(self.env.agents)
        return self.env.observe(self.agents), self._infos(self.agents)

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[Observations, dict[str, float], dict[str, bool], dict[str, bool], Infos]:
        """Run to the next decision or the end.

        Raises:
            ActionError: as :meth:`pe_sim.envs.PursuitEnv.step`, of agents that are due.
        """
        before = self.agents
        due = set(self.env.due)
        chosen = {agent: action for agent, action in actions.items() if agent in due or agent not in before}
        _, rewards, terminations, truncations, _ = self.env.step(chosen)
        self.agents = list(self.env.agents)
        return (
            self.env.observe(before),
            {agent: rewards[agent] if agent in rewards else self.env.take_reward(agent) for agent in before},
            {agent: terminations.get(agent, False) for agent in before},
            {agent: truncations.get(agent, False) for agent in before},
            self._infos(before),
        )

    def _infos(self, agents: list[str]) -> Infos:
        return {agent: {**self.env.info(agent), "due": agent in self.env.due} for agent in agents}

    def close(self) -> None:
        """Release the world."""
        self.env.close()
