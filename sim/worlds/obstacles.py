"""Obstacles of a world: read from the engagement file, and asked whether they stand in a line of sight."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from pydantic_core import PydanticCustomError

from pe_sim import registry
from pe_sim.arrays import Array, Vector
from pe_sim.errors import PluginError
from pe_sim.schema import located
from pe_sim.worlds.moved import Displaced
from pe_sim.worlds.shapes import Box, Circle, Cylinder, Polygon, Sphere, Wall
from pe_sim.worlds.solid import Obstacle

__all__ = ["Box", "Circle", "Cylinder", "Obstacle", "Polygon", "Sphere", "Wall", "blocks", "occluded", "read_obstacles"]

FEW_LINES = 64
"""Number of lines up to which it is worth asking whether an obstacle lies aside of all of them."""

Cell = tuple[int, int]
"""A blocked cell (i, j) of the grid world: a box of one metre around (i, j), of unlimited height."""


def blocks(xp: Any, obstacle: Obstacle | Displaced | Cell, p: Vector, q: Vector) -> Array:
    """Return whether an obstacle stands in the straight line from ``p`` to ``q`` [m; world].

    Args:
        xp: array namespace.
        obstacle: a solid, or a blocked cell of the grid.
        p: one end, components of any shape.
        q: the other end, components that broadcast with those of ``p``.

    Returns:
        bool, of the common shape. Touching the surface does not block.
    """
    if isinstance(obstacle, tuple):
        i, j = obstacle
        obstacle = Box(low=(i - 0.5, j - 0.5), high=(i + 0.5, j + 0.5))
    return obstacle.blocks(xp, p, q)


def occluded(xp: Any, obstacles: Iterable[Obstacle | Displaced | Cell], p: Vector, q: Vector) -> Array | None:
    """Return whether any obstacle stands in the straight line from ``p`` to ``q``; None where there are no obstacles.

    For a world's obstacles pass ``engagement.world.obstacles``. Arguments as for :func:`blocks`.
    """
    seen: Array | None = None
    for obstacle in obstacles:
        if seen is not None and _is_aside(xp, obstacle, p, q):
            continue
        here = blocks(xp, obstacle, p, q)
        seen = here if seen is None else seen | here
    return seen


def _is_aside(xp: Any, obstacle: Obstacle | Displaced | Cell, p: Vector, q: Vector) -> bool:
    """Return whether all lines lie to one side of the square around an obstacle's circle.

    Asked only for a few lines, as one engagement has them: among many, one comes near.
    """
    if math.prod(p[0].shape) > FEW_LINES:
        return False
    if isinstance(obstacle, tuple):
        x, y, radius = float(obstacle[0]), float(obstacle[1]), 0.75
    else:
        x, y, radius = obstacle.surrounding_circle()
    for middle, a, b in ((x, p[0], q[0]), (y, p[1], q[1])):
        low, high = middle - radius, middle + radius
        if (xp.all(a < low) and xp.all(b < low)) or (xp.all(a > high) and xp.all(b > high)):
            return True
    return False


def read_obstacles(value: Any) -> tuple[Obstacle, ...]:
    """Return obstacles from plain data.

    Raises:
        PydanticCustomError: for an unknown shape, with the nearest valid one.
    """
    if not isinstance(value, list | tuple):
        raise PydanticCustomError("obstacles", "must be a list of obstacles")
    obstacles = []
    for number, item in enumerate(value):
        with located(str(number), item):
            obstacles.append(_read(item))
    return tuple(obstacles)


def _read(item: Any) -> Obstacle:
    if isinstance(item, Obstacle):
        return item
    shape = item.get("shape") if isinstance(item, dict) else None
    if not isinstance(shape, str):
        raise PydanticCustomError("obstacles", "needs the key 'shape'")
    try:
        kind = registry.lookup("pe_sim.obstacles", shape)
    except PluginError as fault:
        raise PydanticCustomError("obstacles", "{rule}; {cure}", {"rule": fault.rule, "cure": fault.cure}) from fault
    solid = kind.model_validate(item)
    assert isinstance(solid, Obstacle)
    return solid
