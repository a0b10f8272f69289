"""Small engagements for guidance: who starts where, flies how, and decides by which law."""

from __future__ import annotations

from typing import Any

import numpy as np

from pe_sim.engagement import Engagement, parse
from pe_sim.evaluation.rollout import decide, load_policies
from pe_sim.policies.base import Policy
from pe_sim.rules import CAPTURE
from pe_sim.simulation import Simulation

TICK = 0.02

DYNAMICS: dict[str, dict[str, Any]] = {
    "single_integrator": {},
    "double_integrator": {"max_acceleration": 1e4},
    "unicycle": {"max_turn_rate": 300},
    "multirotor": {"time_constant": "1 ms", "max_tilt": 1.57, "max_acceleration": 1e5},
}
"""Dynamics as good as without limits."""


def role(
    team: str, use: str, speed: float, points: list[list[float]], *, model: str = "single_integrator",
    parameters: dict[str, Any] | None = None, heading: float = 0.0, moving: bool = True, rate: int = 50,
) -> dict[str, Any]:
    """One role with every sensor that laws ask for, at each tick."""
    sensors: dict[str, Any] = {
        "own": {"kind": "own_motion", "rate": rate},
        "place": {"kind": "position", "rate": rate},
        "tracker": {"kind": "relative", "rate": rate},
    }
    if len(points) > 1:
        sensors["mates"] = {"kind": "relative", "rate": rate, "targets": "teammates"}
    return {
        "team": team,
        "count": len(points),
        "dynamics": {"model": model, "max_speed": speed, **DYNAMICS.get(model, {})},
        "start": {"points": points, "heading": [heading, heading], "speed": [speed, speed] if moving else [0, 0]},
        "sensors": sensors,
        "policy": {"use": f"guidance/{use}", "rate": rate, "parameters": parameters or {}},
    }


def duel(
    pursuer: dict[str, Any], evader: dict[str, Any], *, radius: float = 1.0, limit: float = 60.0, dimensions: int = 2,
    half: float = 500.0, tick: float = TICK, **world: Any,
) -> Engagement:
    """An engagement in a wide arena; ``half`` is its half side [m]."""
    height = [0, 0] if dimensions == 2 else [-half, half]
    return parse({
        "engagement": "duel",
        "world": {
            "backend": "kinematic", "dimensions": dimensions, "tick": tick,
            "arena": {"low": [-half, -half, height[0]], "high": [half, half, height[1]]}, **world,
        },
        "rules": {"capture": {"radius": radius}, "time_limit": limit},
        "roles": {"pursuer": pursuer, "evader": evader},
    })


def time_of_capture(engagement: Engagement) -> float:
    """How long the episode lasts; fails unless it ends in capture."""
    flight = Flight(engagement)
    while flight.simulation.running[0]:
        flight.step()
    assert flight.simulation.outcome[0] == CAPTURE
    return float(flight.simulation.tick[0]) * engagement.world.tick * 1e-9


class Flight:
    """An engagement flown tick by tick, to look at."""

    def __init__(self, engagement: Engagement, seed: int = 1) -> None:
        self.simulation = Simulation(engagement)
        self.policies: dict[str, Policy] = load_policies(self.simulation)
        self.simulation.reset(np.asarray([seed]), np.asarray([0]))
        for policy in self.policies.values():
            policy.reset(self.simulation.roots, None)

    def step(self) -> None:
        """One tick."""
        self.simulation.sense()
        decide(self.simulation, self.policies)
        self.simulation.advance()

    def fly(self, ticks: int) -> np.ndarray[Any, Any]:
        """Positions at the start and after each tick while running, (ticks + 1, N, 3)."""
        places = [self.positions()]
        for _ in range(ticks):
            if not self.simulation.running[0]:
                break
            self.step()
            places.append(self.positions())
        return np.asarray(places)

    def positions(self) -> np.ndarray[Any, Any]:
        """Positions of all agents (N, 3)."""
        return np.array(self.simulation.state.pos[0])
