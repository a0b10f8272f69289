"""Bearing: the direction of each target and nothing more, as a passive sensor delivers it."""

from __future__ import annotations

from typing import ClassVar

from pe_sim.arrays import Array
from pe_sim.sensors.base import Measured, Quantity, Sensor, SensorSpec
from pe_sim.sensors.radar import ELEVATION, FieldSpec, direction_angles
from pe_sim.sensors.scene import Scene


class Bearing(Sensor):
    """Azimuth [rad; body, positive left] and elevation [rad; body, positive up]; ranges are not told."""

    name: ClassVar[str] = "bearing"
    Parameters: ClassVar[type[SensorSpec]] = FieldSpec
    quantities = (Quantity("azimuth", "rad", angle=True), ELEVATION)
    of_targets: ClassVar[bool] = True
    orders: ClassVar[tuple[str, ...]] = ("azimuth",)
    spec: FieldSpec

    def measure(self, scene: Scene) -> Measured:
        """Return the direction of the line of sight; invalid outside range or field of view."""
        azimuth, elevation = direction_angles(scene)
        return self.pack((azimuth, elevation)), self.spec.sees(self.xp, scene.distance, azimuth, elevation)

    def false_values(self, draws: Array) -> Array:
        """Return directions anywhere in the field of view."""
        return self.pack(self.spec.anywhere(self.xp, draws, planar=self.setting.planar))
