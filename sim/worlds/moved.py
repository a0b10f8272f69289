"""Arena and obstacles that are drawn anew for every episode (see :mod:`pe_sim.randomise`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pe_sim.arrays import Array, Vector, columns
from pe_sim.draws import Draw, draw_of
from pe_sim.worlds.arena import Arena
from pe_sim.worlds.solid import Obstacle

if TYPE_CHECKING:
    from pe_sim.engagement import Engagement


class DrawnArena:
    """The arena of each engagement: scaled about its centre seen from above, and upwards from its floor.

    Attributes:
        corners: its lower and upper corner [m; world], float64 (6, B).
        greatest: the greatest that it can be.
    """

    def __init__(self, engagement: Engagement, arena: Arena, dimensions: int, batch: int, xp: Any) -> None:
        self._xp = xp
        self._arena, self._dimensions = arena, dimensions
        self._draw = Draw(engagement, "world.arena", xp)
        ones = xp.ones((batch,), dtype=xp.float64)
        self.corners = self._corners(ones)
        self.greatest = self.scaled(self._draw.high)

    def scaled(self, factor: float) -> Arena:
        """Return the arena scaled by a factor."""
        corners = self._corners(self._xp.ones((1,), dtype=self._xp.float64) * factor)
        ends = corners[:, 0].tolist()
        return self._arena.model_copy(update={"low": tuple(ends[:3]), "high": tuple(ends[3:])})

    def redraw(self, roots: Array, rows: Array | None) -> None:
        """Draw for new episodes with root keys (R,) in the engagements ``rows`` (indices; None for all)."""
        where = slice(None) if rows is None else rows
        self.corners[:, where] = self._corners(self._draw.values(roots))

    def _corners(self, factor: Array) -> Array:
        xp = self._xp
        low, high = [], []
        for axis, (a, b) in enumerate(zip(self._arena.low, self._arena.high, strict=True)):
            if axis == 2:
                stretch = factor if self._dimensions == 3 else factor * 0.0 + 1.0
                low.append(factor * 0.0 + a)
                high.append(a + (b - a) * stretch)
            else:
                middle, half = 0.5 * (a + b), 0.5 * (b - a)
                low.append(middle - half * factor)
                high.append(middle + half * factor)
        return xp.stack([*low, *high])


class Displaced:
    """An obstacle shifted and scaled, otherwise in each engagement; its methods are those of an :class:`Obstacle`.

    Args:
        obstacle: the obstacle as the file says it.
        inverse: one over its size.
        offset: what to add, component by component [m], to a place times ``inverse`` for the place that the unmoved
            obstacle would see; arrays that broadcast with the places asked about.
        size: factor; likewise, None for 1.
        circle: centre (x, y) and radius [m] of a circle that holds it wherever it is.
    """

    def __init__(
        self, obstacle: Obstacle, inverse: Array, offset: tuple[Array, Array, Array], size: Array | None,
        circle: tuple[float, float, float],
    ) -> None:
        self._obstacle = obstacle
        self._inverse = inverse
        self._offset = offset
        self._size = size
        self._circle = circle

    def _own(self, position: Vector) -> Vector:
        """Return positions as the unmoved obstacle sees them."""
        x, y, z = self._offset
        if self._size is None:
            return (position[0] + x, position[1] + y, position[2])
        inverse = self._inverse
        return (position[0] * inverse + x, position[1] * inverse + y, position[2] * inverse + z)

    def surface(self, xp: Any, position: Vector) -> tuple[Array, Vector]:
        """Return the distance to the surface [m] and the outward normal."""
        distance, normal = self._obstacle.surface(xp, self._own(position))
        return distance if self._size is None else distance * self._size, normal

    def clearance(self, xp: Any, position: Vector) -> Array:
        """Return a cheap lower bound of the distance [m]."""
        clearance = self._obstacle.clearance(xp, self._own(position))
        return clearance if self._size is None else clearance * self._size

    def blocks(self, xp: Any, p: Vector, q: Vector) -> Array:
        """Return whether the segment from ``p`` to ``q`` passes through the solid."""
        return self._obstacle.blocks(xp, self._own(p), self._own(q))

    def surrounding_circle(self) -> tuple[float, float, float]:
        """Return a circle that holds it wherever it is."""
        return self._circle


INVERSE, SIZE, X, Y, Z = range(5)
"""Rows of what is kept of an obstacle: one over its size, its size, and the offset of :class:`Displaced`."""


class DrawnObstacles:
    """Shifts and sizes of the obstacles of each engagement.

    Attributes:
        numbers: obstacles that are moved or scaled.
    """

    def __init__(self, engagement: Engagement, obstacles: Sequence[Obstacle], batch: int, xp: Any) -> None:
        self._xp = xp
        self._obstacles = obstacles
        self._shifts: dict[int, tuple[Draw, Draw]] = {}
        self._sizes: dict[int, Draw] = {}
        for number in range(len(obstacles)):
            path = most_specific(engagement, number, "shift")
            if path is not None:
                x, y = (Draw(engagement, path, xp, None, f"{number}/{axis}") for axis in "xy")
                self._shifts[number] = (x, y)
            size = draw_of(engagement, most_specific(engagement, number, "size") or "", xp, None, str(number))
            if size is not None:
                self._sizes[number] = size
        self.numbers = sorted({*self._shifts, *self._sizes})
        self._pivots = [pivot_of(obstacle) for obstacle in obstacles]
        self._around = {number: self._circle_around(number) for number in self.numbers}
        self._kept = xp.zeros((len(obstacles), 5, batch), dtype=xp.float64)
        self._kept[:, :2] = 1.0
        circles = xp.asarray([obstacle.surrounding_circle() for obstacle in obstacles], dtype=xp.float64)
        self._circles = circles.T.reshape(3, -1)[:, :, None] + xp.zeros((1, 1, batch), dtype=xp.float64)

    def _circle_around(self, number: int) -> tuple[float, float, float]:
        """Return a circle that holds an obstacle wherever it is."""
        x, y, radius = self._obstacles[number].surrounding_circle()
        way, greatest = self.farthest(number)
        return (x, y, radius * greatest + way)

    def redraw(self, roots: Array, rows: Array | None) -> None:
        """Draw for new episodes with root keys (R,) in the engagements ``rows`` (indices; None for all)."""
        where = slice(None) if rows is None else rows
        for number in self.numbers:
            dx, dy = (draw.values(roots) for draw in self._shifts[number]) if number in self._shifts else (0.0, 0.0)
            size = self._sizes[number].values(roots) if number in self._sizes else 1.0
            x, y, z = self._pivots[number]
            inverse = 1.0 / size
            kept = self._kept[number]
            kept[INVERSE, where], kept[SIZE, where] = inverse, size
            kept[X, where], kept[Y, where] = x - (x + dx) * inverse, y - (y + dy) * inverse
            kept[Z, where] = z - z * inverse
            if number not in self._sizes:
                kept[X, where], kept[Y, where] = -dx, -dy
            cx, cy, radius = self._obstacles[number].surrounding_circle()
            circle = self._circles[:, number]
            circle[0, where], circle[1, where], circle[2, where] = cx + dx, cy + dy, radius * size

    def least_size(self, number: int) -> float:
        """Return the least factor of an obstacle's size."""
        return float(self._sizes[number].low) if number in self._sizes else 1.0

    def farthest(self, number: int) -> tuple[float, float]:
        """Return the greatest way that an obstacle can be shifted [m] and the greatest factor of its size."""
        ways = [max(abs(draw.low), abs(draw.high)) for draw in self._shifts.get(number, ())]
        way = sum(side * side for side in ways) ** 0.5
        return way, float(self._sizes[number].high) if number in self._sizes else 1.0

    def circles(self, rows: Array) -> tuple[Array, Array, Array]:
        """Return centres and radii of the circles around the obstacles in engagements (M,), each (K, M)."""
        count = len(self._obstacles)
        circles = columns(self._circles.reshape(3 * count, -1), rows)
        return circles[:count], circles[count : 2 * count], circles[2 * count :]

    def of(self, number: int, rows: Array | None, obstacle: Obstacle | None = None) -> Any:
        """Return an obstacle as it is in engagements (indices (M,)); None for all of the batch.

        Args:
            number: which.
            rows: the engagement of each position that it will be asked about.
            obstacle: what to shift and scale instead of the file's.
        """
        solid = self._obstacles[number] if obstacle is None else obstacle
        circle = self._around.get(number)
        if circle is None:
            return solid
        kept = self._kept[number] if rows is None else columns(self._kept[number], rows)
        size = kept[SIZE] if number in self._sizes else None
        return Displaced(solid, kept[INVERSE], (kept[X], kept[Y], kept[Z]), size, circle)

    def all(self) -> list[Any]:
        """Return all obstacles as they are in each engagement of the batch."""
        return [self.of(number, None) for number in range(len(self._obstacles))]


def most_specific(engagement: Engagement, number: int, key: str) -> str | None:
    """Return the path by which an obstacle's shift or size is drawn: its own before that of all; None for neither."""
    for path in (f"world.obstacles.{number}.{key}", f"world.obstacles.{key}"):
        if path in engagement.randomise:
            return path
    return None


def drawn_obstacles(
    engagement: Engagement, obstacles: Sequence[Obstacle], batch: int, xp: Any
) -> DrawnObstacles | None:
    """Return the draws of a world's obstacles, None where the file draws none."""
    if not any(path.startswith("world.obstacles") for path in engagement.randomise):
        return None
    return DrawnObstacles(engagement, obstacles, batch, xp)


def pivot_of(obstacle: Any) -> tuple[float, float, float]:
    """Return the point about which an obstacle is scaled [m; world]: its centre seen from above, its lower face."""
    x, y, _ = obstacle.surrounding_circle()
    corner, center = getattr(obstacle, "low", None), getattr(obstacle, "center", None)
    bottom = getattr(obstacle, "bottom", None)
    if corner is not None and len(corner) == 3:
        z = corner[2]
    elif center is not None and len(center) == 3:
        z = center[2]
    else:
        z = bottom
    return (x, y, 0.0 if z is None else float(z))
