"""What is known beforehand of the surroundings: the box that agents stay in, and the solids in it."""

from __future__ import annotations

import math
from typing import Any

from pe_sim.arrays import Array, Vector, add, dot, scale
from pe_sim.guidance.vectors import choose
from pe_sim.policies.base import PolicyContext
from pe_sim.worlds.obstacles import Box, Obstacle

Corner = tuple[float, float, float]


class Surroundings:
    """The box and the solids of the world's section of the engagement file.

    Attributes:
        low: lower corner [m; world]; -inf where there is no bound.
        high: upper corner [m; world].
        obstacles: solids.
        dimensions: 2 where everybody stays at one height.
    """

    def __init__(self, context: PolicyContext) -> None:
        world = context.world
        self._xp: Any = context.xp
        self.dimensions = context.dimensions
        box = getattr(world, "arena", None) or getattr(world, "area", None)
        size = getattr(world, "size", None)
        none = math.inf
        self.low: Corner = (-none, -none, -none)
        self.high: Corner = (none, none, none)
        if box is not None and getattr(box, "edge", "") != "open":
            self.low, self.high = tuple(box.low), tuple(box.high)
        elif isinstance(size, int):
            self.low, self.high = (0.0, 0.0, 0.0), (size - 1.0, size - 1.0, 0.0)
        found = getattr(world, "obstacles", ())
        solids = tuple(item if isinstance(item, Obstacle) else _cell(item) for item in found)
        self.obstacles = tuple(solid.flat() for solid in solids) if self.dimensions == 2 else solids

    @property
    def axes(self) -> range:
        """Axes along which agents move."""
        return range(self.dimensions)

    def inside(self, place: Vector, margin: float = 0.0) -> Vector:
        """Return a place brought into the box, at a margin from its faces where it is wide enough."""
        xp = self._xp
        out = list(place)
        for axis in self.axes:
            keep = min(margin, 0.5 * (self.high[axis] - self.low[axis]))
            out[axis] = xp.clip(place[axis], self.low[axis] + keep, self.high[axis] - keep)
        return (out[0], out[1], out[2])

    def clearance(self, place: Vector) -> Array:
        """Return the distance to the nearest solid [m], infinite where there is none."""
        xp = self._xp
        nearest = place[0] * 0.0 + math.inf
        for obstacle in self.obstacles:
            nearest = xp.minimum(nearest, obstacle.surface(xp, place)[0])
        return nearest

    @property
    def circles(self) -> list[tuple[tuple[float, float], float]]:
        """Centre [m; world] and radius [m] of a circle around each solid, seen from above."""
        return [circle for circle in map(_around, self.obstacles) if circle is not None]

    def deflect(self, place: Vector, direction: Vector, margin: float) -> Vector:
        """Return a direction turned away from every face and solid nearer than a margin, as a mirror turns light."""
        xp = self._xp
        out = list(direction)
        for axis in self.axes:
            inward = xp.abs(out[axis])
            out[axis] = xp.where(place[axis] < self.low[axis] + margin, inward, out[axis])
            out[axis] = xp.where(place[axis] > self.high[axis] - margin, -inward, out[axis])
        turned: Vector = (out[0], out[1], out[2])
        for obstacle in self.obstacles:
            distance, normal = obstacle.surface(xp, place)
            inward = dot(turned, normal)
            near = (distance < margin) & (inward < 0.0)
            turned = choose(xp, near, add(turned, scale(normal, -2.0 * inward)), turned)
        return turned


def _around(obstacle: Obstacle) -> tuple[tuple[float, float], float] | None:
    """Return a circle around a solid, None for a shape that says neither centre, nor corners, nor points."""
    center, radius = getattr(obstacle, "center", None), getattr(obstacle, "radius", None)
    if center is not None and radius is not None:
        return (center[0], center[1]), radius
    points = getattr(obstacle, "points", None)
    if points is None and hasattr(obstacle, "low") and hasattr(obstacle, "high"):
        points = (obstacle.low[:2], obstacle.high[:2])
    if not points:
        return None
    xs, ys = [point[0] for point in points], [point[1] for point in points]
    middle = (0.5 * (min(xs) + max(xs)), 0.5 * (min(ys) + max(ys)))
    thick = 0.5 * float(getattr(obstacle, "thickness", 0.0))
    return middle, max(math.dist(middle, point) for point in zip(xs, ys, strict=True)) + thick


def _cell(cell: tuple[int, int]) -> Obstacle:
    i, j = cell
    return Box(low=(i - 0.5, j - 0.5), high=(i + 0.5, j + 0.5))
