"""Relative motion of other agents, in world axes: an ideal tracker, the plainest input for learning and grids."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from pe_sim.arrays import Array, dot, rotate, subtract
from pe_sim.quantities import Length
from pe_sim.sensors.base import Quantity, Sensor, SensorSpec, TargetSensorSpec
from pe_sim.state import Motion


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
    spec: RelativeSpec

    def measure(self, own: Motion, targets: Motion) -> tuple[list[Array], Array | None]:
        """Return target minus observer; valid within range."""
        place = subtract(targets.position, own.position)
        velocity = subtract(rotate(targets.attitude, targets.velocity), rotate(own.attitude, own.velocity))
        limit = self.spec.max_range
        return [*place, *velocity], None if limit is None else dot(place, place) <= limit * limit
