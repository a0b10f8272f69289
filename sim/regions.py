"""Regions of space that rules speak of: a goal to reach, a zone to hold."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from pe_sim.arrays import Array, Vector
from pe_sim.quantities import Length
from pe_sim.schema import Strict


class Region(Strict):
    """A ball, an upright cylinder of unlimited height (centre with two coordinates), or a box.

    Attributes:
        center: (x, y) or (x, y, z) [m; world].
        radius: [m].
        low: lower corner (x, y, z) [m; world].
        high: upper corner [m; world].
    """

    center: tuple[Length, Length] | tuple[Length, Length, Length] | None = None
    radius: Annotated[Length, Field(gt=0.0)] | None = None
    low: tuple[Length, Length, Length] | None = None
    high: tuple[Length, Length, Length] | None = None

    @model_validator(mode="after")
    def _one_shape(self) -> Region:
        round_ = (self.center is not None, self.radius is not None)
        box = (self.low is not None, self.high is not None)
        if not (all(round_) and not any(box)) and not (all(box) and not any(round_)):
            raise PydanticCustomError("region", "needs either 'center' and 'radius', or 'low' and 'high'")
        corners = zip(self.low or (), self.high or (), strict=True)
        if any(low > high for low, high in corners):
            raise PydanticCustomError("region", "low must not exceed high")
        return self

    def contains(self, xp: Any, position: Vector | Array) -> Array:
        """Return where positions [m; world] lie inside; the border belongs to it."""
        if self.center is not None and self.radius is not None:
            total: Array = 0.0
            for axis, middle in enumerate(self.center):
                total = total + (position[axis] - middle) ** 2
            return total <= self.radius * self.radius
        assert self.low is not None
        assert self.high is not None
        inside: Array = True
        for axis in range(3):
            inside = inside & (position[axis] >= self.low[axis]) & (position[axis] <= self.high[axis])
        return inside
