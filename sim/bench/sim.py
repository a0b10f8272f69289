"""``pe-ros bench sim``: how fast the simulation is, against VMAS, MPE2 and a plain Python loop.

Contender and rivals take turns in one run; medians are compared. Every engagement step counts, those of a stride as
one, and finished engagements are begun anew within the step.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pe_sim.bench.figures import Figure
from pe_sim.bench.rivals import Rival, own_python, rivals_directory, rivals_python
from pe_sim.engagement import Engagement, load, parse
from pe_sim.envs.vector_pursuit import VectorPursuit
from pe_sim.errors import ContractError
from pe_sim.evaluation.rollout import Rollout, decide
from pe_sim.shared_files import engagement_file

BATCH = 8192
STEPS_PER_S = "steps/s"


@dataclass
class Contender:
    """What takes turns.

    Attributes:
        name: what it is.
        run: makes so many calls and returns how long it took [s] and how many environment steps it were.
        rates: environment steps per second of each turn.
    """

    name: str
    run: Callable[[int], tuple[float, int]]
    rates: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Median of the turns [steps/s]."""
        return statistics.median(self.rates)


def grid_engagement(*, sensors: bool) -> Engagement:
    """Return two agents on a grid of 64 x 64 cells, with or without a tracker each."""
    tracker = {"tracker": {"kind": "relative", "rate": 10}} if sensors else {}
    side = {
        "dynamics": {"model": "grid_mover"}, "sensors": tracker, "observe": {"mask": False, "age": False},
        "policy": {"use": "guidance/random", "rate": 10},
    }
    return parse({
        "engagement": "bench_grid",
        "world": {"backend": "grid", "size": 64, "tick": 0.1, "min_start_distance": 16},
        "rules": {"capture": {"radius": 1.5}, "max_step": 500},
        "roles": {"pursuer": {"team": "pursuers", **side}, "evader": {"team": "evaders", **side}},
    })


def tag_engagement() -> Engagement:
    """Return simple_tag's setting: three against one in the plane, two obstacles, everybody sees everybody."""

    def side(team: str, count: int, speed: float, acceleration: float) -> dict[str, Any]:
        sensors = {"own": "own_motion", "position": "position"}
        everybody = {"kind": "relative", "rate": 10, "targets": "everyone"}
        return {
            "team": team, "count": count,
            "dynamics": {"model": "double_integrator", "max_speed": speed, "max_acceleration": acceleration},
            "sensors": {**{name: {"kind": kind, "rate": 10} for name, kind in sensors.items()}, "tracker": everybody},
            "observe": {"mask": False, "age": False},
            "policy": {"use": "guidance/random", "rate": 10},
        }

    obstacles = [{"shape": "circle", "center": c, "radius": 0.2} for c in ([0.4, 0.3], [-0.5, -0.2])]
    arena = {"low": [-1, -1, 0], "high": [1, 1, 0], "edge": "open"}
    return parse({
        "engagement": "bench_tag",
        "world": {"backend": "kinematic", "dimensions": 2, "tick": 0.1, "arena": arena, "obstacles": obstacles},
        "rules": {"capture": {"radius": 0.01}, "max_step": 200},
        "roles": {"adversary": side("pursuers", 3, 1.0, 3.0), "good": side("evaders", 1, 1.3, 4.0)},
    })


def batched(engagement: Engagement, name: str) -> Contender:
    """Return a batched environment under random actions; engagements that wait to be begun anew do not count."""
    env = VectorPursuit(engagement, BATCH, restart_share=0.05)
    env.reset(0)
    rng = np.random.default_rng(0)
    actions = [env.sample(rng) for _ in range(4)]

    def run(calls: int) -> tuple[float, int]:
        steps, running = 0, BATCH
        start = time.perf_counter()
        for number in range(calls):
            steps += running
            running = int(np.count_nonzero(env.step(actions[number % 4]).running))
        return time.perf_counter() - start, steps

    return Contender(name, run)


def rival(process: Rival, name: str, steps: int) -> Contender:
    """Return a rival that makes so many environment steps per call."""
    return Contender(name, lambda calls: (process.seconds(calls), calls * steps))


def single(engagement: Engagement, name: str) -> Contender:
    """Return one engagement under its own policies, sensing and deciding included."""
    runner = Rollout(engagement)
    simulation = runner.simulation
    state = {"episode": -1}

    def begin() -> None:
        state["episode"] += 1
        simulation.reset(np.asarray([1], np.int64), np.asarray([state["episode"]], np.int64))
        for policy in runner.policies.values():
            policy.reset(simulation.roots, None)

    def run(calls: int) -> tuple[float, int]:
        start = time.perf_counter()
        for _ in range(calls):
            if not simulation.running[0]:
                begin()
            simulation.sense()
            decide(simulation, runner.policies)
            simulation.advance()
        return time.perf_counter() - start, calls

    begin()
    return Contender(name, run)


def take_turns(contenders: list[Contender], turn: float, turns: int) -> None:
    """Let everybody run for about ``turn`` seconds, ``turns`` times, one after the other."""
    calls = {}
    for one in contenders:
        count, (taken, _) = 1, one.run(1)
        while taken < 0.1 * turn:
            count *= 4
            taken, _ = one.run(count)
        calls[one.name] = max(1, round(count * turn / taken))
    for _ in range(turns):
        for one in contenders:
            taken, steps = one.run(calls[one.name])
            one.rates.append(steps / taken)


def grid_figure(grid: Contender, loop: Contender) -> Figure:
    """Return the grid's figure: 20 million steps a second, or 400 times the plain loop, whichever is met."""
    name = "grid, two agents, 8192 engagements"
    ratio = grid.rate / loop.rate
    if grid.rate >= 20e6:
        note = f"{ratio:,.0f} times a plain Python dict loop ({loop.rate:,.0f} steps/s)"
        return Figure(name, grid.rate, STEPS_PER_S, goal=20e6, note=note)
    note = "or 20 million steps/s"
    return Figure(name, grid.rate, STEPS_PER_S, loop.rate, loop.name, goal=400, note=note)


def run(*, quick: bool = False, rivals: Path | None = None) -> list[Figure]:
    """Run the benchmark.

    Args:
        quick: shorter turns.
        rivals: directory of the rivals' virtual environment, made if need be; default in the user's cache.
    """
    turn, turns = (0.3, 3) if quick else (1.0, 7)
    with ExitStack() as stack:
        loop = rival(stack.enter_context(Rival(own_python(), "dict_grid.py")), "plain Python dict loop", 1)
        grid = batched(grid_engagement(sensors=False), "grid")
        seen = batched(grid_engagement(sensors=True), "grid with observations")
        tag = batched(tag_engagement(), "kinematic 3-on-1")
        one = single(load(engagement_file("kinematic_3v1")), "kinematic_3v1")
        contenders, missing = [loop, grid, seen, tag, one], ""
        others: list[Contender] = []
        try:
            python = rivals_python(rivals_directory() if rivals is None else rivals)
            vmas = stack.enter_context(Rival(python, "vmas_tag.py", str(BATCH)))
            mpe2 = stack.enter_context(Rival(python, "mpe2_tag.py"))
            others = [rival(vmas, "VMAS simple_tag", BATCH), rival(mpe2, "MPE2 simple_tag", 1)]
        except ContractError as fault:
            missing = str(fault)
        take_turns([*contenders, *others], turn, turns)
    name = "kinematic 3-on-1 with observations, 8192 engagements"
    against = [
        Figure(name, tag.rate, STEPS_PER_S, other.rate, other.name, goal)
        for other, goal in zip(others, (10.0, 300.0), strict=False)
    ]
    if missing:
        against = [Figure(name, tag.rate, STEPS_PER_S, note=f"VMAS and MPE2 are not installed. {missing}")]
    return [
        grid_figure(grid, loop),
        Figure("the same, relative positions and velocities observed", seen.rate, STEPS_PER_S, loop.rate, loop.name),
        *against,
        Figure("one kinematic 3-on-1, a tick with sensing and deciding", 1e6 / one.rate, "us", better="less"),
        *drawn(quick=quick),
    ]


def drawn(*, quick: bool) -> list[Figure]:
    """Return what is left of the rate where engagements are drawn anew for every episode."""
    from pe_sim.bench.randomised import run as run_randomised  # it builds on this module

    return run_randomised(quick=quick)
