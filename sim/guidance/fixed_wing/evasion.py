"""Evaders in the air: straight on, beam, break turn, jink, weave."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar

from pydantic import Field

from pe_sim import streams
from pe_sim.arrays import Array, Vector, add, dot, scale, unit
from pe_sim.guidance.base import GuidanceSpec
from pe_sim.guidance.fixed_wing.base import AirGuidance, AirSpec, OpponentReader
from pe_sim.guidance.fixed_wing.steering import GRAVITY
from pe_sim.guidance.own import Own
from pe_sim.guidance.vectors import left_of
from pe_sim.policies.base import PolicyContext, Views
from pe_sim.quantities import Duration, Length
from pe_sim.timing import seconds


class AirStraight(AirGuidance):
    """Level flight on the course that it is on."""

    name: ClassVar[str] = "air_straight"
    formula: ClassVar[str] = "v = v_s h"
    needs: ClassVar[str] = "own_motion"

    def fly(self, views: Views, own: Own, now: Array, due: Array) -> tuple[Array, Array | None]:
        """Hold course and height."""
        return self.steering.along(level_course(self.xp, own), self.speed, own), None


class AirBeam(AirGuidance):
    """Turn the nearest opponent onto the beam and keep it there: its closing speed and a Doppler radar's signal go.

    Level, to the side that is nearer; straight on while nobody is in track.
    """

    name: ClassVar[str] = "air_beam"
    formula: ClassVar[str] = "v square to u, level, to the nearer side"
    needs: ClassVar[str] = "direction and range of the opponents, own_motion"

    def __init__(self, context: PolicyContext, parameters: GuidanceSpec) -> None:
        super().__init__(context, parameters)
        self._opponent = OpponentReader(context, self.name)

    def forget(self, rows: Array | None) -> None:
        """Forget the opponent."""
        self._opponent.forget(rows)

    def fly(self, views: Views, own: Own, now: Array, due: Array) -> tuple[Array, Array | None]:
        """Fly square to the line of sight."""
        xp = self.xp
        opponent = self._opponent.read(views, own, due)
        square = unit(xp, left_of(opponent.sight))
        square = scale(square, xp.where(dot(square, own.velocity) < 0.0, -1.0, 1.0))
        course = level_course(xp, own)
        x, y, z = (xp.where(opponent.seen, a, b) for a, b in zip(square, course, strict=True))
        return self.steering.along((x, y, z), self.speed, own), None


class AirBreakSpec(AirSpec):
    """Parameters of the law.

    Attributes:
        within: range at which the turn begins [m].
        load_factor: how hard; None for the greatest that the autopilot pulls.
    """

    within: Annotated[Length, Field(gt=0.0)] = 2500.0
    load_factor: Annotated[float, Field(gt=1.0, le=12.0)] | None = None


class AirBreak(AirGuidance):
    """Break turn: level, as hard as possible, towards an opponent that has come near; else straight on."""

    name: ClassVar[str] = "air_break"
    formula: ClassVar[str] = "a = g sqrt(n^2 - 1) to the opponent's side while d < within"
    needs: ClassVar[str] = "range and direction of the opponents, own_motion"
    Parameters: ClassVar[type[GuidanceSpec]] = AirBreakSpec
    parameters: AirBreakSpec

    def __init__(self, context: PolicyContext, parameters: GuidanceSpec) -> None:
        super().__init__(context, parameters)
        self._opponent = OpponentReader(context, self.name)

    def forget(self, rows: Array | None) -> None:
        """Forget the opponent."""
        self._opponent.forget(rows)

    def fly(self, views: Views, own: Own, now: Array, due: Array) -> tuple[Array, Array | None]:
        """Turn into the opponent."""
        xp = self.xp
        opponent = self._opponent.read(views, own, due)
        near = opponent.seen & (opponent.distance < self.parameters.within)
        heading = level_course(xp, own)
        left = left_of(heading)
        side = xp.where(dot(opponent.sight, left) >= 0.0, 1.0, -1.0)
        load = self.steering.most_load if self.parameters.load_factor is None else self.parameters.load_factor
        pull = GRAVITY * math.sqrt(load * load - 1.0)
        wish = add(scale(left, side * pull), level_out(xp, own))
        turn = self.steering.accelerate(wish, heading, own)
        straight = self.steering.along(heading, self.speed, own)
        return xp.where(near[None], turn, straight), None


class AirJinkSpec(AirSpec):
    """Parameters of the law.

    Attributes:
        every: time between two changes of bank [s].
        bank: greatest bank to either side [rad].
        load_factor: greatest load factor; each jink draws one from 1 to this.
    """

    every: Annotated[Duration, Field(gt=0)] = 2_500_000_000
    bank: Annotated[float, Field(gt=0.0, lt=1.5)] = 1.3
    load_factor: Annotated[float, Field(gt=1.0, le=12.0)] = 5.0


class AirJink(AirGuidance):
    """Random hard turns: a side and a strength drawn anew after a time."""

    name: ClassVar[str] = "air_jink"
    formula: ClassVar[str] = "a = g sqrt(n^2 - 1) sin(bank) across h, n and bank drawn every `every`"
    needs: ClassVar[str] = "own_motion"
    deterministic = False
    Parameters: ClassVar[type[GuidanceSpec]] = AirJinkSpec
    parameters: AirJinkSpec

    def fly(self, views: Views, own: Own, now: Array, due: Array) -> tuple[Array, Array | None]:
        """Turn as drawn for the present interval."""
        xp, spec = self.xp, self.parameters
        number = now // spec.every
        side = 2.0 * streams.uniform(xp, self.keys, number, 0) - 1.0
        load = 1.0 + (spec.load_factor - 1.0) * streams.uniform(xp, self.keys, number, 1)
        heading = level_course(xp, own)
        pull = GRAVITY * xp.sqrt(load * load - 1.0) * xp.sin(spec.bank * side)
        wish = add(scale(left_of(heading), pull), level_out(xp, own))
        return self.steering.accelerate(wish, heading, own), None


class AirWeaveSpec(AirSpec):
    """Parameters of the law.

    Attributes:
        period: time of one weave, left and right [s].
        amplitude: greatest angle between the course and its mean [rad].
    """

    period: Annotated[Duration, Field(gt=0)] = 24_000_000_000
    amplitude: Annotated[float, Field(gt=0.0, lt=1.5)] = 0.6


class AirWeave(AirGuidance):
    """Weave about the course at the start: a sine of the heading, level."""

    name: ClassVar[str] = "air_weave"
    formula: ClassVar[str] = "heading = h0 + amplitude sin(2 pi t / period)"
    needs: ClassVar[str] = "own_motion"
    Parameters: ClassVar[type[GuidanceSpec]] = AirWeaveSpec
    parameters: AirWeaveSpec

    def __init__(self, context: PolicyContext, parameters: GuidanceSpec) -> None:
        super().__init__(context, parameters)
        xp, shape = self.xp, (len(context.agents), context.batch)
        self._course: Array = xp.zeros(shape, dtype=xp.float64)
        self._begun: Array = xp.zeros(shape, dtype=xp.bool)

    def forget(self, rows: Array | None) -> None:
        """Forget the course."""
        self._begun[:, slice(None) if rows is None else rows] = False

    def fly(self, views: Views, own: Own, now: Array, due: Array) -> tuple[Array, Array | None]:
        """Follow the sine of the heading."""
        xp, spec = self.xp, self.parameters
        fresh = due & own.known & ~self._begun
        self._course = xp.where(fresh, xp.atan2(own.velocity[1], own.velocity[0]), self._course)
        self._begun = self._begun | fresh
        turn = 2.0 * math.pi / seconds(spec.period)
        time = xp.astype(now, xp.float64) * 1e-9
        heading = self._course + spec.amplitude * xp.sin(turn * time)
        direction = (xp.cos(heading), xp.sin(heading), heading * 0.0)
        return self.steering.along(direction, self.speed, own), None


def level_course(xp: Any, own: Own) -> Vector:
    """Return the unit direction of the velocity over ground, seen from above."""
    return unit(xp, (own.velocity[0], own.velocity[1], own.velocity[2] * 0.0))


def level_out(xp: Any, own: Own) -> Vector:
    """Return the vertical acceleration [m/s^2; world] that takes the climb away.

    Rolling from one turn into the other, the lift that was meant for the turn points up for a moment.
    """
    zero = own.speed * 0.0
    return (zero, zero, xp.clip(-own.velocity[2] / 2.0, -GRAVITY, GRAVITY))
