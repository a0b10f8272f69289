"""What a referee needs of the place where episodes are held."""

from __future__ import annotations

from typing import Protocol


class Stage(Protocol):
    """Where an episode takes place: a simulation."""

    def prepare(self, seed: int, episode: int) -> int:
        """Put the world at the episode's start; return the ROS time of engagement time zero, 0 if not known."""

    def go(self) -> int:
        """Let time run; return the ROS time of engagement time zero [ns]."""

    def halt(self) -> None:
        """Let time stand still."""
