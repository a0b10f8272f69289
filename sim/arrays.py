"""Arrays: the library behind them, their layout in memory, and vector algebra written component by component.

Layout. In memory the batch is the last axis: positions are ``(3, N, B)``, so that one component of one role is one
contiguous block and every operation runs at memory speed. What users see is the transposed view ``(B, N, 3)``.

Vectors are tuples of their components. Sums are written out (``x * x + y * y + z * z``) because library reductions
may add in an order that depends on the batch size, and a row of a batch must equal the same engagement run alone.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import array_api_compat
import numpy as np

Array: TypeAlias = Any
"""An array of NumPy, torch or another library of the array API standard."""

Vector: TypeAlias = tuple[Array, Array, Array]
"""Three components (x, y, z), each an array of one shape."""

Quaternion: TypeAlias = tuple[Array, Array, Array, Array]
"""Unit quaternion (x, y, z, w), as in geometry_msgs: rotates body components into world components."""


def namespace(library: str = "numpy") -> Any:
    """Return the array namespace of a library: 'numpy' or 'torch'.

    Raises:
        ModuleNotFoundError: if the library is not installed.
    """
    if library == "torch":
        import array_api_compat.torch as torch_namespace

        return torch_namespace
    return array_api_compat.array_namespace(np.empty(0))


def batch_first(x: Array) -> Array:
    """Return the view (B, N, K) of an array stored as (K, N, B), or (B, N) of (N, B)."""
    return x.transpose(2, 1, 0) if x.ndim == 3 and isinstance(x, np.ndarray) else x.permute(2, 1, 0) if x.ndim == 3 else x.T


def dot(a: Vector, b: Vector) -> Array:
    """Scalar product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> Vector:
    """Vector product."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def add(a: Vector, b: Vector) -> Vector:
    """Sum of two vectors."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def subtract(a: Vector, b: Vector) -> Vector:
    """Difference of two vectors."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def scale(a: Vector, s: Array) -> Vector:
    """A vector times a scalar."""
    return (a[0] * s, a[1] * s, a[2] * s)


def length(xp: Any, a: Vector) -> Array:
    """Euclidean length."""
    return xp.sqrt(dot(a, a))


def unit(xp: Any, a: Vector) -> Vector:
    """Unit vector along ``a``; zero where ``a`` is zero."""
    size = length(xp, a)
    return scale(a, 1.0 / xp.where(size > 0.0, size, 1.0))


def limit(xp: Any, a: Vector, maximum: Array | float) -> Vector:
    """``a`` shortened to at most ``maximum``, direction kept."""
    size = length(xp, a)
    return scale(a, xp.where(size > maximum, maximum / xp.where(size > 0.0, size, 1.0), 1.0))


def rotate(q: Quaternion, v: Vector) -> Vector:
    """Body components to world components: v + 2 w (u x v) + 2 u x (u x v), q = (u, w)."""
    u = (q[0], q[1], q[2])
    t = scale(cross(u, v), 2.0)
    return add(add(v, scale(t, q[3])), cross(u, t))


def rotate_back(q: Quaternion, v: Vector) -> Vector:
    """World components to body components."""
    return rotate((-q[0], -q[1], -q[2], q[3]), v)


def from_yaw(xp: Any, yaw: Array) -> Quaternion:
    """Quaternion of a rotation about the world's z axis [rad, counter-clockwise from east]."""
    zero = yaw * 0.0
    half = 0.5 * yaw
    return (zero, zero, xp.sin(half), xp.cos(half))


def from_euler(xp: Any, roll: Array, pitch: Array, yaw: Array) -> Quaternion:
    """Quaternion of yaw, then pitch, then roll about body axes (REP-103: z up; positive pitch is nose down in FLU)."""
    cr, sr = xp.cos(0.5 * roll), xp.sin(0.5 * roll)
    cp, sp = xp.cos(0.5 * pitch), xp.sin(0.5 * pitch)
    cy, sy = xp.cos(0.5 * yaw), xp.sin(0.5 * yaw)
    return (
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
        cr * cp * cy + sr * sp * sy,
    )


def to_euler(xp: Any, q: Quaternion) -> Vector:
    """Roll, pitch and yaw [rad] of a quaternion (inverse of :func:`from_euler`)."""
    x, y, z, w = q
    roll = xp.atan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
    sine = 2.0 * (w * y - z * x)
    pitch = xp.asin(xp.where(sine > 1.0, 1.0, xp.where(sine < -1.0, -1.0, sine)))
    yaw = xp.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
    return (roll, pitch, yaw)


def wrap_angle(xp: Any, angle: Array) -> Array:
    """An angle [rad] brought into [-pi, pi)."""
    turn = 2.0 * np.pi
    return angle - turn * xp.floor((angle + np.pi) / turn)
