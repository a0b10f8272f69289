"""RLlib: the engagement as a MultiAgentEnv. Works without Ray too, as an environment of the same methods."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pe_sim.engagement import Engagement
from pe_sim.envs.pursuit_env import Infos, Observations, PursuitEnv, Step

if TYPE_CHECKING or importlib.util.find_spec("ray") is None:
    Base = object
else:
    from ray.rllib.env.multi_agent_env import MultiAgentEnv as Base


class RLlibPursuit(Base):
    """Agents act when their decision is due: those in the observations of a step, less those that have ended.

    Args:
        engagement: the engagement, the path of its file, or RLlib's env_config with the key 'engagement' and, if
            wanted, 'seed'.
    """

    def __init__(self, engagement: Engagement | str | Path | dict[str, Any]) -> None:
        super().__init__()
        config: dict[str, Any] = engagement if isinstance(engagement, dict) else {"engagement": engagement}
        self.env = PursuitEnv(config["engagement"], config.get("seed"))
        self.possible_agents = list(self.env.possible_agents)
        self.agents: list[str] = []
        self.observation_spaces = dict(self.env.observation_spaces)
        self.action_spaces = dict(self.env.action_spaces)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, Infos]:
        """Begin the next episode."""
        result = self.env.reset(seed, options)
        self.agents = list(self.env.agents)
        return result

    def step(self, action_dict: dict[str, Any]) -> Step:
        """Run to the next decision or the end."""
        result = self.env.step(action_dict)
        self.agents = list(self.env.agents)
        return result

    def get_observation_space(self, agent_id: str) -> Any:
        """Return the observation space of an agent."""
        return self.observation_spaces[agent_id]

    def get_action_space(self, agent_id: str) -> Any:
        """Return the action space of an agent."""
        return self.action_spaces[agent_id]

    def close(self) -> None:
        """Release the world."""
        self.env.close()
