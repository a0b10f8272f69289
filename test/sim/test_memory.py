"""Memory stays flat: over a thousand resets, over hours of simulated engagements, and in the batched environment."""

from __future__ import annotations

import gc
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pe_sim.envs.pursuit_env import PursuitEnv
from pe_sim.envs.vector_pursuit import VectorPursuit
from pe_sim.evaluation.rollout import Rollout, decide
from pe_sim.shared_files import shipped_engagements

from .files import shipped

KIB = 1024


def growth(work: Callable[[], None], rounds: int) -> int:
    """Bytes that Python holds more after many rounds than after a few."""
    for _ in range(3):
        work()
    gc.collect()
    tracemalloc.start()
    work()
    gc.collect()
    before, _ = tracemalloc.get_traced_memory()
    for _ in range(rounds):
        work()
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return after - before


def resident() -> int:
    """Resident memory of this process [bytes]."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("name", ["grid_1v1", "multirate_2v2"])
def test_resets_leave_nothing_behind(name: str) -> None:
    env = PursuitEnv(shipped(name))

    def work() -> None:
        for _ in range(10):
            env.reset()
            for _ in range(2):
                actions = {agent: env.action_spaces[agent].sample() for agent in env.due}
                if env.agents:
                    env.step(actions)

    assert growth(work, 12) < 24 * KIB


def test_long_engagements_leave_nothing_behind() -> None:
    # Evaders as fast as their pursuers, so that episodes last.
    engagement = shipped("kinematic_3v1", roles__evader__dynamics__max_speed=20, rules__time_limit="3000 s")
    runner = Rollout(engagement)
    simulation = runner.simulation
    simulation.reset(np.asarray([1]), np.asarray([0]))
    for policy in runner.policies.values():
        policy.reset(simulation.roots, None)

    def work() -> None:
        for _ in range(50):
            simulation.sense()
            decide(simulation, runner.policies)
            simulation.advance()
            if not simulation.running[0]:
                simulation.reset(np.asarray([1]), simulation.episodes + 1)

    assert growth(work, 12) < 24 * KIB


def test_the_batched_environment_leaves_nothing_behind() -> None:
    vector = VectorPursuit(shipped("grid_1v1"), 64)
    vector.reset()
    actions = vector.sample(np.random.default_rng(0))

    def work() -> None:
        for _ in range(10):
            vector.step(actions)

    assert growth(work, 15) < 24 * KIB


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_an_hour_of_engagements_and_a_thousand_resets_leave_memory_flat() -> None:
    """360,000 ticks of 10 ms in one process, and 1,000 resets of every shipped file: no more than 8 MiB resident."""
    engagement = shipped("kinematic_3v1")
    runner = Rollout(engagement, 16)
    runner.run([1] * 16, list(range(16)))
    before, ticks, episode = resident(), 0, 16
    while ticks < 360_000:
        results = runner.run([1] * 16, list(range(episode, episode + 16)))
        ticks += sum(result.ticks for result in results)
        episode += 16
    assert resident() - before < 8 * KIB * KIB
    for name in shipped_engagements():
        env = PursuitEnv(shipped(name))
        for number in range(1050):
            env.reset()
            if number == 50:  # libraries and what they keep ready are there
                before = resident()
        assert resident() - before < 8 * KIB * KIB, name
