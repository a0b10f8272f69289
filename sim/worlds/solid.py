"""What every obstacle can tell: how far away it is, which way is out, whether it stands in a line of sight."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from pe_sim.arrays import Array, Vector
from pe_sim.quantities import Length
from pe_sim.schema import Strict

Footprint = tuple[Array, Array, Array]
"""Signed distance to an outline seen from above [m] and the outward unit normal (x, y) there."""

Corner = tuple[float, float, float]
"""A corner of an arena [m; world]."""

Interval = tuple[Array, Array]
"""Fractions (first, last) of a segment; empty where first >= last."""


class Obstacle(Strict):
    """A solid that agents cannot enter and sensors cannot see through.

    Attributes:
        shape: its kind.
    """

    shape: str

    @abstractmethod
    def surface(self, xp: Any, position: Vector) -> tuple[Array, Vector]:
        """Return the distance to the surface [m], negative inside, and the outward unit normal of the nearest point."""

    def clearance(self, xp: Any, position: Vector) -> Array:
        """Return a cheap lower bound of the distance of :meth:`surface` [m]; its sign is right."""
        return self.surface(xp, position)[0]

    @abstractmethod
    def blocks(self, xp: Any, p: Vector, q: Vector) -> Array:
        """Return whether the segment from ``p`` to ``q`` passes through the solid; touching does not count."""

    @property
    @abstractmethod
    def least_width(self) -> float:
        """Least way through it [m], sharp corners left aside."""

    def surrounding_circle(self) -> tuple[float, float, float]:
        """Return centre (x, y) and radius [m] of a circle that holds it, seen from above; the radius may be infinite.

        Where there are many obstacles, those whose circles are far away are not looked at.
        """
        return (0.0, 0.0, math.inf)

    def attached(self, low: Corner, high: Corner) -> Obstacle:
        """Return it with the faces that lie at or beyond the sides of an arena, given by its corners, moved away."""
        del low, high
        return self

    def flat(self) -> Obstacle:
        """Return the obstacle as a two-dimensional world sees it: from above, of unlimited height."""
        return self


class Upright(Obstacle):
    """A solid with vertical sides over an outline, between two heights or of unlimited height.

    Attributes:
        bottom: height of its lower face [m; world], None where it has none.
        top: height of its upper face [m; world], None where it has none.
    """

    bottom: Length | None = None
    top: Length | None = None

    @model_validator(mode="after")
    def _has_height(self) -> Upright:
        if self.bottom is not None and self.top is not None and self.bottom >= self.top:
            raise PydanticCustomError("obstacle", "bottom must be below top")
        return self

    @abstractmethod
    def outline(self, xp: Any, x: Array, y: Array) -> Footprint:
        """Return the signed distance to the outline [m] and its outward normal."""

    @abstractmethod
    def crosses(self, xp: Any, p: tuple[Array, Array], q: tuple[Array, Array]) -> Array:
        """Return whether a segment seen from above passes through the outline's inside."""

    @property
    @abstractmethod
    def outline_width(self) -> float:
        """Least way through the outline [m]."""

    @property
    def least_width(self) -> float:
        """Least of width and height [m]."""
        if self.bottom is None or self.top is None:
            return self.outline_width
        return float(min(self.outline_width, self.top - self.bottom))

    def flat(self) -> Obstacle:
        """Return it without its faces."""
        return self.model_copy(update={"bottom": None, "top": None})

    def attached(self, low: Corner, high: Corner) -> Obstacle:
        """Return it without faces that lie outside or in the floor or the ceiling."""
        update: dict[str, None] = {}
        if self.bottom is not None and self.bottom <= low[2]:
            update["bottom"] = None
        if self.top is not None and self.top >= high[2]:
            update["top"] = None
        return self.model_copy(update=update)

    def surface(self, xp: Any, position: Vector) -> tuple[Array, Vector]:
        """Distance to the side, to a face, or outside both to the rim between them."""
        side, nx, ny = self.outline(xp, position[0], position[1])
        if self.bottom is None and self.top is None:
            return side, (nx, ny, side * 0.0)
        face, up = self._face(xp, position[2])
        beside, beyond = side > 0.0, face > 0.0
        rim = beside & beyond
        corner = xp.sqrt(side * side + face * face)
        safe = xp.where(rim, corner, 1.0)
        by_side = ~rim & (side >= face)
        level = xp.where(rim, side / safe, xp.where(by_side, 1.0, 0.0))
        distance = xp.where(rim, corner, xp.where(by_side, side, face))
        return distance, (nx * level, ny * level, xp.where(rim, face / safe, xp.where(by_side, 0.0, 1.0)) * up)

    def clearance(self, xp: Any, position: Vector) -> Array:
        """The greater of the distances to the side and to a face."""
        side = self.outline_clearance(xp, position[0], position[1])
        if self.bottom is None and self.top is None:
            return side
        face = self._face(xp, position[2])[0]
        return xp.where(side > face, side, face)

    def outline_clearance(self, xp: Any, x: Array, y: Array) -> Array:
        """Return a cheap lower bound of the distance to the outline [m], its sign right."""
        return self.outline(xp, x, y)[0]

    def _face(self, xp: Any, z: Array) -> tuple[Array, Array]:
        """Return the distance above the top or below the bottom, the greater of the two, and +1 or -1 for its side."""
        if self.top is None:
            assert self.bottom is not None
            return self.bottom - z, z * 0.0 - 1.0
        above = z - self.top
        if self.bottom is None:
            return above, z * 0.0 + 1.0
        below = self.bottom - z
        return xp.where(above >= below, above, below), xp.where(above >= below, 1.0, -1.0)

    def blocks(self, xp: Any, p: Vector, q: Vector) -> Array:
        """Cut the segment to the heights of the solid, then look from above."""
        x, y = (p[0], q[0] - p[0]), (p[1], q[1] - p[1])
        zero = x[1] * 0.0
        first, last = between(xp, p[2], q[2] - p[2], self.bottom, self.top, (zero, zero + 1.0))
        seen = self.crosses(
            xp, (x[0] + first * x[1], y[0] + first * y[1]), (x[0] + last * x[1], y[0] + last * y[1])
        )
        return seen & (first < last)


def between(
    xp: Any, start: Array, way: Array, low: float | None, high: float | None, interval: Interval
) -> Interval:
    """Return the part of an interval of fractions t in which ``low < start + t * way < high``."""
    if low is None and high is None:
        return interval
    first, last = interval
    still = way == 0.0
    safe = xp.where(still, 1.0, way)
    at_low = (-math.inf if low is None else low) - start
    at_high = (math.inf if high is None else high) - start
    enter, leave = xp.where(way > 0.0, at_low, at_high) / safe, xp.where(way > 0.0, at_high, at_low) / safe
    outside = still & ((at_low >= 0.0) | (at_high <= 0.0))
    first = xp.where(~still & (enter > first), enter, first)
    last = xp.where(~still & (leave < last), leave, last)
    # An empty interval keeps finite ends, so that a point computed from it is a number.
    empty = outside | (first >= last)
    return xp.where(empty, 0.0, first), xp.where(empty, 0.0, last)
