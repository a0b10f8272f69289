"""Position: own place in the world, as a satellite or motion-capture receiver delivers it."""

from __future__ import annotations

from typing import ClassVar

from pe_sim.sensors.base import Measured, Quantity, Sensor
from pe_sim.sensors.scene import Scene


class Position(Sensor):
    """Own position [m; ENU world]."""

    name: ClassVar[str] = "position"
    quantities = tuple(Quantity(axis, "m") for axis in "xyz")
    frame: ClassVar[str] = "world"

    def measure(self, scene: Scene) -> Measured:
        """Return the position; always valid."""
        return scene.own.block[0:3], None
