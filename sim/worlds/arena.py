"""The arena of the kinematic world: the box that agents stay in."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from pe_sim.quantities import Length
from pe_sim.schema import Strict

Reaction = Literal["clip", "bounce", "crash"]
"""What a surface does to who touches it: stop the motion into it, reverse it, or end the agent."""


class Arena(Strict):
    """The box that agents stay in.

    Attributes:
        low: lower corner (x, y, z) [m; world].
        high: upper corner [m; world].
        edge: what its faces do: stop the normal motion (clip), reflect it (bounce), end the agent (crash), or
            nothing (open).
    """

    low: tuple[Length, Length, Length]
    high: tuple[Length, Length, Length]
    edge: Literal["clip", "bounce", "crash", "open"] = "clip"

    @model_validator(mode="after")
    def _ordered(self) -> Arena:
        if any(a >= b for a, b in zip(self.low[:2], self.high[:2], strict=True)) or self.low[2] > self.high[2]:
            raise PydanticCustomError("arena", "low must be below high")
        return self
