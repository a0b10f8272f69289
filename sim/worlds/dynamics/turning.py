"""Turning by an angle without angles: a heading is kept as the sine and cosine of its half, which is its quaternion."""

from __future__ import annotations

import math
from typing import Any

from pe_sim.arrays import Array

SMALL = 0.5
"""Greatest angle [rad] for which the series are used."""


def sinc_cos(xp: Any, x: Array, greatest: float) -> tuple[Array, Array]:
    """Return sin(x) / x and cos(x) for x between -``greatest`` and ``greatest`` [rad].

    Small angles, the rule within a tick, go by their Taylor series with as many terms as doubles can show: products
    and sums, several times as fast as the library's sine, and the same on every machine.
    """
    if greatest > SMALL:
        tiny = xp.abs(x) < 1e-4
        sinc = xp.where(tiny, 1.0 - x * x / 6.0, xp.sin(x) / xp.where(tiny, 1.0, x))
        return sinc, xp.cos(x)
    y = x * x
    terms = _terms(greatest)
    return _series(y, 1, terms), _series(y, 0, terms)


def _terms(greatest: float) -> int:
    """Return the number of terms whose remainder lies below the last bit of 1."""
    count = 1
    while greatest ** (2 * count) / math.factorial(2 * count) > 2.0**-55:
        count += 1
    return max(count, 2)


def _series(y: Array, odd: int, terms: int) -> Array:
    """Return sum of (-y)^k / (2 k + odd)! for k < ``terms``, by Horner's rule."""
    total = y * _coefficient(terms - 1, odd)
    for k in range(terms - 2, 0, -1):
        total += _coefficient(k, odd)
        total *= y
    total += 1.0
    return total


def _coefficient(k: int, odd: int) -> float:
    return (-1.0) ** k / math.factorial(2 * k + odd)


def turn(sine: Array, cosine: Array, by_sine: Array, by_cosine: Array) -> tuple[Array, Array]:
    """Return sine and cosine of the sum of two angles."""
    return sine * by_cosine + cosine * by_sine, cosine * by_cosine - sine * by_sine


def double(sine: Array, cosine: Array) -> tuple[Array, Array]:
    """Return sine and cosine of twice an angle."""
    product = sine * cosine
    return product + product, cosine * cosine - sine * sine


def half_of(xp: Any, x: Array, y: Array) -> tuple[Array, Array]:
    """Return sine and cosine of half the heading of vectors (x, y)."""
    half = 0.5 * xp.atan2(y, x)
    return xp.sin(half), xp.cos(half)
