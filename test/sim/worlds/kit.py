"""Worlds for tests: engagements from a few words, commands by hand, states as plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from pe_sim import registry, streams
from pe_sim.arrays import namespace
from pe_sim.engagement import Engagement, parse
from pe_sim.worlds.base import Command, World

LIMITS: dict[str, dict[str, Any]] = {
    "single_integrator": {"max_speed": 9},
    "double_integrator": {"max_speed": 9, "max_acceleration": 12},
    "unicycle": {"max_speed": 9, "min_speed": -2, "max_turn_rate": 2.5, "max_acceleration": 6},
    "dubins_car": {"speed": 7, "max_turn_rate": 1.5},
    "car": {"max_speed": 9, "min_speed": -3, "max_acceleration": 6, "wheelbase": 1.8, "max_steering_rate": 2},
    "airplane": {"min_speed": 5, "max_speed": 9, "max_acceleration": 4, "max_turn_rate": 1.2, "max_climb_angle": 0.5},
    "multirotor": {"max_speed": 9, "max_acceleration": 8, "time_constant": "150 ms"},
}
"""Model -> limits that all bind now and then."""

ARENA = {"low": [-20, -20, 0], "high": [20, 20, 12], "edge": "clip"}

OBSTACLES = [
    {"shape": "circle", "center": [8, 8], "radius": 3},
    {"shape": "cylinder", "center": [-8, 9], "radius": 3, "bottom": 0, "top": 6},
    {"shape": "box", "low": [-12, -14, 0], "high": [-5, -9, 7]},
    {"shape": "sphere", "center": [6, -8, 5], "radius": 4},
    {"shape": "polygon", "points": [[14, -2], [19, -1], [16, 1], [18, 4], [13, 3]], "top": 9},
    {"shape": "wall", "points": [[-18, 0], [-10, 2], [-4, -2]], "thickness": 0.05},
]
"""One obstacle of each shape, the wall thinner than a tick's way at 10 m/s and 100 Hz."""


def world_file(roles: dict[str, Any], backend: str = "kinematic", **world: Any) -> dict[str, Any]:
    """Plain data of an engagement: role -> (dynamics, count, start) or dynamics; the first role pursues."""
    settings = {"arena": dict(ARENA)} if backend == "kinematic" else {}
    data: dict[str, Any] = {
        "engagement": "made",
        "world": {"backend": backend, "tick": 0.01, **settings, **world},
        "rules": {"capture": {"radius": 0.5}, "max_step": 1000},
        "roles": {},
    }
    for number, (name, role) in enumerate(roles.items()):
        dynamics, count, start = role if isinstance(role, tuple) else (role, 1, {})
        if isinstance(dynamics, str):
            dynamics = {"model": dynamics, **LIMITS.get(dynamics, {})}
        data["roles"][name] = {
            "team": "evaders" if number else "pursuers", "count": count, "dynamics": dynamics, "start": start,
            "policy": {"use": "guidance/hold_still", "rate": 0.1},
        }
    if len(data["roles"]) == 1:
        bystander = {"model": "grid_mover"} if backend == "grid" else {"model": "single_integrator", "max_speed": 1}
        bystander = {"model": "template_mover"} if backend == "template" else bystander
        data["roles"]["bystander"] = {
            "team": "evaders", "dynamics": bystander, "policy": {"use": "guidance/hold_still", "rate": 0.1},
        }
    return data


def made(roles: dict[str, Any], backend: str = "kinematic", **world: Any) -> Engagement:
    """The same, parsed."""
    return parse(world_file(roles, backend, **world))


def begun(engagement: Engagement, batch: int = 1, seed: int = 0, library: str = "numpy") -> World:
    """A world after the reset of all its engagements; row i is episode i."""
    xp = namespace(library)
    world: World = registry.lookup("pe_sim.worlds", engagement.world.backend)(engagement, batch, xp)
    seeds = xp.asarray(np.full(batch, seed, dtype=np.int64))
    world.reset(streams.episode_keys(seeds, xp.asarray(np.arange(batch, dtype=np.int64))), None)
    return world


def at(x: float, y: float, z: float = 0.0, heading: float = 0.0, speed: float = 0.0) -> dict[str, Any]:
    """The start of one agent at a point."""
    return {"points": [[x, y, z]], "heading": [heading, heading], "speed": [speed, speed]}


def told(world: World, values: dict[str, list[float]], mode: int | None = None) -> dict[str, Command]:
    """Commands with the same values for all agents of a role; roles left out get zeros."""
    commands = {}
    for name, role in world.engagement.roles.items():
        size = world.action_spec(name).size
        own = np.asarray(values.get(name, [0.0] * size), dtype=np.float32)
        full = np.broadcast_to(own[:, None, None], (size, role.count, world.batch)).copy()
        modes = None if mode is None else np.full((role.count, world.batch), mode, dtype=np.int8)
        commands[name] = Command(full, modes)
    return commands


def drawn(world: World, random: np.random.Generator) -> dict[str, Command]:
    """Random commands within the action specs, often at a limit."""
    commands = {}
    for name, role in world.engagement.roles.items():
        spec = world.action_spec(name)
        part = np.clip(random.uniform(-0.4, 1.4, (spec.size, role.count, world.batch)), 0.0, 1.0)
        low, high = spec.low[:, None, None], spec.high[:, None, None]
        values = np.floor(part * (spec.choices - 0.001)) if spec.discrete else low + part * (high - low)
        commands[name] = Command(values.astype(np.float32), None)
    return commands


def speed_of(world: World) -> Any:
    """Speeds over ground [m/s], (N, B)."""
    velocity = np.asarray(world.state.block[7:10])
    return np.sqrt((velocity**2).sum(axis=0))
