"""What is known of an episode: what the referee judges and its state message shows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from pe_sim.rules import OUTCOMES
from pe_sim.timing import seconds
from pe_sim.worlds.base import told


@dataclass
class EpisodeView:
    """What the state message shows of an episode.

    Attributes:
        elapsed: engagement time [ns].
        alive: per agent.
        rewards: per agent, summed.
        distances: pursuer to evader, row by row [m].
        outcome: index into the outcomes.
        sha256: trajectory hash, at the end.
        ticks: world ticks.
        min_distance: least distance between a pursuer and an evader so far [m].
        decisions: agent -> commands received.
        failures: agent -> why its motion ended by itself.
    """

    elapsed: int = 0
    alive: list[bool] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    distances: list[float] = field(default_factory=list)
    outcome: int = 0
    sha256: str = ""
    ticks: int = 0
    min_distance: float = float("inf")
    decisions: dict[str, int] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    @classmethod
    def begin(cls, agents: tuple[str, ...]) -> EpisodeView:
        """Return the view of an episode that begins."""
        count = len(agents)
        return cls(alive=[True] * count, rewards=[0.0] * count, decisions=dict.fromkeys(agents, 0))

    def take(self, elapsed: int, alive: NDArray[Any], rewards: NDArray[Any], distances: Any, outcome: Any) -> None:
        """Take what the rules say at an instant.

        Args:
            elapsed: engagement time [ns].
            alive: (agents, 1).
            rewards: since the last instant, (agents, 1).
            distances: pursuer to evader, (pursuers, evaders, 1) [m].
            outcome: index into the outcomes, (1,).
        """
        self.elapsed = elapsed
        self.alive = alive[:, 0].tolist()
        self.rewards = [a + b for a, b in zip(self.rewards, rewards[:, 0].tolist(), strict=True)]
        self.measure(distances)
        self.outcome = int(outcome[0])

    def measure(self, distances: Any) -> None:
        """Take distances, pursuer to evader, (pursuers, evaders, 1) [m]: those of the start, too, may be the least."""
        self.distances = distances.ravel().tolist()
        self.min_distance = min(self.min_distance, *self.distances)

    def summary(self) -> str:
        """Return how it ended, for the log."""
        nearest = f", nearest {self.min_distance:.2f} m" if self.distances else ""
        ended = f"; {told(self.failures)}" if self.failures else ""
        return f"{OUTCOMES[self.outcome]} after {seconds(self.elapsed):.2f} s{nearest}{ended}"
