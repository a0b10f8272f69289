"""Inertial: specific force and angular rate, as accelerometers and gyroscopes deliver them."""

from __future__ import annotations

from typing import ClassVar

from pe_sim.arrays import Array, Vector
from pe_sim.sensors.base import Measured, Quantity, Sensor
from pe_sim.sensors.scene import Scene
from pe_sim.timing import NANOSECONDS

GRAVITY = 9.80665
"""Standard gravity [m/s^2]."""


class Inertial(Sensor):
    """Specific force [m/s^2; body] (at rest: one g upwards) and angular velocity [rad/s; body].

    The canonical state holds no acceleration. The specific force is the mean over the time since the sensor's reading
    before: the change of the velocity over ground, divided by the time it took, less gravity, along the present body
    axes. It is not valid in the first reading of an episode. What is lost on the way to the agent was measured all the
    same, so dropout changes nothing here.
    """

    name: ClassVar[str] = "inertial"
    quantities = (
        *(Quantity(f"specific_force_{axis}", "m/s^2") for axis in "xyz"),
        *(Quantity(f"angular_velocity_{axis}", "rad/s") for axis in "xyz"),
    )

    _velocity: Vector
    _stamp: Array

    def reset(self, rows: Array | None, batch: int) -> None:
        """Forget the velocity at the reading before."""
        xp = self.xp
        if rows is None:
            shape = (len(self.setting.numbers), batch)
            self._velocity = (xp.zeros(shape), xp.zeros(shape), xp.zeros(shape))
            self._stamp = xp.full((batch,), -1, dtype=xp.int64)
        else:
            self._stamp[rows] = -1

    def measure(self, scene: Scene) -> Measured:
        """Return the mean specific force since the reading before and the present angular velocity."""
        xp = self.xp
        velocity, spent = scene.own_velocity, scene.stamp - self._stamp
        known = (self._stamp >= 0) & (spent > 0)
        rate = 1.0 / xp.where(known, xp.astype(spent, xp.float64) / NANOSECONDS, 1.0)
        x, y, z = ((now - before) * rate for now, before in zip(velocity, self._velocity, strict=True))
        values = self.pack((*scene.to_body((x, y, z + GRAVITY)), *scene.own.angular_velocity))
        self._remember(velocity, scene)
        if bool(xp.all(known)):
            return values, None
        valid = xp.ones(values.shape, dtype=xp.bool)
        valid[:3] = known
        return values, valid

    def _remember(self, velocity: Vector, scene: Scene) -> None:
        xp = self.xp
        stamp = scene.stamp + 0
        if scene.taken is not None:
            stamp = xp.where(scene.taken, stamp, self._stamp)
            x, y, z = (xp.where(scene.taken, new, old) for new, old in zip(velocity, self._velocity, strict=True))
            velocity = (x, y, z)
        self._velocity, self._stamp = velocity, stamp
