"""Vector helpers of guidance beside those of :mod:`pe_sim.arrays`."""

from __future__ import annotations

from typing import Any

from pe_sim.arrays import Array, Vector, dot, scale, subtract


def choose(xp: Any, where: Array, a: Vector, b: Vector) -> Vector:
    """Return ``a`` where told, else ``b``."""
    return (xp.where(where, a[0], b[0]), xp.where(where, a[1], b[1]), xp.where(where, a[2], b[2]))


def across(v: Vector, direction: Vector) -> Vector:
    """Return the part of ``v`` across a unit vector."""
    return subtract(v, scale(direction, dot(v, direction)))


def zeros(xp: Any, shape: tuple[int, ...]) -> Vector:
    """Return a zero vector."""
    return (xp.zeros(shape, dtype=xp.float64), xp.zeros(shape, dtype=xp.float64), xp.zeros(shape, dtype=xp.float64))


def put(vector: Vector, rows: Array | None, value: float) -> None:
    """Set a remembered vector, each (n, B), in the given engagements (indices; None for all)."""
    for part in vector:
        part[:, slice(None) if rows is None else rows] = value


def left_of(direction: Vector) -> Vector:
    """Return the level direction a quarter turn to the left."""
    return (-direction[1], direction[0], direction[2] * 0.0)
