"""Own motion: attitude, velocity and angular velocity, as an inertial unit with an estimator delivers them."""

from __future__ import annotations

from typing import ClassVar

from pe_sim.sensors.base import Measured, Quantity, Sensor
from pe_sim.sensors.scene import Scene


class OwnMotion(Sensor):
    """Attitude (x, y, z, w; body to world), velocity [m/s; body], angular velocity [rad/s; body]."""

    name: ClassVar[str] = "own_motion"
    quantities = (
        *(Quantity(f"attitude_{axis}", "1") for axis in "xyzw"),
        *(Quantity(f"velocity_{axis}", "m/s") for axis in "xyz"),
        *(Quantity(f"angular_velocity_{axis}", "rad/s") for axis in "xyz"),
    )

    def measure(self, scene: Scene) -> Measured:
        """Return the motion as it is; always valid."""
        return scene.own.block[3:13], None
