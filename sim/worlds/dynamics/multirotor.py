"""Multirotor under a velocity controller: follows a velocity command with a first-order lag and limits."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar

from pydantic import Field

from pe_sim.arrays import Array
from pe_sim.quantities import Acceleration, Angle, Duration
from pe_sim.timing import seconds
from pe_sim.worlds.base import DynamicsSpec
from pe_sim.worlds.dynamics.base import UNLIMITED, shorten
from pe_sim.worlds.dynamics.platform import Platform, PlatformSpec

GRAVITY = 9.80665
"""Standard gravity [m/s^2]."""


class MultirotorSpec(PlatformSpec):
    """Limits of a multirotor and of its velocity controller.

    Attributes:
        max_speed: greatest speed [m/s].
        max_yaw_rate: greatest yaw rate [rad/s].
        time_constant: lag of the velocity controller [s].
        max_acceleration: greatest magnitude of the acceleration [m/s^2].
        max_tilt: greatest tilt [rad]: horizontal acceleration at most g tan(tilt).
    """

    time_constant: Annotated[Duration, Field(gt=0)] = 200_000_000
    max_acceleration: Annotated[Acceleration, Field(gt=0.0)] = UNLIMITED
    max_tilt: Annotated[Angle, Field(gt=0.0, lt=math.pi / 2)] = math.radians(60.0)


class Multirotor(Platform):
    """Action: velocity (x, y, z) [m/s; world], yaw rate [rad/s]. Sensors ride on a levelled platform: yaw only."""

    name: ClassVar[str] = "multirotor"
    Parameters: ClassVar[type[DynamicsSpec]] = MultirotorSpec
    drawable: ClassVar[tuple[str, ...]] = (
        "max_speed", "max_yaw_rate", "time_constant", "max_acceleration", "max_tilt",
    )

    def prepare(self) -> None:
        """Work out the limits of each agent."""
        super().prepare()
        dt = self.tick
        self._max_speed = self.each(lambda spec: spec.max_speed)
        self._gain = self.each(_gain(dt))
        self._reach = self.each(_reach(dt))
        self._max_change = self.each(lambda spec: spec.max_acceleration * dt)
        self._max_level_change = self.each(lambda spec: GRAVITY * math.tan(spec.max_tilt) * dt)
        self._limited = any(spec.max_acceleration < UNLIMITED for spec in self.extremes)
        # Tilt matters only where it allows less than the greatest acceleration does.
        self._tilt_limited = any(GRAVITY * math.tan(s.max_tilt) < s.max_acceleration for s in self.extremes)

    def follow(self, wish: Array) -> Array:
        """First-order lag: v' = v + (1 - exp(-dt/tau)) (u - v), p' = p + u dt - tau (v' - v), the exact solution.

        Where a limit shortens the change of velocity, the way shrinks in proportion.
        """
        xp, velocity = self.xp, self._velocity
        shorten(xp, wish, self._max_speed)
        wish -= velocity
        wish *= self._gain
        if self._tilt_limited:
            shorten(xp, wish[:2], self._max_level_change)
        if self._limited:
            shorten(xp, wish, self._max_change)
        way = velocity * self.tick
        way += wish * self._reach
        velocity += wish
        if self._tilt_limited and self.dimensions == 3:
            # Sideways and upwards are limited apart, so the sum may come out longer than both its ends.
            shorten(xp, velocity, self._max_speed)
        return way


def _gain(dt: float) -> Any:
    """Return the part of the difference to the command that is gone after a tick, for given parameters."""
    return lambda spec: -math.expm1(-dt / seconds(spec.time_constant))


def _reach(dt: float) -> Any:
    """Return the way [m] that a change of velocity of 1 m/s within the tick adds, for given parameters."""

    def way(spec: MultirotorSpec) -> float:
        tau = seconds(spec.time_constant)
        gain = -math.expm1(-dt / tau)
        # (dt - tau * gain) / gain loses its digits where dt is small beside tau; there it is dt / 2 to first order.
        ratio = dt / tau
        return dt * (0.5 + ratio / 12.0) if ratio < 1e-4 else (dt - tau * gain) / gain

    return way
