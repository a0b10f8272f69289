"""The step of four values that environments had before termination and truncation were told apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pe_sim.engagement import Engagement
from pe_sim.envs.episodes import checked_number
from pe_sim.envs.pursuit_env import ALL, Infos, Observations, PursuitEnv


class LegacyPursuit:
    """``reset() -> observations`` and ``step(actions) -> (observations, rewards, dones, infos)``.

    ``dones`` holds '__all__'; an info of an agent cut off by the time limit holds 'TimeLimit.truncated': True, as the
    time-limit wrappers of that age did, so that the value of the last state is not lost.

    Args:
        engagement: the engagement, or the path of its file.
        seed: first seed; default the file's.
    """

    def __init__(self, engagement: Engagement | str | Path, seed: int | None = None) -> None:
        self.env = PursuitEnv(engagement, seed)
        self.observation_spaces = self.env.observation_spaces
        self.action_spaces = self.env.action_spaces

    def seed(self, seed: int) -> list[int]:
        """Begin a new run with this seed at the next reset."""
        self._next = checked_number("seed", seed)
        return [seed]

    _next: int | None = None

    def reset(self) -> Observations:
        """Begin the next episode."""
        observations, _ = self.env.reset(self._next)
        self._next = None
        return observations

    def step(self, actions: dict[str, Any]) -> tuple[Observations, dict[str, float], dict[str, bool], Infos]:
        """Run to the next decision or the end."""
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        dones = {key: terminations[key] or truncations[key] for key in terminations}
        for agent, info in infos.items():
            if truncations[agent]:
                info["TimeLimit.truncated"] = True
        assert ALL in dones
        return observations, rewards, dones, infos

    def close(self) -> None:
        """Release the world."""
        self.env.close()
