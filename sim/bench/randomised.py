"""What drawing the engagement anew for every episode costs: the batched environment with and without ``randomise``.

Both run the same engagement with observations and begin finished episodes anew; they take turns, and what is compared
is processor time, for the machine may be busy with other things.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pe_sim.bench.figures import Figure
from pe_sim.bench.sim import BATCH, tag_engagement
from pe_sim.engagement import Engagement, load, override, parse
from pe_sim.envs.vector_pursuit import VectorPursuit
from pe_sim.shared_files import engagement_file

GOAL = 0.9
"""Part of the rate that is to be left."""

TAG: dict[str, Any] = {
    "roles.adversary.dynamics.max_speed": {"scale": [0.8, 1.2]},
    "roles.adversary.dynamics.max_acceleration": {"scale": [0.8, 1.2], "per": "agent"},
    "roles.good.dynamics.max_speed": {"scale": [0.8, 1.2]},
    "roles.good.dynamics.max_acceleration": {"scale": [0.8, 1.2]},
    "world.obstacles.shift": {"low": -0.1, "high": 0.1},
    "world.obstacles.size": {"scale": [0.8, 1.2]},
    "world.min_start_distance": {"low": 0.2, "high": 0.4},
}
"""What is drawn of the benchmark's three against one; it has neither noise nor delays."""

SHIPPED: dict[str, Any] = {
    **{f"roles.{role}.dynamics.{key}": {"scale": [0.8, 1.2]} for role in ("pursuer", "evader")
       for key in ("max_speed", "max_acceleration", "time_constant")},
    "roles.pursuer.sensors.radar.latency": {"low": 0, "high": "20 ms"},
    "roles.pursuer.sensors.radar.dropout": {"low": 0, "high": 0.1},
    "roles.pursuer.sensors.radar.noise": {"scale": [0.5, 2]},
    "roles.pursuer.action.latency": {"low": 0, "high": "20 ms"},
    "roles.evader.sensors.tracker.noise": {"scale": [0.5, 2]},
    "world.arena": {"scale": [0.9, 1.1]},
    "world.min_start_distance": {"low": 20, "high": 30},
    "world.obstacles.shift": {"low": -2, "high": 2},
    "world.obstacles.size": {"scale": [0.8, 1.2]},
}
"""What is drawn of kinematic_3v1: something of every kind."""


@dataclass
class Runner:
    """One of the two: a batched environment under random actions.

    Attributes:
        rates: engagement ticks per second of processor time, of each turn.
    """

    env: VectorPursuit
    rates: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.env.reset(0)
        rng = np.random.default_rng(0)
        self._actions = [self.env.sample(rng) for _ in range(4)]
        self._call = 0

    def steps(self, calls: int) -> float:
        """Make calls; return the processor time they took [s]."""
        begin = time.process_time()
        for _ in range(calls):
            self.env.step(self._actions[self._call % 4])
            self._call += 1
        return time.process_time() - begin


def ratio(
    plain: Engagement, randomise: dict[str, Any], *, batch: int, turns: int, calls: int, goal: float | None = GOAL
) -> Figure:
    """Return what is left of the rate where a file draws something."""
    drawn = parse(override(plain.resolved(), {"randomise": randomise}))
    one, other = (Runner(VectorPursuit(engagement, batch, restart_share=0.05)) for engagement in (drawn, plain))
    for runner in (one, other):
        runner.steps(calls)
    for _ in range(turns):
        for runner in (one, other):
            taken = runner.steps(calls)
            runner.rates.append(calls * batch * runner.env.stride / taken)
    value, against = statistics.median(one.rates), statistics.median(other.rates)
    name = f"{plain.engagement} with observations, {batch} engagements, drawn for every episode"
    note = "processor time; finished engagements are begun anew"
    return Figure(name, value, "ticks/s", against, "the same, nothing drawn", goal, note=note)


def run(*, quick: bool = False) -> list[Figure]:
    """Return the figures of the benchmark's three against one and of the shipped one."""
    turns = 3 if quick else 9
    return [
        ratio(tag_engagement(), TAG, batch=BATCH, turns=turns, calls=20 if quick else 60),
        # Here delays and losses are drawn where the file has fixed ones and none: more work, not the same work.
        ratio(
            load(engagement_file("kinematic_3v1")), SHIPPED, batch=BATCH, turns=turns, calls=4 if quick else 12,
            goal=None,
        ),
    ]
