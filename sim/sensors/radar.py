"""Radar: range, azimuth, elevation and range rate of each target within range and field of view."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar

from pydantic import Field

from pe_sim.arrays import Array, wrap_angle
from pe_sim.quantities import Angle, Length
from pe_sim.sensors.base import Measured, Quantity, Sensor, SensorSpec, TargetSensorSpec
from pe_sim.sensors.scene import Scene

WHOLE_TURN = 2.0 * math.pi

ELEVATION = Quantity("elevation", "rad", low=-0.5 * math.pi, high=0.5 * math.pi)
"""Elevation [rad; body, positive up]."""


class FieldSpec(TargetSensorSpec):
    """A sensor with a field of view about its boresight, which a gimbal can turn.

    Attributes:
        max_range: greatest range [m].
        min_range: least range [m].
        azimuth_center: azimuth of the boresight [rad; body, positive left].
        azimuth_field: whole angle seen from left to right about the boresight [rad].
        elevation_center: elevation of the boresight [rad; body, positive up].
        elevation_field: whole angle seen from bottom to top about the boresight [rad].
    """

    max_range: Annotated[Length, Field(gt=0.0)] = 1e5
    min_range: Annotated[Length, Field(ge=0.0)] = 0.0
    azimuth_center: Angle = 0.0
    azimuth_field: Annotated[Angle, Field(gt=0.0, le=2.0 * math.pi + 1e-9)] = 2.0 * math.pi
    elevation_center: Annotated[Angle, Field(ge=-0.5 * math.pi, le=0.5 * math.pi)] = 0.0
    elevation_field: Annotated[Angle, Field(gt=0.0, le=math.pi + 1e-9)] = math.pi

    def sees(self, xp: Any, distance: Array, azimuth: Array, elevation: Array) -> Array:
        """Return where a direction and distance lie in the field of view."""
        seen = distance <= self.max_range
        if self.min_range > 0.0:
            seen = seen & (distance >= self.min_range)
        if self.azimuth_field < WHOLE_TURN:
            off = azimuth if self.azimuth_center == 0.0 else wrap_angle(xp, azimuth - self.azimuth_center)
            seen = seen & (abs(off) <= 0.5 * self.azimuth_field)
        if self.elevation_field < math.pi or self.elevation_center != 0.0:
            seen = seen & (abs(elevation - self.elevation_center) <= 0.5 * self.elevation_field)
        return seen

    def anywhere(self, xp: Any, draws: Array, *, planar: bool) -> tuple[Array, Array]:
        """Return azimuth and elevation anywhere in the field of view from two uniform draws."""
        azimuth = wrap_angle(xp, self.azimuth_center + self.azimuth_field * (draws[0] - 0.5))
        low = max(-0.5 * math.pi, self.elevation_center - 0.5 * self.elevation_field)
        high = min(0.5 * math.pi, self.elevation_center + 0.5 * self.elevation_field)
        return azimuth, draws[1] * 0.0 if planar else low + (high - low) * draws[1]


def direction_angles(scene: Scene) -> tuple[Array, Array]:
    """Return azimuth [rad; body, positive left] and elevation [rad; body, positive up] of the lines of sight."""
    xp = scene.xp
    x, y, z = scene.to_body(scene.sight)
    return xp.atan2(y, x), xp.atan2(z, xp.sqrt(x * x + y * y))


class Radar(Sensor):
    """Range [m], azimuth [rad; body, positive left], elevation [rad; body, positive up], range rate [m/s]."""

    name: ClassVar[str] = "radar"
    Parameters: ClassVar[type[SensorSpec]] = FieldSpec
    quantities = (
        Quantity("range", "m", low=0.0),
        Quantity("azimuth", "rad", angle=True),
        ELEVATION,
        Quantity("range_rate", "m/s"),
    )
    of_targets: ClassVar[bool] = True
    orders: ClassVar[tuple[str, ...]] = ("range", "azimuth")
    spec: FieldSpec

    def measure(self, scene: Scene) -> Measured:
        """Return the spherical coordinates of the line of sight; invalid outside range or field of view."""
        distance = scene.distance
        azimuth, elevation = direction_angles(scene)
        values = self.pack((distance, azimuth, elevation, scene.range_rate))
        return values, self.spec.sees(self.xp, distance, azimuth, elevation)

    def false_values(self, draws: Array) -> Array:
        """Return detections anywhere in range and field of view, closing or opening."""
        spec = self.spec
        assert spec.false_alarms is not None
        distance = spec.min_range + (spec.max_range - spec.min_range) * draws[0]
        azimuth, elevation = spec.anywhere(self.xp, draws[1:3], planar=self.setting.planar)
        return self.pack((distance, azimuth, elevation, (2.0 * draws[3] - 1.0) * spec.false_alarms.speed))
