"""The same laws on torch: the same flight as on NumPy, to rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pe_sim.arrays import namespace
from pe_sim.evaluation.rollout import decide, load_policies
from pe_sim.simulation import Simulation

from .test_grid_game import grid
from .test_steering import CHASES, EVADES, MODELS, engagement

torch = pytest.importorskip("torch")


def flown(file: Any, library: str, ticks: int) -> Any:
    xp = namespace(library)
    simulation = Simulation(file, 3, library=library)
    policies = load_policies(simulation)
    simulation.reset(xp.asarray([4, 5, 6]), xp.asarray([0, 0, 0]))
    for policy in policies.values():
        policy.reset(simulation.roots, None)
    for _ in range(ticks):
        simulation.sense()
        decide(simulation, policies)
        simulation.advance()
    return np.asarray(simulation.state.block)


@pytest.mark.parametrize("law", [*CHASES, *EVADES])
def test_every_law(law: str) -> None:
    chases = law in CHASES
    file = engagement(law if chases else "pure_pursuit", "multirotor", "zigzag" if chases else law, "multirotor")
    assert flown(file, "torch", 12) == pytest.approx(flown(file, "numpy", 12), abs=1e-3)


@pytest.mark.parametrize("model", MODELS)
def test_every_vehicle(model: str) -> None:
    file = engagement("proportional_navigation", model, "circling", model)
    assert flown(file, "torch", 12) == pytest.approx(flown(file, "numpy", 12), abs=1e-3)


def test_the_exact_grid_game() -> None:
    file = grid(7, {"intent": "chase"}, {"intent": "flee"})
    assert np.array_equal(flown(file, "torch", 4), flown(file, "numpy", 4))
