"""Position: own place in the world, as a satellite or motion-capture receiver delivers it."""

from __future__ import annotations

from typing import ClassVar

from pe_sim.arrays import Array
from pe_sim.sensors.base import Quantity, Sensor
from pe_sim.state import Motion


class Position(Sensor):
    """Own position [m; ENU world]."""

    name: ClassVar[str] = "position"
    quantities = tuple(Quantity(axis, "m") for axis in "xyz")
    frame: ClassVar[str] = "world"

    def measure(self, own: Motion, targets: Motion) -> tuple[list[Array], Array | None]:
        """Return the position; always valid."""
        del targets
        return list(own.position), None
