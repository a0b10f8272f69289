"""Camera: where each target is in the image, and how large it appears."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from pe_sim.arrays import Array
from pe_sim.quantities import Angle, Length
from pe_sim.sensors.base import Measured, Quantity, Sensor, SensorSpec, TargetSensorSpec
from pe_sim.sensors.scene import Scene

ALMOST_FLAT = Field(gt=0.0, lt=math.pi)


class CameraSpec(TargetSensorSpec):
    """Settings of a pinhole camera.

    Attributes:
        max_range: range at which a target becomes too small to see [m].
        horizontal_field: whole angle from the left to the right edge of the image [rad].
        vertical_field: whole angle from the upper to the lower edge [rad].
        azimuth_center: azimuth of the optical axis [rad; body, positive left].
        elevation_center: elevation of the optical axis [rad; body, positive up].
        target_radius: radius of a target [m], which makes its apparent size.
    """

    max_range: Annotated[Length, Field(gt=0.0)] = 1e3
    horizontal_field: Annotated[Angle, ALMOST_FLAT] = math.radians(90.0)
    vertical_field: Annotated[Angle, ALMOST_FLAT] = math.radians(60.0)
    azimuth_center: Angle = 0.0
    elevation_center: Annotated[Angle, Field(ge=-0.5 * math.pi, le=0.5 * math.pi)] = 0.0
    target_radius: Annotated[Length, Field(gt=0.0)] = 0.25

    @model_validator(mode="after")
    def _sees_something(self) -> CameraSpec:
        if self.max_range <= self.target_radius:
            raise PydanticCustomError("range", "max_range must be greater than target_radius")
        return self


class Camera(Sensor):
    """Place in the image, u to the right and v down, -1 to 1 from edge to edge, and apparent angular diameter [rad].

    The camera is fixed to the body. Pixels are a matter of quantisation: a step of 2 / 640 for 640 columns.
    """

    name: ClassVar[str] = "camera"
    Parameters: ClassVar[type[SensorSpec]] = CameraSpec
    quantities = (
        Quantity("u", "1", low=-1.0, high=1.0),
        Quantity("v", "1", low=-1.0, high=1.0),
        Quantity("size", "rad", low=0.0, high=math.pi),
    )
    of_targets: ClassVar[bool] = True
    orders: ClassVar[tuple[str, ...]] = ("range", "azimuth")
    spec: CameraSpec

    def measure(self, scene: Scene) -> Measured:
        """Return the projection of each target's centre; valid inside the image and the range."""
        xp, spec, distance = self.xp, self.spec, scene.distance
        ahead, left, up = self._along_axis(*scene.to_body(scene.sight))
        before = ahead > 1e-9
        scale = 1.0 / xp.where(before, ahead, 1.0)
        u = left * scale * (-1.0 / math.tan(0.5 * spec.horizontal_field))
        v = up * scale * (-1.0 / math.tan(0.5 * spec.vertical_field))
        near = distance <= spec.target_radius
        ratio = xp.where(near, 1.0, spec.target_radius / xp.where(near, 1.0, distance))
        valid = before & (distance <= spec.max_range) & (xp.abs(u) <= 1.0) & (xp.abs(v) <= 1.0)
        return self.pack((u, v, 2.0 * xp.asin(ratio))), valid

    def _along_axis(self, x: Array, y: Array, z: Array) -> tuple[Array, Array, Array]:
        """Return body components as components ahead, to the left of and above the optical axis."""
        spec = self.spec
        ca, sa = math.cos(spec.azimuth_center), math.sin(spec.azimuth_center)
        ce, se = math.cos(spec.elevation_center), math.sin(spec.elevation_center)
        level = ca * x + sa * y
        return ce * level + se * z, ca * y - sa * x, ce * z - se * level

    def sort_key(self, values: Array) -> Array:
        """Return what grows with range (smaller looks farther), or from right to left."""
        return -values[2] if self.spec.order == "range" else -values[0]

    def false_values(self, draws: Array) -> Array:
        """Return detections anywhere in the image, of the size of a target anywhere in range."""
        spec = self.spec
        distance = spec.target_radius + (spec.max_range - spec.target_radius) * draws[2]
        size = 2.0 * self.xp.asin(spec.target_radius / distance)
        level = self.setting.planar and spec.elevation_center == 0.0
        v = draws[1] * 0.0 if level else 2.0 * draws[1] - 1.0
        return self.pack((2.0 * draws[0] - 1.0, v, size))
