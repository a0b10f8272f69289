"""Shapes of obstacles: circle, cylinder, box, sphere, polygon and wall."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from pe_sim.arrays import Array, Vector
from pe_sim.quantities import Length
from pe_sim.worlds.outlines import (
    Points,
    circle_around,
    distance_to_chain,
    distance_to_polygon,
    distance_to_rectangle,
    inside_polygon,
    segment_near_segment,
    segments_cross,
    sides,
    signed_area,
    thinnest,
)
from pe_sim.worlds.solid import Corner, Footprint, Obstacle, Upright, between

Point = tuple[Length, Length]
"""A point seen from above [m; world]."""


class Round(Upright):
    """An upright solid over a circle.

    Attributes:
        center: axis (x, y) [m; world].
        radius: [m].
    """

    center: Point
    radius: Annotated[Length, Field(gt=0.0)]

    @property
    def outline_width(self) -> float:
        """The diameter [m]."""
        return float(2.0 * self.radius)

    def surrounding_circle(self) -> tuple[float, float, float]:
        """Its own."""
        return (self.center[0], self.center[1], self.radius)

    def outline(self, xp: Any, x: Array, y: Array) -> Footprint:
        """Distance from the axis less the radius."""
        dx, dy = x - self.center[0], y - self.center[1]
        distance = xp.sqrt(dx * dx + dy * dy)
        at_axis = distance == 0.0
        safe = xp.where(at_axis, 1.0, distance)
        return distance - self.radius, xp.where(at_axis, 1.0, dx / safe), dy / safe

    def outline_clearance(self, xp: Any, x: Array, y: Array) -> Array:
        """The same without a normal."""
        dx, dy = x - self.center[0], y - self.center[1]
        return xp.sqrt(dx * dx + dy * dy) - self.radius

    def crosses(self, xp: Any, p: tuple[Array, Array], q: tuple[Array, Array]) -> Array:
        """Whether the point nearest to the axis lies inside."""
        zero = p[0] * 0.0
        return _nearest_squared(xp, (*p, zero), (*q, zero), (*self.center, 0.0)) < self.radius * self.radius


class Cylinder(Round):
    """An upright cylinder, with the keys center, radius, bottom and top."""

    shape: Literal["cylinder"] = "cylinder"


class Circle(Round):
    """A circle seen from above: an upright cylinder of unlimited height, with the keys center and radius."""

    shape: Literal["circle"] = "circle"

    @model_validator(mode="after")
    def _unlimited(self) -> Circle:
        if self.bottom is not None or self.top is not None:
            raise PydanticCustomError("obstacle", "a circle has no bottom or top; use the shape 'cylinder'")
        return self


class Sphere(Obstacle):
    """A ball; in two dimensions a circle of its radius.

    Attributes:
        center: (x, y, z) [m; world].
        radius: [m].
    """

    shape: Literal["sphere"] = "sphere"
    center: tuple[Length, Length, Length]
    radius: Annotated[Length, Field(gt=0.0)]

    @property
    def least_width(self) -> float:
        """The diameter [m]."""
        return float(2.0 * self.radius)

    def surrounding_circle(self) -> tuple[float, float, float]:
        """Its own."""
        return (self.center[0], self.center[1], self.radius)

    def flat(self) -> Obstacle:
        """Return its circle."""
        return Circle(center=(self.center[0], self.center[1]), radius=self.radius)

    def surface(self, xp: Any, position: Vector) -> tuple[Array, Vector]:
        """Distance from the centre less the radius."""
        d = tuple(part - c for part, c in zip(position, self.center, strict=True))
        distance = xp.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
        at_center = distance == 0.0
        safe = xp.where(at_center, 1.0, distance)
        return distance - self.radius, (xp.where(at_center, 1.0, d[0] / safe), d[1] / safe, d[2] / safe)

    def blocks(self, xp: Any, p: Vector, q: Vector) -> Array:
        """Whether the point nearest to the centre lies inside."""
        return _nearest_squared(xp, p, q, self.center) < self.radius * self.radius


class Box(Obstacle):
    """A box with faces along the world's axes; given by two corners (x, y), of unlimited height.

    Attributes:
        low: lower corner (x, y, z) or (x, y) [m; world].
        high: upper corner [m; world].
    """

    shape: Literal["box"] = "box"
    low: tuple[Length, Length, Length] | Point
    high: tuple[Length, Length, Length] | Point

    @model_validator(mode="after")
    def _ordered(self) -> Box:
        if len(self.low) != len(self.high) or any(a >= b for a, b in zip(self.low, self.high, strict=True)):
            raise PydanticCustomError("obstacle", "low must be below high on every axis")
        return self

    @property
    def least_width(self) -> float:
        """The least side [m]."""
        return float(min(b - a for a, b in zip(self.low, self.high, strict=True)))

    def surrounding_circle(self) -> tuple[float, float, float]:
        """Through its corners."""
        return circle_around((self.low[:2], self.high[:2]))

    def attached(self, low: Corner, high: Corner) -> Obstacle:
        """Return it reaching well beyond every side of the arena that it meets."""
        beyond = [b - a + 1.0 for a, b in zip(low, high, strict=True)]
        lower = [a - more if a <= b else a for a, b, more in zip(self.low, low, beyond, strict=False)]
        upper = [a + more if a >= b else a for a, b, more in zip(self.high, high, beyond, strict=False)]
        return self.model_copy(update={"low": tuple(lower), "high": tuple(upper)})

    def flat(self) -> Obstacle:
        """Return it without its height."""
        return Box(low=self.low[:2], high=self.high[:2])

    def surface(self, xp: Any, position: Vector) -> tuple[Array, Vector]:
        """Distance to the nearest face, edge or corner."""
        distance, normal = distance_to_rectangle(xp, position[: len(self.low)], self.low, self.high)
        return distance, normal if len(normal) == 3 else (*normal, distance * 0.0)

    def clearance(self, xp: Any, position: Vector) -> Array:
        """The greatest of the distances along the axes."""
        most: Array | None = None
        for part, low, high in zip(position, self.low, self.high, strict=False):
            beyond = xp.abs(part - 0.5 * (low + high)) - 0.5 * (high - low)
            most = beyond if most is None else xp.where(beyond > most, beyond, most)
        return most

    def blocks(self, xp: Any, p: Vector, q: Vector) -> Array:
        """Whether the parts of the segment between opposite faces have a part in common."""
        zero = p[0] * 0.0 + q[0] * 0.0
        interval = (zero, zero + 1.0)
        for axis, (low, high) in enumerate(zip(self.low, self.high, strict=True)):
            interval = between(xp, p[axis], q[axis] - p[axis], low, high, interval)
        return interval[0] < interval[1]


class Polygon(Upright):
    """A solid over a simple polygon, convex or not.

    Attributes:
        points: its corners (x, y) in order, either way round [m; world]; the last joins the first.
    """

    shape: Literal["polygon"] = "polygon"
    points: Annotated[tuple[Point, ...], Field(min_length=3, max_length=200)]

    @field_validator("points")
    @classmethod
    def _simple(cls, points: Points) -> Points:
        edges = sides(points, closed=True)
        for i, (a, b) in enumerate(edges):
            if a == b:
                raise PydanticCustomError("obstacle", "corner {n} is given twice in a row", {"n": i})
            for c, d in edges[i + 2 : len(edges) - (i == 0)]:
                if segments_cross(a, b, c, d):
                    raise PydanticCustomError("obstacle", "the sides of a polygon must not cross")
        area = signed_area(points)
        if area == 0.0:
            raise PydanticCustomError("obstacle", "the corners of a polygon must not lie on one line")
        return points if area > 0.0 else points[::-1]  # counter-clockwise: outside lies to the right of each side

    @property
    def outline_width(self) -> float:
        """Least distance from a corner to a side it does not belong to [m]."""
        return thinnest(self.points)

    def surrounding_circle(self) -> tuple[float, float, float]:
        """Around the middle of its corners."""
        return circle_around(self.points)

    def outline(self, xp: Any, x: Array, y: Array) -> Footprint:
        """Distance to the nearest side."""
        return distance_to_polygon(xp, x, y, self.points)

    def crosses(self, xp: Any, p: tuple[Array, Array], q: tuple[Array, Array]) -> Array:
        """Whether it begins inside or crosses a side."""
        seen = inside_polygon(p[0], p[1], self.points)
        for a, b in sides(self.points, closed=True):
            seen = seen | segments_cross(p, q, a, b)
        return seen


class Wall(Upright):
    """A wall of even thickness along a line of points, with rounded ends and joints.

    Attributes:
        points: its middle line (x, y) in order [m; world].
        thickness: [m].
    """

    shape: Literal["wall"] = "wall"
    points: Annotated[tuple[Point, ...], Field(min_length=2, max_length=200)]
    thickness: Annotated[Length, Field(gt=0.0)]

    @field_validator("points")
    @classmethod
    def _distinct(cls, points: Points) -> Points:
        if any(a == b for a, b in sides(points, closed=False)):
            raise PydanticCustomError("obstacle", "a point of a wall is given twice in a row")
        return points

    @property
    def outline_width(self) -> float:
        """The thickness [m]."""
        return float(self.thickness)

    def surrounding_circle(self) -> tuple[float, float, float]:
        """Around the middle of its points, its thickness added."""
        x, y, radius = circle_around(self.points)
        return (x, y, radius + 0.5 * self.thickness)

    def outline(self, xp: Any, x: Array, y: Array) -> Footprint:
        """Distance to the middle line less half the thickness; inside a bend the nearest surface may be farther."""
        distance, nx, ny = distance_to_chain(xp, x, y, self.points)
        return distance - 0.5 * self.thickness, nx, ny

    def crosses(self, xp: Any, p: tuple[Array, Array], q: tuple[Array, Array]) -> Array:
        """Whether it comes nearer to the middle line than half the thickness."""
        seen: Array | None = None
        for a, b in sides(self.points, closed=False):
            near = segment_near_segment(xp, p, q, a, b, 0.5 * self.thickness)
            seen = near if seen is None else seen | near
        return seen


def _nearest_squared(xp: Any, p: Vector, q: Vector, center: tuple[float, float, float]) -> Array:
    """Return the least squared distance of a segment to a point."""
    way = tuple(b - a for a, b in zip(p, q, strict=True))
    off = tuple(c - a for a, c in zip(p, center, strict=True))
    squared = way[0] * way[0] + way[1] * way[1] + way[2] * way[2]
    along = off[0] * way[0] + off[1] * way[1] + off[2] * way[2]
    t = xp.clip(along / xp.where(squared > 0.0, squared, math.inf), 0.0, 1.0)
    rest = tuple(o - t * w for o, w in zip(off, way, strict=True))
    return rest[0] * rest[0] + rest[1] * rest[1] + rest[2] * rest[2]
