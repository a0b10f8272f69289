"""Relative motion of other agents, in world axes: an ideal tracker, the plainest input for learning and grids."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar

from pydantic import Field
from pydantic_core import PydanticCustomError

from pe_sim.arrays import Array, dot
from pe_sim.quantities import Length
from pe_sim.sensors.base import Measured, Quantity, Sensor, SensorSpec, TargetSensorSpec
from pe_sim.sensors.scene import Scene


class RelativeSpec(TargetSensorSpec):
    """Settings of a relative tracker.

    Attributes:
        max_range: greatest range [m], None for no limit.
    """

    max_range: Annotated[Length, Field(gt=0.0)] | None = None


class Relative(Sensor):
    """Position [m] and velocity [m/s] of each target relative to the observer, in world axes."""

    name: ClassVar[str] = "relative"
    Parameters: ClassVar[type[SensorSpec]] = RelativeSpec
    quantities = (
        *(Quantity(axis, "m") for axis in "xyz"),
        *(Quantity(f"velocity_{axis}", "m/s") for axis in "xyz"),
    )
    of_targets: ClassVar[bool] = True
    frame: ClassVar[str] = "world"
    orders: ClassVar[tuple[str, ...]] = ("range", "azimuth")
    spec: RelativeSpec

    def measure(self, scene: Scene) -> Measured:
        """Return target minus observer; valid within range."""
        values, limit = scene.relative_motion(), self.spec.max_range
        return values, None if limit is None else dot(scene.sight, scene.sight) <= limit * limit

    def sort_key(self, values: Array) -> Array:
        """Return the squared distance, or the azimuth in world axes."""
        x, y, z = values[0], values[1], values[2]
        return x * x + y * y + z * z if self.spec.order == "range" else self.xp.atan2(y, x)

    def false_values(self, draws: Array) -> Array:
        """Return detections in any direction and at any distance within range, moving in any direction."""
        spec = self.spec
        assert spec.false_alarms is not None
        assert spec.max_range is not None
        place = self._anywhere(draws[0:3], spec.max_range)
        return self.pack((*place, *self._anywhere(draws[3:6], spec.false_alarms.speed)))

    def _anywhere(self, draws: Array, most: float) -> tuple[Array, Array, Array]:
        xp = self.xp
        height = draws[1] * 0.0 if self.setting.planar else 2.0 * draws[1] - 1.0
        level = xp.sqrt(1.0 - height * height) * (draws[2] * most)
        turn = 2.0 * math.pi * draws[0]
        return level * xp.cos(turn), level * xp.sin(turn), height * (draws[2] * most)

    @classmethod
    def check(cls, engagement: Any, role: str, sensor: str) -> None:
        """Refuse false alarms where no range says where they can be."""
        super().check(engagement, role, sensor)
        spec = engagement.roles[role].sensors[sensor]
        if spec.false_alarms is not None and spec.max_range is None:
            raise PydanticCustomError(
                "range", "{path}: false alarms lie within max_range: give one",
                {"path": f"roles.{role}.sensors.{sensor}"},
            )
