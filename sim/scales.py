"""The scales of an engagement: how far apart agents can be and how fast they can go."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pydantic_core import PydanticCustomError

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
    speed = getattr(dynamics, "max_speed", None)
    if speed is not None:
        return float(speed)
    if world.backend == "grid":
        return math.hypot(1.0, 1.0) / seconds(world.tick)
    raise PydanticCustomError(
        "normalise", "rules.rewards.normalise: {model} of role {role} has no max_speed to normalise by",
        {"model": dynamics.model, "role": role},
    )
