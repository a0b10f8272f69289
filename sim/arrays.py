"""Arrays: the library behind them, their layout in memory, and vector algebra written component by component.

Layout. In memory the batch is the last axis: positions are ``(3, N, B)``, so that one component of one role is one
contiguous block and every operation runs at memory speed. What users see is the transposed view ``(B, N, 3)``.

Vectors are tuples of their components. Sums are written out (``x * x + y * y + z * z``) because library reductions
may add in an order that depends on the batch size, and a row of a batch must equal the same engagement run alone.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import SimpleNamespace
from typing import Any, TypeAlias

import array_api_compat.numpy
import numpy as np

from pe_sim.errors import ContractError

Array: TypeAlias = Any
"""An array of NumPy, torch or another library of the array API standard."""

Vector: TypeAlias = tuple[Array, Array, Array]
"""Three components (x, y, z), each an array of one shape."""

Quaternion: TypeAlias = tuple[Array, Array, Array, Array]
"""Unit quaternion (x, y, z, w), as in geometry_msgs: rotates body components into world components."""


@cache
def namespace(library: str = "numpy") -> Any:
    """Return the array namespace of a library: 'numpy' or 'torch'.

    Raises:
        ContractError: if the library is not one of these or is not installed.
    """
    if library == "torch":
        try:
            import array_api_compat.torch as torch_namespace
        except ImportError as fault:
            cure = "pip install 'pe_ros[train]'"
            raise ContractError("array library", "torch is not installed", cure=cure) from fault
        return torch_namespace
    if library != "numpy":
        raise ContractError("array library", "must be 'numpy' or 'torch'", library)
    return SimpleNamespace(**{**vars(array_api_compat.numpy), **_LEAN})


def _ufunc_of_clip() -> Any:
    """Return the ufunc behind np.clip, which NumPy 1 keeps elsewhere than NumPy 2."""
    try:
        return import_module("numpy._core.umath").clip
    except (ImportError, AttributeError):
        return import_module("numpy.core.umath").clip


_clip_ufunc = _ufunc_of_clip()


def _astype(x: Array, dtype: Any) -> Array:
    return x.astype(dtype)


def _any(x: Array, axis: int | None = None) -> Array:
    if axis is not None:
        return np.logical_or.reduce(x, axis=axis)
    if x.dtype == np.bool_:
        return np.bool_(np.count_nonzero(x))
    return np.bool_(x.size) and ((x.max() != 0) | (x.min() != 0))  # vectorised, as counting numbers is not


def _all(x: Array, axis: int | None = None) -> Array:
    return np.bool_(np.count_nonzero(x) == x.size) if axis is None else np.logical_and.reduce(x, axis=axis)


def _min(x: Array, axis: int | None = None) -> Array:
    return np.minimum.reduce(x, axis=axis)


def _max(x: Array, axis: int | None = None) -> Array:
    return np.maximum.reduce(x, axis=axis)


def _clip(x: Array, low: Any = None, high: Any = None) -> Array:
    # The ufunc behind np.clip: a quarter of the time of maximum and minimum, and one rule for the two zeros.
    if low is None or high is None:
        if x.dtype.kind != "f":
            return x if low is high else np.maximum(x, low) if high is None else np.minimum(x, high)
        low, high = -np.inf if low is None else low, np.inf if high is None else high
    return _clip_ufunc(x, low, high)


# One engagement is all overhead: these say the same as NumPy's own in a fraction of the calls.
_LEAN: dict[str, Any] = {
    "astype": _astype, "any": _any, "all": _all, "min": _min, "max": _max, "clip": _clip,
    "zeros": np.zeros, "ones": np.ones, "full": np.full, "empty": np.empty,
    "zeros_like": np.zeros_like, "ones_like": np.ones_like, "full_like": np.full_like, "empty_like": np.empty_like,
}


def batch_first(x: Array) -> Array:
    """Return the view (B, N, K) of an array stored as (K, N, B), or (B, N) of (N, B)."""
    if x.ndim == 2:
        return x.T
    return x.transpose(2, 1, 0) if isinstance(x, np.ndarray) else x.permute(2, 1, 0)


def copy_of(x: Array) -> Array:
    """Return an independent copy of an array."""
    return x.copy() if isinstance(x, np.ndarray) else x.clone()


def columns(x: Array, places: Array) -> Array:
    """Return columns (A, M) of an array (A, B) by indices (M,)."""
    return x.take(places, axis=1) if isinstance(x, np.ndarray) else x[:, places]


MANY = 4096
"""Elements from which on choosing by bits is faster than by branches."""


def choose(xp: Any, where: Array, new: Array, old: Array) -> Array:
    """Return ``new`` where told, bool (n, B), else ``old``, both float32 (A, n, B) and kept to the bit."""
    if not isinstance(new, np.ndarray) or new.size < MANY or new.dtype != old.dtype or new.dtype != np.float32:
        return xp.where(where, new, old)
    # Selecting by a mask of bits costs the same whatever the pattern; branching is at its worst where it is random.
    kept = old.view(np.int32)
    mixed = new.view(np.int32) ^ kept
    mixed &= np.negative(where.view(np.int8), dtype=np.int32)
    mixed ^= kept
    return mixed.view(np.float32)


def replaced(x: Array, columns: Array, values: Array) -> Array:
    """Return a copy of an array (..., B) with other values in some columns, by indices (R,)."""
    out = copy_of(x)
    out[..., columns] = values
    return out


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
