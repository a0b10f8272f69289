"""Random full deflections on six types of aircraft: every flight stays finite and ends with a name."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from pe_sim.engagement import parse
from pe_sim.rules import OUTCOMES
from pe_sim.simulation import Simulation
from pe_sim.worlds.base import Command

from .flying import role

TYPES = {"f16": 200.0, "T38": 200.0, "c172x": 50.0, "f15": 220.0, "A4": 180.0, "737": 180.0}
HEIGHTS = {"c172x": (600.0, 1500.0)}


def six_types(seconds: float, workers: int = 0):
    """Three types against the three others, every one alone at its role, flown by surfaces."""
    roles = {}
    for i, (name, speed) in enumerate(TYPES.items()):
        low, high = HEIGHTS.get(name, (2000.0, 5000.0))
        side = role("pursuers" if i % 2 == 0 else "evaders", name)
        side["start"] = {"low": [-9000, -9000, low], "high": [9000, 9000, high], "speed": [speed, 1.1 * speed]}
        side["sensors"] = {"own_motion": {"kind": "own_motion", "rate": 5}}
        roles[f"agent_{name.lower()}"] = side
    return parse({
        "engagement": "six_types",
        "world": {
            "backend": "fixed_wing", "tick": 0.05, "workers": workers, "min_separation": 100,
            "area": {"low": [-2e4, -2e4, -500], "high": [2e4, 2e4, 12_000]},
        },
        "rules": {"capture": {"radius": 5}, "time_limit": seconds},
        "roles": roles,
    })


def fly(episodes: int, batch: int, seconds: float, workers: int = 0):
    """Fly episodes with bang-bang controls drawn anew every half second; return outcomes and reasons."""
    simulation = Simulation(six_types(seconds, workers), batch)
    world = simulation.world
    outcomes, reasons = Counter(), Counter()
    rng = np.random.default_rng(11)
    try:
        for first in range(0, episodes, batch):
            simulation.reset(np.full(batch, 1), np.arange(first, first + batch))
            tick = 0
            while simulation.running.any():
                if tick % 10 == 0:
                    commands = {
                        name: Command(
                            np.where(rng.random((4, 1, batch)) < 0.5, runtime.action.low[:, None, None],
                                     runtime.action.high[:, None, None]).astype(np.float32), None,
                        )
                        for name, runtime in simulation.roles.items()
                    }
                simulation.advance(commands)
                assert np.isfinite(simulation.state.block).all()
                tick += 1
            outcomes.update(OUTCOMES[code] for code in simulation.outcome)
            reasons.update(world.failure_names[code] for code in world.failure_reasons.ravel())
    finally:
        simulation.close()
    return outcomes, reasons


def test_a_few_episodes_stay_finite_and_end_with_a_name():
    outcomes, reasons = fly(2, 2, 15.0)
    assert sum(outcomes.values()) == 2
    assert "" not in outcomes
    assert sum(reasons.values()) == 12


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_two_hundred_episodes_stay_finite_and_end_with_a_name():
    outcomes, reasons = fly(200, 20, 60.0, workers=2)
    print(dict(outcomes), dict(reasons))
    assert sum(outcomes.values()) == 200
    assert "" not in outcomes
    assert len(set(reasons) - {""}) >= 2
