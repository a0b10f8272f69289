"""Draws made ahead: a single engagement draws many numbers at once, where the calls cost more than the arithmetic.

What is kept per engagement has the batch as its last axis; :func:`put_rows` renews some of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pe_sim.arrays import Array

AHEAD = 32
"""Readings drawn for at once."""


class Ahead:
    """Gives what ``draw`` gives for one number, computed for many at once where the batch is one.

    A draw is a function of key and number alone, so drawing ahead changes nothing but the time it takes.

    Args:
        xp: array namespace.
        draw: from numbers, int64 (B,) or (K, 1, ..., 1), to draws with the same leading axis if any.
        rank: number of axes of the stream keys that it draws with.
    """

    def __init__(self, xp: Any, draw: Callable[[Array], Array], rank: int) -> None:
        self._xp = xp
        self._draw = draw
        self._shape = (AHEAD, *(1,) * rank)
        self.forget()

    def forget(self) -> None:
        """Forget what was drawn: the keys have changed."""
        self._first = 0
        self._drawn: Array = None

    def of(self, numbers: Array) -> Array:
        """Return the draws for ``numbers``, int64 (B,)."""
        if numbers.shape[0] != 1:
            return self._draw(numbers)
        number = int(numbers[0])
        place = number - self._first
        if self._drawn is None or not 0 <= place < AHEAD:
            self._first, place = number, 0
            block = self._xp.arange(number, number + AHEAD, dtype=self._xp.int64)
            self._drawn = self._draw(self._xp.reshape(block, self._shape))
        return self._drawn[place]


def put_rows(kept: Array, new: Array, rows: Array | None) -> Array:
    """Return what is kept, (..., B), with ``new``, (..., R), in the engagements ``rows`` (indices; None for all)."""
    if rows is None:
        return new
    kept[..., rows] = new
    return kept
