"""Benchmark of the fixed-wing world: what it costs over the bare ``run()`` calls of JSBSim that it contains.

Every figure alternates with its rival in short turns, on the same aircraft, and medians are compared.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from pe_sim.bench.figures import Figure
from pe_sim.engagement import Engagement, parse
from pe_sim.envs.pursuit_env import PursuitEnv
from pe_sim.simulation import Simulation
from pe_sim.worlds.base import Command
from pe_sim.worlds.fixed_wing import FixedWingWorld

BATCH = 32
RATE = 20
"""Decisions per second."""

TICK_S = 1.0 / RATE
NEUTRAL = {"surfaces": (0.0, 0.0, 0.0, 0.28), "guidance": (0.0, 5000.0, 200.0)}
"""What everybody does: fly on. It costs what any flight costs."""


def engagement(action: str, workers: int = 0) -> Engagement:
    """Return one F-16 against another, deciding at 20 Hz."""
    world = {"backend": "fixed_wing", "tick": TICK_S, "workers": workers, "min_start_distance": 1000}
    start = {"low": [-9000, -9000, 4900], "high": [9000, 9000, 5100], "heading": [0, 0], "speed": [200, 200]}
    sensors = {kind: {"kind": kind, "rate": RATE} for kind in ("own_motion", "relative")}
    side = {
        "dynamics": {"model": "aircraft", "type": "f16", "action": action},
        "start": start, "sensors": sensors, "policy": {"use": "guidance/random", "rate": RATE},
    }
    roles = {"pursuer": {"team": "pursuers", **side}, "evader": {"team": "evaders", **side}}
    rules = {"capture": {"radius": 10}, "time_limit": 3600}
    return parse({"engagement": "bench", "world": world, "rules": rules, "roles": roles})


class Turn:
    """One thing that is measured, in turns.

    Args:
        work: does ``ticks`` ticks.
        begin: puts everything to its start before a turn.
        ticks: ticks per turn.
        clock: what is read before and after: processor time of this process, so that what else the machine does does
            not count; wall time where the work is done by others.
    """

    def __init__(
        self, work: Callable[[int], None], begin: Callable[[], None], ticks: int,
        clock: Callable[[], float] = time.process_time,
    ) -> None:
        self._work, self._begin, self._ticks, self._clock = work, begin, ticks, clock
        self.times: list[float] = []

    def take(self) -> None:
        """Take one turn."""
        self._begin()
        start = self._clock()
        self._work(self._ticks)
        self.times.append((self._clock() - start) / self._ticks)

    @property
    def median(self) -> float:
        """Median time of a tick [s]."""
        return statistics.median(self.times)


def alternate(turns: list[Turn], rounds: int) -> None:
    """Let everything take its turn, round by round, the first of which warms up and does not count."""
    for i in range(rounds + 1):
        for turn in turns if i % 2 else reversed(turns):
            turn.take()
        if i == 0:
            for turn in turns:
                turn.times.clear()


class Bench:
    """A batch of the engagement, ready to be flown in several ways."""

    def __init__(self, action: str, batch: int, workers: int = 0) -> None:
        self.simulation = Simulation(engagement(action, workers), batch)
        self._batch = batch
        self._begun = False
        self.commands = {
            name: Command(np.tile(np.asarray(NEUTRAL[action], np.float32)[:, None, None], (1, 1, batch)), None)
            for name in self.simulation.roles
        }
        self.begin()

    def begin(self) -> None:
        """Put everybody to the start, once: they fly straight on from turn to turn."""
        if self._begun:
            return
        self._begun = True
        self.simulation.reset(np.ones(self._batch, np.int64), np.arange(self._batch, dtype=np.int64))

    def bare(self, ticks: int) -> None:
        """Only the ``run()`` calls, one aircraft after another."""
        world = self.simulation.world
        assert isinstance(world, FixedWingWorld)
        for _ in range(ticks):
            for run, substeps in world.runs():
                for _ in range(substeps):
                    run()

    def world(self, ticks: int) -> None:
        """What a worker does: commands in, states out."""
        for _ in range(ticks):
            self.simulation.world.step(self.commands, None)

    def everything(self, ticks: int) -> None:
        """Sensors, commands, world and rules."""
        for _ in range(ticks):
            self.simulation.sense()
            self.simulation.advance(self.commands)


def env_turn(ticks: int) -> tuple[Turn, Turn]:
    """Return the dict env of one engagement, and its bare calls."""
    bench = Bench("surfaces", 1)
    env = PursuitEnv(bench.simulation.engagement)
    env.reset(seed=1)
    action = np.asarray(NEUTRAL["surfaces"], np.float32)

    def step(count: int) -> None:
        for _ in range(count):
            env.step(dict.fromkeys(env.due, action))

    return Turn(step, bench.begin, ticks), Turn(bench.bare, bench.begin, ticks)


def run(*, quick: bool = False) -> list[Figure]:
    """Measure and return the figures."""
    rounds, ticks = (3, 10) if quick else (15, 30)
    figures = []
    for action, note in (("surfaces", "actions are surfaces"), ("guidance", "through the autopilot")):
        bench = Bench(action, BATCH)
        bare, world, everything = (
            Turn(work, bench.begin, ticks) for work in (bench.bare, bench.world, bench.everything)
        )
        alternate([bare, world, everything], rounds)
        figures += [
            _cost(f"worker, {BATCH} one-on-one", world, bare, note, 1.3),
            _cost(f"simulation, {BATCH} one-on-one", everything, bare, f"{note}; sensors and rules too", None),
            _rate(f"worker, {BATCH} one-on-one", world, BATCH, note),
        ]
    env, bare = env_turn(10 * ticks)
    alternate([env, bare], rounds)
    figures += [
        _cost("single env", env, bare, "dict env, two agents", 4.0),
        Figure("single env", 1.0 / env.median, "env steps/s", note=f"{TICK_S / env.median:,.0f} times real time"),
    ]
    return [*figures, *two_workers(rounds if quick else 40, 2 * ticks)]


def two_workers(rounds: int, ticks: int) -> list[Figure]:
    """Return how much faster two worker processes are than one.

    In many short turns: two processes share the machine's last cache with whoever else lives on it, and the median of
    15 turns differed by a third from minute to minute where that of 40 stayed within a tenth.
    """
    benches = [Bench("surfaces", BATCH, workers) for workers in (1, 2)]
    try:
        one, two = (Turn(bench.world, bench.begin, ticks, time.perf_counter) for bench in benches)
        alternate([one, two], rounds)
    finally:
        for bench in benches:
            bench.simulation.close()
    rates = [BATCH / turn.median for turn in (two, one)]
    return [
        Figure("two workers", rates[0], "engagement steps/s", rates[1], "one worker", 1.8, note=f"{BATCH} one-on-one")
    ]


def _cost(name: str, ours: Turn, bare: Turn, note: str, goal: float | None) -> Figure:
    return Figure(
        name, 1e3 * ours.median, "ms/tick", 1e3 * bare.median, "bare run() calls", goal, better="less", note=note
    )


def _rate(name: str, turn: Turn, batch: int, note: str) -> Figure:
    rate: Any = batch / turn.median
    return Figure(name, rate, "engagement steps/s", note=f"{note}; {TICK_S * rate:,.0f} times real time")
