"""Wind: a mean and gusts, the same everywhere in the arena at one instant, different in every engagement."""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import Field

from pe_sim import streams
from pe_sim.arrays import Array
from pe_sim.quantities import Duration, Speed
from pe_sim.schema import Strict
from pe_sim.timing import seconds

LIMIT = 4.0
"""Gusts are cut off at so many standard deviations, so that nothing is blown further than a bound known beforehand."""


class Gusts(Strict):
    """First-order Gauss-Markov gusts: Dryden's longitudinal spectrum (MIL-F-8785C) of scale length V * time_constant.

    Attributes:
        deviation: standard deviation of each horizontal component [m/s].
        vertical: standard deviation of the vertical component [m/s].
        time_constant: after which their correlation has fallen to 1/e [s].
    """

    deviation: Annotated[Speed, Field(ge=0.0)]
    vertical: Annotated[Speed, Field(ge=0.0)] = 0.0
    time_constant: Annotated[Duration, Field(gt=0)] = 2_000_000_000


class Wind(Strict):
    """How the air moves.

    Attributes:
        mean: mean velocity, where it blows to (x, y, z) [m/s; world].
        gusts: what comes on top, at random.
    """

    mean: tuple[Speed, Speed, Speed] = (0.0, 0.0, 0.0)
    gusts: Gusts | None = None

    @property
    def greatest(self) -> float:
        """Greatest speed of the air [m/s]."""
        gust = 0.0 if self.gusts is None else LIMIT * math.hypot(*_deviations(self.gusts, 3))
        return math.hypot(*self.mean) + gust


class WindField:
    """The wind in B engagements, tick by tick.

    Gust k of an engagement is made of the draws 0 to k of its own stream: a row of a batch has the wind it has alone.
    """

    def __init__(self, spec: Wind, dimensions: int, tick: float, batch: int, xp: Any) -> None:
        self._xp = xp
        mean = [*spec.mean[:dimensions], 0.0][:3]
        self._mean = xp.asarray(mean, dtype=xp.float64)[:, None]
        self._constant = self._mean + xp.zeros((3, batch), dtype=xp.float64)
        self._gusts = spec.gusts
        if spec.gusts is None:
            return
        ratio = tick / seconds(spec.gusts.time_constant)
        deviation = xp.asarray(_deviations(spec.gusts, dimensions), dtype=xp.float64)[:, None]
        self._deviation = deviation
        self._keep = math.exp(-ratio)
        self._fresh = deviation * math.sqrt(-math.expm1(-2.0 * ratio))
        self._gust = xp.zeros((3, batch), dtype=xp.float64)
        self._keys = xp.zeros((batch,), dtype=xp.int64)
        self._number = xp.zeros((batch,), dtype=xp.int64)

    def reset(self, keys: Array, rows: Array | None) -> None:
        """Begin the wind of some engagements, indices (R,) or None for all, from their root keys (R,)."""
        if self._gusts is None:
            return
        where = slice(None) if rows is None else rows
        own = streams.derive(keys, streams.name_key("wind"))
        self._keys[where] = own
        self._number[where] = 0
        draws = self._xp.stack(streams.normals(self._xp, own, 0, 3))
        self._gust[:, where] = self._cut(self._deviation * draws)

    def blow(self) -> Array:
        """Return the velocity of the air during the next tick [m/s; world], (3, B)."""
        if self._gusts is None:
            return self._constant
        xp = self._xp
        wind = self._mean + self._gust
        self._number += 1
        draws = xp.stack(streams.normals(xp, self._keys, self._number, 3))
        self._gust = self._cut(self._keep * self._gust + self._fresh * draws)
        return wind

    def _cut(self, gust: Array) -> Array:
        return self._xp.clip(gust, -LIMIT * self._deviation, LIMIT * self._deviation)


def _deviations(gusts: Gusts, dimensions: int) -> list[float]:
    return [gusts.deviation, gusts.deviation, gusts.vertical if dimensions == 3 else 0.0]
