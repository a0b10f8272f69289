"""Plane geometry of obstacles seen from above: distances, insides and crossings, for arrays of points."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from pe_sim.arrays import Array

Points = tuple[tuple[float, float], ...]
"""Points (x, y) [m]."""

TINY = 1e-9
"""Distance [m] below which the direction to a point is noise."""


def sides(points: Points, *, closed: bool) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Return the segments of a chain of points; ``closed`` adds the one from the last to the first."""
    ends = list(pairwise(points))
    return [*ends, (points[-1], points[0])] if closed else ends


def signed_area(points: Points) -> float:
    """Return the area of a polygon [m^2], positive where its corners go round counter-clockwise."""
    return 0.5 * math.fsum(a[0] * b[1] - b[0] * a[1] for a, b in sides(points, closed=True))


def circle_around(points: Points) -> tuple[float, float, float]:
    """Return centre (x, y) and radius [m] of a circle that holds all points: the middle of their bounding box."""
    x = 0.5 * (min(p[0] for p in points) + max(p[0] for p in points))
    y = 0.5 * (min(p[1] for p in points) + max(p[1] for p in points))
    return (x, y, max(math.hypot(p[0] - x, p[1] - y) for p in points))


def thinnest(points: Points) -> float:
    """Return the least distance from a corner of a polygon to a side it does not belong to [m]."""
    least = math.inf
    for corner in points:
        for a, b in sides(points, closed=True):
            if corner in (a, b):
                continue
            ex, ey = b[0] - a[0], b[1] - a[1]
            t = ((corner[0] - a[0]) * ex + (corner[1] - a[1]) * ey) / (ex * ex + ey * ey)
            t = min(max(t, 0.0), 1.0)
            least = min(least, math.hypot(corner[0] - a[0] - t * ex, corner[1] - a[1] - t * ey))
    return least


def from_segment(xp: Any, x: Array, y: Array, a: tuple[Any, Any], b: tuple[Any, Any]) -> tuple[Array, Array]:
    """Return the vector from the nearest point of a segment ab to each point [m]."""
    ex, ey = b[0] - a[0], b[1] - a[1]
    wx, wy = x - a[0], y - a[1]
    squared = ex * ex + ey * ey
    if not isinstance(squared, float):  # the segment's ends are arrays, and it may be a point
        squared = xp.where(squared > 0.0, squared, math.inf)
    t = xp.clip((wx * ex + wy * ey) / squared, 0.0, 1.0)
    return wx - t * ex, wy - t * ey


def distance_to_chain(
    xp: Any, x: Array, y: Array, points: Points, *, closed: bool = False
) -> tuple[Array, Array, Array]:
    """Return the distance to a chain of segments [m] and the unit vector away from its nearest point.

    On the chain itself the vector points to the right of its direction.
    """
    best: Array | None = None
    for a, b in sides(points, closed=closed):
        bx, by = from_segment(xp, x, y, a, b)
        squared = bx * bx + by * by
        size = math.hypot(b[0] - a[0], b[1] - a[1])
        right = ((b[1] - a[1]) / size, (a[0] - b[0]) / size)
        on = squared < TINY * TINY
        bx, by = xp.where(on, right[0], bx), xp.where(on, right[1], by)
        if best is None:
            best, nx, ny = squared, bx, by
        else:
            nearer = squared < best
            best = xp.where(nearer, squared, best)
            nx, ny = xp.where(nearer, bx, nx), xp.where(nearer, by, ny)
    size = xp.sqrt(nx * nx + ny * ny)
    return xp.sqrt(best), nx / size, ny / size


def inside_polygon(x: Array, y: Array, points: Points) -> Array:
    """Return whether points lie inside a polygon: a ray to the east then crosses its sides an odd number of times."""
    inside: Array | None = None
    for a, b in sides(points, closed=True):
        spans = (y < a[1]) != (y < b[1])
        left = (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]) > 0.0
        crossed = spans & (left if b[1] > a[1] else ~left)
        inside = crossed if inside is None else inside ^ crossed
    return inside


def distance_to_polygon(xp: Any, x: Array, y: Array, points: Points) -> tuple[Array, Array, Array]:
    """Return the signed distance to a counter-clockwise polygon [m], negative inside, and the outward normal."""
    distance, nx, ny = distance_to_chain(xp, x, y, points, closed=True)
    # The vector away from the nearest point leads inwards from inside, except on the boundary (see there).
    inwards = inside_polygon(x, y, points) & (distance >= TINY)
    sign = xp.where(inwards, -1.0, 1.0)
    return distance * sign, nx * sign, ny * sign


def distance_to_rectangle(
    xp: Any, position: tuple[Array, ...], low: tuple[float, ...], high: tuple[float, ...]
) -> tuple[Array, tuple[Array, ...]]:
    """Return the signed distance to a rectangle or box along the axes [m], and the outward normal."""
    beyond, side = [], []
    for part, a, b in zip(position, low, high, strict=True):
        under, over = a - part, part - b
        beyond.append(xp.where(over >= under, over, under))
        side.append(xp.where(over >= under, 1.0, -1.0))
    most = beyond[0]
    for part in beyond[1:]:
        most = xp.where(part > most, part, most)
    out = [xp.where(part > 0.0, part, 0.0) for part in beyond]
    squared = out[0] * out[0]
    for part in out[1:]:
        squared = squared + part * part
    outside = squared > 0.0
    distance = xp.sqrt(squared)
    safe = xp.where(outside, distance, 1.0)
    normal: list[Array] = []
    taken = outside & ~outside
    for part, away, sign in zip(beyond, out, side, strict=True):
        here = (part == most) & ~taken
        taken = taken | here
        normal.append(xp.where(outside, away / safe, xp.where(here, 1.0, 0.0)) * sign)
    return xp.where(outside, distance, most), tuple(normal)


def segments_cross(p: tuple[Any, Any], q: tuple[Any, Any], a: tuple[Any, Any], b: tuple[Any, Any]) -> Any:
    """Return whether two segments cross; a line through an end counts as passing beside it, so none slips through."""
    return (_left(p, q, a) != _left(p, q, b)) & (_left(a, b, p) != _left(a, b, q))


def _left(a: tuple[Any, Any], b: tuple[Any, Any], p: tuple[Any, Any]) -> Any:
    return (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0]) > 0.0


def segment_near_segment(
    xp: Any,
    p: tuple[Array, Array],
    q: tuple[Array, Array],
    a: tuple[float, float],
    b: tuple[float, float],
    radius: float,
) -> Array:
    """Return whether segments pq come nearer to a segment ab than ``radius`` [m]."""
    near = segments_cross(p, q, a, b)
    for x, y, c, d in ((p[0], p[1], a, b), (q[0], q[1], a, b), (a[0], a[1], p, q), (b[0], b[1], p, q)):
        dx, dy = from_segment(xp, x, y, c, d)
        near = near | (dx * dx + dy * dy < radius * radius)
    return near
