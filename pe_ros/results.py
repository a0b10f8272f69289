"""Results of an engagement: the table a person reads and the JSON a program reads, the same with and without ROS."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from pe_sim.engagement import Engagement
from pe_sim.errors import PeError
from pe_sim.evaluation.rollout import EpisodeResult
from pe_sim.worlds.base import told

NOTED = ("missed_deadlines", "interventions", "stale_actions")
"""Counts that a person should see when they are not zero."""


@dataclass
class Results:
    """What a run came to.

    Attributes:
        engagement: the engagement.
        seed: seed of the run.
        ran: 'env', 'ros/lockstep' or 'ros/realtime'.
        episodes: one result per episode.
        requested: episodes asked for, 0 for no end.
        agents: agent -> rates, decisions, missed deadlines, interventions; empty without ROS.
        recorded: whether all of it is recorded, where that was asked for.
    """

    engagement: Engagement
    seed: int
    ran: str
    episodes: list[EpisodeResult]
    requested: int
    agents: dict[str, dict[str, Any]] = field(default_factory=dict)
    recorded: bool = True

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "engagement": self.engagement.engagement,
            "engagement_sha256": self.engagement.sha256,
            "seed": self.seed,
            "ran": self.ran,
            "episodes": [episode.as_dict() for episode in self.episodes],
            "agents": self.agents,
        }

    def write_json(self, path: Path) -> None:
        """Write the results as JSON.

        Raises:
            PeError: if the file cannot be written.
        """
        try:
            path.write_text(json.dumps(self.as_dict(), indent=2) + "\n", encoding="utf-8")
        except OSError as fault:
            raise PeError(str(path), f"cannot be written: {fault.strerror}") from fault

    def print(self, console: Console) -> None:
        """Print the table."""
        table = Table(title=f"{self.engagement.engagement}  seed {self.seed}  {self.ran}")
        for name in ("#", "outcome", r"time \[s]", r"closest \[m]", "decisions", "reward", "trajectory"):
            whole = name in ("#", "trajectory")
            table.add_column(
                name, justify="left" if name in ("outcome", "trajectory") else "right", overflow="fold", no_wrap=whole,
                min_width=12 if name == "trajectory" else None,
            )
        for one in self.episodes:
            table.add_row(
                str(one.episode), one.outcome, f"{one.duration:.3f}", f"{one.min_distance:.3f}",
                str(sum(one.decisions.values())), self._rewards(one), one.trajectory_sha256[:12],
            )
        console.print(table)
        for one in self.episodes:
            if one.failures:
                console.print(f"#{one.episode}: {told(one.failures)}")
        if self.requested and len(self.episodes) < self.requested:
            console.print(f"ended after {len(self.episodes)} of {self.requested} episodes")
        for agent, summary in self.agents.items():
            notes = [f"{key.replace('_', ' ')} {summary[key]}" for key in NOTED if summary[key]]
            if notes:
                console.print(f"{agent}: {', '.join(notes)}")

    def _rewards(self, one: EpisodeResult) -> str:
        """Return the mean reward of each role."""
        parts = []
        for role, (first, last) in self.engagement.role_ranges.items():
            agents = self.engagement.agents[first:last]
            parts.append(f"{role} {sum(one.rewards[agent] for agent in agents) / len(agents):.2f}")
        return ", ".join(parts)
