"""Radar: range, bearing, elevation and range rate of each target within range and field of view."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

from pydantic import Field

from pe_sim.arrays import Array, dot, length, rotate, rotate_back, subtract
from pe_sim.quantities import Angle, Length
from pe_sim.sensors.base import Quantity, Sensor, SensorSpec, TargetSensorSpec
from pe_sim.state import Motion


class RadarSpec(TargetSensorSpec):
    """Settings of a radar.

    Attributes:
        max_range: greatest range [m].
        min_range: least range [m].
        azimuth_field: whole angle seen from left to right, centred ahead [rad].
        elevation_field: whole angle seen from bottom to top, centred ahead [rad].
    """

    max_range: Annotated[Length, Field(gt=0.0)] = 1e5
    min_range: Annotated[Length, Field(ge=0.0)] = 0.0
    azimuth_field: Annotated[Angle, Field(gt=0.0, le=2.0 * math.pi + 1e-9)] = 2.0 * math.pi
    elevation_field: Annotated[Angle, Field(gt=0.0, le=math.pi + 1e-9)] = math.pi


class Radar(Sensor):
    """Range [m], azimuth [rad; body, positive left], elevation [rad; body, positive up], range rate [m/s]."""

    name: ClassVar[str] = "radar"
    Parameters: ClassVar[type[SensorSpec]] = RadarSpec
    quantities = (
        Quantity("range", "m"),
        Quantity("azimuth", "rad", angle=True),
        Quantity("elevation", "rad"),
        Quantity("range_rate", "m/s"),
    )
    of_targets: ClassVar[bool] = True
    spec: RadarSpec

    def measure(self, own: Motion, targets: Motion) -> tuple[list[Array], Array | None]:
        """Return the spherical coordinates of the line of sight; invalid outside range or field of view."""
        xp = self.xp
        sight = subtract(targets.position, own.position)
        distance = length(xp, sight)
        safe = xp.where(distance > 0.0, distance, 1.0)
        motion = subtract(rotate(targets.attitude, targets.velocity), rotate(own.attitude, own.velocity))
        range_rate = dot(sight, motion) / safe
        x, y, z = rotate_back(own.attitude, sight)
        azimuth = xp.atan2(y, x)
        elevation = xp.atan2(z, xp.sqrt(x * x + y * y))
        return [distance, azimuth, elevation, range_rate], self._in_view(distance, azimuth, elevation)

    def _in_view(self, distance: Array, azimuth: Array, elevation: Array) -> Array:
        spec, xp = self.spec, self.xp
        seen = (distance <= spec.max_range) & (distance >= spec.min_range)
        if spec.azimuth_field < 2.0 * math.pi:
            seen = seen & (xp.abs(azimuth) <= 0.5 * spec.azimuth_field)
        if spec.elevation_field < math.pi:
            seen = seen & (xp.abs(elevation) <= 0.5 * spec.elevation_field)
        return seen
