"""Warning receiver: who points a radar at us, from where, and how strongly."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

from pydantic import Field

from pe_sim.arrays import Array, rotate_back, scale
from pe_sim.quantities import Angle, Length
from pe_sim.sensors.base import Measured, Quantity, Sensor, SensorSpec, TargetSensorSpec
from pe_sim.sensors.radar import direction_angles
from pe_sim.sensors.scene import Scene


class WarningReceiverSpec(TargetSensorSpec):
    """Settings of a warning receiver.

    Attributes:
        max_range: range at which an emitter's signal reaches the threshold [m]; twice a radar's own range or more,
            as its signal goes one way only.
        emitter_azimuth: whole angle that an emitter covers left and right of its nose [rad].
        emitter_elevation: whole angle that it covers below and above its nose [rad].
    """

    max_range: Annotated[Length, Field(gt=0.0)] = 1e5
    emitter_azimuth: Annotated[Angle, Field(gt=0.0, le=2.0 * math.pi + 1e-9)] = math.radians(120.0)
    emitter_elevation: Annotated[Angle, Field(gt=0.0, le=math.pi + 1e-9)] = math.radians(120.0)


class WarningReceiver(Sensor):
    """Azimuth of an emitter [rad; body, positive left] and its strength over the threshold [dB].

    Valid while the emitter has us in front of it and within range: it does not tell whether it tracks us. Signal
    falls with the square of range.
    """

    name: ClassVar[str] = "warning_receiver"
    Parameters: ClassVar[type[SensorSpec]] = WarningReceiverSpec
    quantities = (Quantity("azimuth", "rad", angle=True), Quantity("strength", "1"))
    of_targets: ClassVar[bool] = True
    orders: ClassVar[tuple[str, ...]] = ("azimuth",)
    spec: WarningReceiverSpec

    def measure(self, scene: Scene) -> Measured:
        """Return whose beam we are in."""
        xp, spec = self.xp, self.spec
        x, y, z = rotate_back(scene.targets.attitude, scale(scene.sight, -1.0))
        azimuth, _ = direction_angles(scene)
        lit = abs(xp.atan2(y, x)) <= 0.5 * spec.emitter_azimuth
        lit = lit & (abs(xp.atan2(z, xp.sqrt(x * x + y * y))) <= 0.5 * spec.emitter_elevation)
        distance = xp.where(scene.distance > 1.0, scene.distance, 1.0)
        return self.pack((azimuth, self._strength(distance))), lit & (distance <= spec.max_range)

    def false_values(self, draws: Array) -> Array:
        """Return signals from anywhere, as strong as emitters at distances uniform within range would send them."""
        distance = self.xp.clip(self.spec.max_range * draws[1], 1.0, None)
        return self.pack((math.pi * (2.0 * draws[0] - 1.0), self._strength(distance)))

    def _strength(self, distance: Array) -> Array:
        return (20.0 / math.log(10.0)) * self.xp.log(self.spec.max_range / distance)
