"""Arena and obstacles that are drawn anew for every episode (see :mod:`pe_sim.randomise`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pe_sim.arrays import Array, Vector
from pe_sim.draws import Draw, draw_of
from pe_sim.worlds.arena import Arena
from pe_sim.worlds.solid import Obstacle

if TYPE_CHECKING:
    from pe_sim.engagement import Engagement


class DrawnArena:
    """The arena of each engagement: scaled about its centre seen from above, and upwards from its floor.

    Attributes:
        low, high: corners [m; world], float64 (3, B).
        greatest: the greatest that it can be.
    """

    def __init__(self, engagement: Engagement, arena: Arena, dimensions: int, batch: int, xp: Any) -> None:
        self._xp = xp
        self._arena, self._dimensions = arena, dimensions
        self._draw = Draw(engagement, "world.arena", xp)
        ones = xp.ones((batch,), dtype=xp.float64)
        self.low, self.high = self._corners(ones)
        self.greatest = self.scaled(self._draw.high)

    def scaled(self, factor: float) -> Arena:
        """Return the arena scaled by a factor."""
        corners = self._corners(self._xp.ones((1,), dtype=self._xp.float64) * factor)
        low, high = (tuple(part[:, 0].tolist()) for part in corners)
        return self._arena.model_copy(update={"low": low, "high": high})

    def redraw(self, roots: Array, rows: Array | None) -> None:
        """Draw for new episodes with root keys (R,) in the engagements ``rows`` (indices; None for all)."""
        where = slice(None) if rows is None else rows
        self.low[:, where], self.high[:, where] = self._corners(self._draw.values(roots))

    def _corners(self, factor: Array) -> tuple[Array, Array]:
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
        return xp.stack(low), xp.stack(high)


class Displaced:
    """An obstacle shifted and scaled, otherwise in each engagement; its methods are those of an :class:`Obstacle`.

    Args:
        obstacle: the obstacle as the file says it.
        pivot: the point about which it is scaled [m; world].
        shift: components (x, y) [m], arrays that broadcast with the positions asked about.
        size: factor; likewise.
        circle: centre (x, y) and radius [m] of a circle that holds it wherever it is.
    """

    def __init__(
        self, obstacle: Obstacle, pivot: tuple[float, float, float], shift: tuple[Array, Array], size: Array,
        circle: tuple[float, float, float],
    ) -> None:
        self._obstacle = obstacle
        self._pivot = pivot
        self._shift = shift
        self._size = size
        self._circle = circle

    def _own(self, position: Vector) -> Vector:
        """Return positions as the unmoved obstacle sees them."""
        x, y, z = self._pivot
        dx, dy = self._shift
        return (
            (position[0] - x - dx) / self._size + x, (position[1] - y - dy) / self._size + y,
            (position[2] - z) / self._size + z,
        )

    def surface(self, xp: Any, position: Vector) -> tuple[Array, Vector]:
        """Return the distance to the surface [m] and the outward normal."""
        distance, normal = self._obstacle.surface(xp, self._own(position))
        return distance * self._size, normal

    def clearance(self, xp: Any, position: Vector) -> Array:
        """Return a cheap lower bound of the distance [m]."""
        return self._obstacle.clearance(xp, self._own(position)) * self._size

    def blocks(self, xp: Any, p: Vector, q: Vector) -> Array:
        """Return whether the segment from ``p`` to ``q`` passes through the solid."""
        return self._obstacle.blocks(xp, self._own(p), self._own(q))

    def surrounding_circle(self) -> tuple[float, float, float]:
        """Return a circle that holds it wherever it is."""
        return self._circle


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
        self._dx = xp.zeros((len(obstacles), batch), dtype=xp.float64)
        self._dy = self._dx + 0.0
        self._size = self._dx + 1.0

    def redraw(self, roots: Array, rows: Array | None) -> None:
        """Draw for new episodes with root keys (R,) in the engagements ``rows`` (indices; None for all)."""
        where = slice(None) if rows is None else rows
        for number, (x, y) in self._shifts.items():
            self._dx[number, where], self._dy[number, where] = x.values(roots), y.values(roots)
        for number, size in self._sizes.items():
            self._size[number, where] = size.values(roots)

    def least_size(self, number: int) -> float:
        """Return the least factor of an obstacle's size."""
        return float(self._sizes[number].low) if number in self._sizes else 1.0

    def farthest(self, number: int) -> tuple[float, float]:
        """Return the greatest way that an obstacle can be shifted [m] and the greatest factor of its size."""
        ways = [max(abs(draw.low), abs(draw.high)) for draw in self._shifts.get(number, ())]
        way = sum(side * side for side in ways) ** 0.5
        return way, float(self._sizes[number].high) if number in self._sizes else 1.0

    def circles(self, circles: Array, rows: Array) -> tuple[Array, Array, Array]:
        """Return centres and radii of the circles (K, 3) around the obstacles in engagements (M,), each (K, M)."""
        x, y, radius = circles[:, 0:1], circles[:, 1:2], circles[:, 2:3]
        take = self._xp.take
        return (
            x + take(self._dx, rows, axis=1), y + take(self._dy, rows, axis=1), radius * take(self._size, rows, axis=1)
        )

    def of(self, number: int, rows: Array | None, obstacle: Obstacle | None = None) -> Any:
        """Return an obstacle as it is in engagements (indices (M,)); None for all of the batch.

        Args:
            number: which.
            rows: the engagement of each position that it will be asked about.
            obstacle: what to shift and scale instead of the file's.
        """
        solid = self._obstacles[number] if obstacle is None else obstacle
        if number not in self._shifts and number not in self._sizes:
            return solid
        parts = [part[number] if rows is None else part[number].take(rows) for part in (self._dx, self._dy, self._size)]
        said = self._obstacles[number]
        x, y, radius = said.surrounding_circle()
        way, greatest = self.farthest(number)
        return Displaced(solid, pivot_of(said), (parts[0], parts[1]), parts[2], (x, y, radius * greatest + way))

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
