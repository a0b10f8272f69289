"""Counter-based random streams: a draw depends on what it is for, never on when it is asked for.

Every draw is a function of (seed, episode, names, number, component). Two processes that know the same seed draw
the same noise, whatever else they draw and in whatever order; a batch draws the same as its rows one by one.

The generator is SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014) used
by position: the n-th output of a stream is the finaliser of ``key + n * GOLDEN``. Arithmetic is modulo 2**64 on
int64, so that array libraries without unsigned types run the same source.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any

from pe_sim.arrays import Array

_BITS = 64
_GOLDEN = 0x9E3779B97F4A7C15
_MUL_1 = 0xBF58476D1CE4E5B9
_MUL_2 = 0x94D049BB133111EB


def _signed(value: int) -> int:
    """Return a 64-bit pattern as the int64 with the same bits."""
    value &= 2**_BITS - 1
    return value - 2**_BITS if value >= 2 ** (_BITS - 1) else value


def _shift_right(x: Array, places: int) -> Array:
    """Logical right shift of int64: the arithmetic shift with the copied sign bits cleared."""
    return (x >> places) & ((1 << (_BITS - places)) - 1)


def mix(x: Array) -> Array:
    """Return SplitMix64's finaliser of each element (int64, modulo 2**64)."""
    x = (x ^ _shift_right(x, 30)) * _signed(_MUL_1)
    x = (x ^ _shift_right(x, 27)) * _signed(_MUL_2)
    return x ^ _shift_right(x, 31)


def name_key(name: str) -> int:
    """Return a stable 64-bit key of a name (int64), so that adding an agent changes no other agent's noise."""
    return _signed(int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little"))


def derive(key: Array, part: Array | int) -> Array:
    """Return the key of a sub-stream: ``key`` refined by a number or by an array of numbers (broadcast)."""
    if isinstance(part, int):
        return mix(mix(key) + _signed((part + 1) * _GOLDEN))
    return mix(mix(key) + part * _signed(_GOLDEN) + _signed(_GOLDEN))


def episode_keys(seeds: Array, episodes: Array) -> Array:
    """Return the root key of each engagement; seeds and episodes are int64 of shape (B,)."""
    return derive(derive(seeds * 0, seeds), episodes)


def bits(key: Array, number: Array | int, component: int) -> Array:
    """Return 64 random bits (int64) for draw ``number`` of stream ``key``; up to 2**20 components a draw."""
    stride = _GOLDEN << 20
    if isinstance(number, int):
        return mix(key + _signed(number * stride + _GOLDEN * (component + 1)))
    return mix(key + number * _signed(stride) + _signed(_GOLDEN * (component + 1)))


def uniform(xp: Any, key: Array, number: Array | int, component: int = 0) -> Array:
    """Return a uniform draw in (0, 1), float64, 52 random bits, for each element of ``key``."""
    raw = _shift_right(bits(key, number, component), 12)
    return (xp.astype(raw, xp.float64) + 0.5) * 2.0**-52


def normal_pair(xp: Any, key: Array, number: Array | int, component: int = 0) -> tuple[Array, Array]:
    """Return two independent standard normal draws, float64 (Box and Muller, 1958), for each element of ``key``."""
    raw = bits(key, number, component)
    u1 = (xp.astype(_shift_right(raw, 32), xp.float64) + 0.5) * 2.0**-32
    u2 = xp.astype(raw & 0xFFFFFFFF, xp.float64) * (2.0 * math.pi * 2.0**-32)
    radius = xp.sqrt(-2.0 * xp.log(u1))
    return radius * xp.cos(u2), radius * xp.sin(u2)


def normals(xp: Any, key: Array, number: Array | int, components: int) -> list[Array]:
    """Return ``components`` independent standard normal draws for each element of ``key``."""
    out: list[Array] = []
    for pair in range((components + 1) // 2):
        out.extend(normal_pair(xp, key, number, pair))
    return out[:components]
