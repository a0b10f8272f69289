"""The scales of an engagement: how far apart agents can be and how fast they can go."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticCustomError

from pe_sim import registry
from pe_sim.timing import seconds

if TYPE_CHECKING:
    from pe_sim.engagement import Engagement


def scales_of(engagement: Engagement) -> tuple[float, tuple[float, ...]]:
    """Return the longest distance in the arena [m] and the greatest speed of every agent [m/s].

    Raises:
        PydanticCustomError: if the world has no bounds, or a model no greatest speed.
    """
    return _longest(engagement), tuple(
        _fastest(engagement, name) for name, role in engagement.roles.items() for _ in range(role.count)
    )


def _longest(engagement: Engagement) -> float:
    world = engagement.world
    arena, size = getattr(world, "arena", None), getattr(world, "size", None)
    if arena is not None:
        return math.dist(arena.low, arena.high)
    if size is not None:
        return math.hypot(size - 1.0, size - 1.0)
    raise PydanticCustomError(
        "normalise", "rules.rewards.normalise: the world {world} has no bounds to normalise by",
        {"world": world.backend},
    )


def _fastest(engagement: Engagement, role: str) -> float:
    dynamics, world = engagement.roles[role].dynamics, engagement.world
    top_speed = getattr(registry.lookup("pe_sim.dynamics", dynamics.model), "top_speed", None)
    if top_speed is not None:
        return float(top_speed(dynamics))
    if world.backend == "grid":
        mover: Any = dynamics
        return float(mover.steps) * math.hypot(1.0, 1.0 if mover.moves == 8 else 0.0) / seconds(world.tick)
    speed = getattr(dynamics, "max_speed", None)
    if speed is not None:
        return float(speed)
    raise PydanticCustomError(
        "normalise", "rules.rewards.normalise: {model} of role {role} has no greatest speed to normalise by",
        {"model": dynamics.model, "role": role},
    )
