"""Aircraft and engagements for the tests of the fixed-wing world."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pe_sim.engagement import Engagement, load, parse
from pe_sim.simulation import Simulation
from pe_sim.worlds.base import Command

pytest.importorskip("jsbsim", reason="the fixed-wing world needs jsbsim: pip install 'pe_ros[fixed-wing]'")

from pe_sim.worlds.jsbsim.aircraft import Aircraft, Limits
from pe_sim.worlds.jsbsim.initial import InitialConditions

ENGAGEMENTS = Path(__file__).resolve().parents[3] / "config" / "engagements"
SHIPPED = ("fixed_wing_1v1", "fixed_wing_2v2", "fixed_wing_3v1")
SUBSTEP = 1.0 / 120.0
UNLIMITED = Limits((-math.inf, math.inf), math.inf, math.inf, 0.0)
PLACE = (math.radians(47.3), math.radians(8.5))
CRUISE = {"f16": (5000.0, 200.0), "T38": (5000.0, 200.0), "c172x": (1000.0, 50.0)}
"""Aircraft -> altitude [m] and true airspeed [m/s]."""


def start_of(name: str, **changes: Any) -> InitialConditions:
    altitude, airspeed = CRUISE.get(name, (5000.0, 180.0))
    settings: dict[str, Any] = {
        "latitude": PLACE[0], "longitude": PLACE[1], "altitude": altitude, "heading": math.radians(30.0),
        "airspeed": airspeed,
    }
    return InitialConditions(**(settings | changes))


def flying(name: str = "f16", limits: Limits = UNLIMITED, **changes: Any) -> Aircraft:
    aircraft = Aircraft(name, SUBSTEP, limits)
    aircraft.start(start_of(name, **changes))
    return aircraft


def role(team: str, aircraft: str = "f16", **changes: Any) -> dict[str, Any]:
    """A role of one aircraft under surfaces, starting at a point."""
    altitude, airspeed = CRUISE.get(aircraft, (5000.0, 180.0))
    data: dict[str, Any] = {
        "team": team,
        "dynamics": {"model": "aircraft", "type": aircraft, "action": "surfaces"},
        "start": {"points": [[0.0, 0.0, altitude]], "heading": [0.0, 0.0], "speed": [airspeed, airspeed]},
        "sensors": {
            "own_motion": {"kind": "own_motion", "rate": 20},
            "position": {"kind": "position", "rate": 20},
            "tracker": {"kind": "relative", "rate": 20},
        },
        "policy": {"use": "guidance/random", "rate": 20},
    }
    for key, value in changes.items():
        data[key] = data[key] | value if isinstance(value, dict) and key in data else value
    return data


def duel(pursuer: dict[str, Any], evader: dict[str, Any], **sections: Any) -> dict[str, Any]:
    """An engagement file of one against one in the air."""
    world = {"backend": "fixed_wing", "tick": 0.05, "area": {"low": [-6e4, -6e4, -500], "high": [6e4, 6e4, 2e4]}}
    return {
        "engagement": "duel",
        "seed": 1,
        "world": world | sections.pop("world", {}),
        "rules": {"capture": {"radius": 50}, "time_limit": 60} | sections.pop("rules", {}),
        "roles": {"pursuer": pursuer, "evader": evader},
    }


def surfaces_duel(**sections: Any) -> Engagement:
    """Two F-16 far from one another, flown by surfaces."""
    evader = role("evaders")
    evader["start"]["points"] = [[3000.0, 4000.0, 6000.0]]
    return parse(duel(role("pursuers"), evader, **sections))


def shipped(name: str, **changes: Any) -> Engagement:
    return load(ENGAGEMENTS / f"{name}.yaml", {key.replace("__", "."): value for key, value in changes.items()})


def begun(engagement: Engagement, batch: int = 1, seed: int = 1) -> Simulation:
    simulation = Simulation(engagement, batch)
    simulation.reset(np.full(batch, seed, np.int64), np.arange(batch, dtype=np.int64))
    return simulation


def command(simulation: Simulation, **values: list[float]) -> dict[str, Command]:
    """The same action for every agent of a role, in all engagements."""
    out = {}
    for name, runtime in simulation.roles.items():
        action = np.zeros((runtime.action.size, runtime.last - runtime.first, simulation.batch), np.float32)
        action[...] = np.asarray(values[name], np.float32)[:, None, None]
        out[name] = Command(action, None)
    return out
