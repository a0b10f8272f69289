"""Evaluation: what policies achieve over many unseen episodes, with confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pe_sim.engagement import Engagement
from pe_sim.evaluation.rollout import decide, load_policies
from pe_sim.rules import OUTCOMES
from pe_sim.simulation import Simulation
from pe_sim.timing import seconds

Z = 1.959963984540054
"""Standard normal quantile of 97.5 %: intervals hold with 95 %."""

CAPTURES = ("capture", "pursuers_win")
"""Outcomes that count as a capture: with rules of combat the last evader may fall to a gun, or fly into the ground."""


@dataclass(frozen=True)
class Evaluation:
    """What the policies of an engagement achieved.

    Attributes:
        engagement: its name.
        episodes: how many.
        seed: of the run.
        outcomes: name -> how many.
        capture_rate: share of episodes that ended in capture, see :data:`CAPTURES`.
        capture_interval: its 95 % interval (Wilson, 1927).
        mean_time_to_capture: of the episodes that ended in capture [s]; None where there were none.
        time_interval: its 95 % interval [s], normal approximation; None with fewer than two captures.
        mean_rewards: agent -> mean over episodes of the sum of its rewards.
        policies: role -> hash of what decided.
    """

    engagement: str
    episodes: int
    seed: int
    outcomes: dict[str, int]
    capture_rate: float
    capture_interval: tuple[float, float]
    mean_time_to_capture: float | None
    time_interval: tuple[float, float] | None
    mean_rewards: dict[str, float]
    policies: dict[str, str]

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        plain = asdict(self)
        for name in ("capture_interval", "time_interval"):
            plain[name] = None if plain[name] is None else list(plain[name])
        return plain


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """Return the 95 % interval of a probability (Wilson, 1927)."""
    share, square = successes / trials, Z * Z / trials
    middle = (share + square / 2) / (1 + square)
    half = Z / (1 + square) * math.sqrt(share * (1 - share) / trials + square / (4 * trials))
    return max(0.0, middle - half), min(1.0, middle + half)


def mean_interval(values: NDArray[Any]) -> tuple[float, float] | None:
    """Return the 95 % interval of a mean, normal approximation; None with fewer than two values."""
    if len(values) < 2:
        return None
    half = Z * float(values.std(ddof=1)) / math.sqrt(len(values))
    return float(values.mean()) - half, float(values.mean()) + half


@dataclass(frozen=True)
class Flights:
    """Episodes that were flown.

    Attributes:
        codes: index of each one's outcome in :data:`pe_sim.rules.OUTCOMES`, int64 (E,).
        durations: engagement time of each [s], float64 (E,).
        rewards: sums over all episodes, float64 (N,).
        hashes: role -> hash of what decided.
    """

    codes: NDArray[np.int64]
    durations: NDArray[np.float64]
    rewards: NDArray[np.float64]
    hashes: dict[str, str]

    @property
    def captured(self) -> NDArray[np.bool_]:
        """Which episodes ended in capture, see :data:`CAPTURES`, bool (E,)."""
        found: NDArray[np.bool_] = np.isin(self.codes, [OUTCOMES.index(name) for name in CAPTURES])
        return found


def fly(
    engagement: Engagement, episodes: int, seed: int, *, batch: int = 100,
    progress: Callable[[int], None] | None = None,
) -> Flights:
    """Run episodes 0 to ``episodes`` - 1 of a run under the policies of the file; see :func:`evaluate`."""
    codes: list[int] = []
    durations: list[float] = []
    rewards = np.zeros(len(engagement.agents))
    hashes: dict[str, str] = {}
    for first in range(0, episodes, batch):
        numbers = np.arange(first, min(first + batch, episodes), dtype=np.int64)
        simulation = Simulation(engagement, len(numbers))
        try:
            policies = load_policies(simulation)
            hashes = {role: policy.sha256 for role, policy in policies.items()}
            simulation.reset(np.full(len(numbers), seed, np.int64), numbers)
            for policy in policies.values():
                policy.reset(simulation.roots, None)
            while bool(simulation.running.any()):
                simulation.sense()
                decide(simulation, policies)
                simulation.advance()
                rewards += np.asarray(simulation.rewards).sum(axis=1)
            codes += [int(code) for code in simulation.outcome]
            durations += [seconds(int(tick) * engagement.world.tick) for tick in simulation.tick]
        finally:
            simulation.close()
        if progress is not None:
            progress(len(codes))
    return Flights(np.asarray(codes, np.int64), np.asarray(durations), rewards, hashes)


def evaluate(
    engagement: Engagement, episodes: int, seed: int | None = None, *, batch: int = 100,
    progress: Callable[[int], None] | None = None,
) -> Evaluation:
    """Run episodes 0 to ``episodes`` - 1 of a run under the policies of the file, and sum up.

    Args:
        engagement: the engagement.
        episodes: how many.
        seed: of the run; default the file's. Training draws its episodes from the training file's seed.
        batch: how many at once; results do not depend on it but for rounding in the networks of large batches.
        progress: called with how many episodes are done.
    """
    chosen = engagement.seed if seed is None else seed
    return _summary(engagement, chosen, fly(engagement, episodes, chosen, batch=batch, progress=progress))


def _summary(engagement: Engagement, seed: int, flights: Flights) -> Evaluation:
    episodes = len(flights.codes)
    names = [OUTCOMES[code] for code in flights.codes]
    times = flights.durations[flights.captured]
    return Evaluation(
        engagement=engagement.engagement, episodes=episodes, seed=seed,
        outcomes={name: names.count(name) for name in sorted(set(names))},
        capture_rate=len(times) / episodes, capture_interval=wilson(len(times), episodes),
        mean_time_to_capture=float(times.mean()) if len(times) else None, time_interval=mean_interval(times),
        mean_rewards={
            agent: float(value) / episodes for agent, value in zip(engagement.agents, flights.rewards, strict=True)
        },
        policies=flights.hashes,
    )
