"""Own motion: attitude, velocity and angular velocity, as an inertial unit with an estimator delivers them."""

from __future__ import annotations

from typing import ClassVar

from pe_sim.arrays import Array
from pe_sim.sensors.base import Quantity, Sensor
from pe_sim.state import Motion


class OwnMotion(Sensor):
    """Attitude (x, y, z, w; body to world), velocity [m/s; body], angular velocity [rad/s; body]."""

    name: ClassVar[str] = "own_motion"
    quantities = (
        *(Quantity(f"attitude_{axis}", "dimensionless") for axis in "xyzw"),
        *(Quantity(f"velocity_{axis}", "m/s") for axis in "xyz"),
        *(Quantity(f"angular_velocity_{axis}", "rad/s") for axis in "xyz"),
    )

    def measure(self, own: Motion, targets: Motion) -> tuple[list[Array], Array | None]:
        """Return the motion as it is; always valid."""
        del targets
        return [*own.attitude, *own.velocity, *own.angular_velocity], None
