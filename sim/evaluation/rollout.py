"""Rollouts: run episodes of an engagement file with its policies, without ROS."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from pe_sim.engagement import Engagement
from pe_sim.policies.base import Policy
from pe_sim.policies.loader import load_policy
from pe_sim.rules import OUTCOMES
from pe_sim.simulation import Simulation
from pe_sim.timing import seconds
from pe_sim.trajectory import TrajectoryHash


@dataclass(frozen=True)
class EpisodeResult:
    """What one episode came to.

    Attributes:
        episode: its number.
        seed: seed of the run.
        outcome: name of the outcome.
        duration: engagement time [s].
        ticks: world ticks.
        rewards: agent -> sum of its rewards.
        min_distance: least distance between a pursuer and an evader at any tick [m].
        decisions: agent -> number of decisions.
        trajectory_sha256: hash over all true states and applied actions.
        failures: agent -> why its motion ended by itself: crash, ground_contact, overstress, ...
    """

    episode: int
    seed: int
    outcome: str
    duration: float
    ticks: int
    rewards: dict[str, float]
    min_distance: float
    decisions: dict[str, int]
    trajectory_sha256: str
    failures: dict[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self)


def load_policies(simulation: Simulation) -> dict[str, Policy]:
    """Return the policy of every role of a simulation, as its engagement file says."""
    return {
        name: load_policy(simulation.engagement, name, role.action, batch=simulation.batch, xp=simulation.xp)
        for name, role in simulation.roles.items()
    }


def decide(simulation: Simulation, policies: dict[str, Policy]) -> dict[str, Any]:
    """Let every policy whose decision is due decide and submit; return role -> who decided, bool (n, B)."""
    now = simulation.now
    decided = {}
    for name, policy in policies.items():
        due = simulation.due(name)
        if due is None:
            continue
        perception = simulation.roles[name].perception
        assert perception is not None
        simulation.submit(name, policy.decide(perception.view(now), now, due), due)
        decided[name] = due
    return decided


class Rollout:
    """Runs a batch of episodes with given policies to their ends.

    Args:
        engagement: the engagement.
        batch: how many episodes at once.
        policies: role -> policy for this batch; default the file's.
    """

    def __init__(self, engagement: Engagement, batch: int = 1, policies: dict[str, Policy] | None = None) -> None:
        self.engagement = engagement
        self.simulation = Simulation(engagement, batch)
        self.policies = policies or load_policies(self.simulation)

    def run(self, seeds: list[int], episodes: list[int]) -> list[EpisodeResult]:
        """Run one episode per row of the batch, from reset to outcome, and return the results in order."""
        simulation, batch = self.simulation, self.simulation.batch
        simulation.reset(np.asarray(seeds, dtype=np.int64), np.asarray(episodes, dtype=np.int64))
        for policy in self.policies.values():
            policy.reset(simulation.roots, None)
        hashes = [TrajectoryHash(row) for row in range(batch)]
        rewards = np.zeros((len(self.engagement.agents), batch))
        decisions = np.zeros((len(self.engagement.agents), batch), dtype=np.int64)
        closest = np.asarray(simulation.distances).min(axis=(0, 1))
        while bool(simulation.running.any()):
            running = np.asarray(simulation.running)
            simulation.sense()
            for name, due in decide(simulation, self.policies).items():
                role = simulation.roles[name]
                decisions[role.first : role.last] += np.asarray(due)
            commands = simulation.commands()
            for row in np.flatnonzero(running):
                hashes[row].state(simulation)
                hashes[row].commands(commands)
            simulation.advance(commands)
            rewards += np.asarray(simulation.rewards)
            distance = np.asarray(simulation.distances).min(axis=(0, 1))
            closest = np.where(running, np.minimum(closest, distance), closest)
        return [self._result(row, hashes[row], rewards, decisions, closest) for row in range(batch)]

    def _result(
        self, row: int, sha: TrajectoryHash, rewards: Any, decisions: Any, closest: Any
    ) -> EpisodeResult:
        simulation, agents = self.simulation, self.engagement.agents
        sha.state(simulation)
        ticks = int(simulation.tick[row])
        return EpisodeResult(
            episode=int(simulation.episodes[row]),
            seed=int(simulation.seeds[row]),
            outcome=OUTCOMES[int(simulation.outcome[row])],
            duration=seconds(ticks * self.engagement.world.tick),
            ticks=ticks,
            rewards={agent: float(rewards[i, row]) for i, agent in enumerate(agents)},
            min_distance=float(closest[row]),
            decisions={agent: int(decisions[i, row]) for i, agent in enumerate(agents)},
            trajectory_sha256=sha.hexdigest(),
            failures=simulation.world.failures(row),
        )


def rollout(
    engagement: Engagement, episodes: int, seed: int | None = None, progress: Callable[[], None] | None = None
) -> Iterator[EpisodeResult]:
    """Run episodes 0 to ``episodes`` - 1 one after another and yield each result.

    Args:
        engagement: the engagement.
        episodes: how many.
        seed: default the file's.
        progress: called after each tick-free point, for a display.
    """
    runner = Rollout(engagement)
    chosen = engagement.seed if seed is None else seed
    try:
        for episode in range(episodes):
            yield runner.run([chosen], [episode])[0]
            if progress is not None:
                progress()
    finally:
        runner.simulation.close()
