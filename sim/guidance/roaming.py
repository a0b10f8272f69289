"""Evaders that do not look: straight, zigzag and circling flight, kept off walls by turning as a mirror does."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Annotated, ClassVar

from pydantic import Field

from pe_sim import streams
from pe_sim.arrays import Array, Vector
from pe_sim.guidance.base import Guidance, GuidanceSpec
from pe_sim.guidance.own import PositionReader
from pe_sim.guidance.steering import Steering
from pe_sim.guidance.surroundings import Surroundings
from pe_sim.guidance.vectors import choose, zeros
from pe_sim.policies.base import PolicyContext, Views
from pe_sim.quantities import Angle, Duration, Length, Speed
from pe_sim.timing import NANOSECONDS, seconds


class RoamingSpec(GuidanceSpec):
    """Parameters of flight that does not look.

    Attributes:
        heading: direction at the start [rad, counter-clockwise from east], None for one drawn per agent and episode.
        speed: [m/s], None for the top speed.
        margin: distance from faces and obstacles at which to turn away [m], which takes a position sensor; None to
            fly on.
    """

    heading: Angle | None = None
    speed: Annotated[Speed, Field(gt=0.0)] | None = None
    margin: Annotated[Length, Field(gt=0.0)] | None = None


class Roaming(Guidance):
    """Level flight about a base direction. Memory: the base direction, which changes at walls only."""

    needs: ClassVar[str] = "nothing (margin: position)"
    deterministic = False
    Parameters: ClassVar[type[GuidanceSpec]] = RoamingSpec
    parameters: RoamingSpec

    def __init__(self, context: PolicyContext, parameters: RoamingSpec) -> None:
        super().__init__(context, parameters)
        self._steering = Steering.of(context, self.name)
        self._surroundings = Surroundings(context)
        self._place = None if parameters.margin is None else PositionReader(context, self.name)
        self._base = zeros(self.xp, (len(context.agents), context.batch))

    def forget(self, rows: Array | None) -> None:
        """Take the base direction of a new episode."""
        xp, given = self.xp, self.parameters.heading
        where = slice(None) if rows is None else rows
        keys = self.keys[:, where]
        turn = 2.0 * math.pi * streams.uniform(xp, keys, 0, 1) if given is None else keys * 0.0 + given
        for part, value in zip(self._base, (xp.cos(turn), xp.sin(turn), turn * 0.0), strict=True):
            part[:, where] = value

    def law(self, views: Views, now: Array, due: Array) -> tuple[Array, Array | None]:
        """Base direction turned by the manoeuvre."""
        xp, spec, own = self.xp, self.parameters, self._steering.own(views)
        known: Array = due
        if self._place is not None:
            assert spec.margin is not None
            place, known = self._place.read(views)
            turned = self._surroundings.deflect(place, self._base, spec.margin)
            self._base = choose(xp, known & due, turned, self._base)
        angle = self.turn(now)
        cosine, sine = xp.cos(angle), xp.sin(angle)
        x, y, z = self._base
        wish: Vector = (x * cosine - y * sine, x * sine + y * cosine, z)
        if self._place is not None and spec.margin is not None:
            wish = self._surroundings.deflect(place, wish, spec.margin)
        speed = self._steering.top_speed if spec.speed is None else spec.speed
        return self._steering.along(wish, speed, own), self._steering.sure(known, own)

    @abstractmethod
    def turn(self, now: Array) -> Array:
        """Return the angle off the base direction at an instant [ns, (B,)], (n, B) or (B,)."""


class Straight(Roaming):
    """Straight on, at constant speed."""

    name: ClassVar[str] = "straight"
    formula: ClassVar[str] = "heading = h0"

    def turn(self, now: Array) -> Array:
        """None."""
        return self.xp.astype(now * 0, self.xp.float64)


class ZigzagSpec(RoamingSpec):
    """Parameters of zigzag flight.

    Attributes:
        angle: to either side of the base direction [rad].
        period: from one turn to the left to the next [s].
    """

    angle: Annotated[Angle, Field(gt=0.0, le=1.5)] = math.radians(45.0)
    period: Annotated[Duration, Field(gt=0)] = 4_000_000_000


class Zigzag(Roaming):
    """Alternately to the left and to the right of the base direction; each agent begins at a time of its own."""

    name: ClassVar[str] = "zigzag"
    formula: ClassVar[str] = "heading = h0 + or - angle"
    Parameters: ClassVar[type[GuidanceSpec]] = ZigzagSpec
    parameters: ZigzagSpec

    def turn(self, now: Array) -> Array:
        """Plus or minus the angle."""
        xp, spec = self.xp, self.parameters
        begin = xp.astype(streams.uniform(xp, self.keys, 0, 2) * float(spec.period), xp.int64)
        left = (now + begin) % spec.period < spec.period // 2
        return xp.where(left, spec.angle, -spec.angle)


class CirclingSpec(RoamingSpec):
    """Parameters of circling flight.

    Attributes:
        radius: [m].
        clockwise: whether to turn to the right.
    """

    radius: Annotated[Length, Field(gt=0.0)] = 10.0
    clockwise: bool = False


class Circling(Roaming):
    """Round and round, on a circle of given radius as far as the dynamics can."""

    name: ClassVar[str] = "circling"
    formula: ClassVar[str] = "heading = h0 + v t / radius"
    Parameters: ClassVar[type[GuidanceSpec]] = CirclingSpec
    parameters: CirclingSpec

    def turn(self, now: Array) -> Array:
        """Speed over radius, times the time, at the middle of the time until the next decision."""
        xp, spec = self.xp, self.parameters
        speed = self._steering.top_speed if spec.speed is None else spec.speed
        rate = speed / spec.radius * (-1.0 if spec.clockwise else 1.0)
        return rate * (xp.astype(now, xp.float64) / NANOSECONDS + 0.5 * seconds(self.context.period))
