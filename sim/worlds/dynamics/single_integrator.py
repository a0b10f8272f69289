"""Single integrator: a point that has the velocity it is told, at once."""

from __future__ import annotations

from typing import ClassVar

from pe_sim.arrays import Array
from pe_sim.worlds.dynamics.base import shorten
from pe_sim.worlds.dynamics.platform import Platform


class SingleIntegrator(Platform):
    """Action: velocity (x, y, z) [m/s; world], yaw rate [rad/s]."""

    name: ClassVar[str] = "single_integrator"

    def prepare(self) -> None:
        """Work out the limits of each agent."""
        super().prepare()
        self._max_speed = self.each(lambda spec: spec.max_speed)

    def follow(self, wish: Array) -> Array:
        """Take the commanded velocity, shortened to the greatest speed: p += u dt, exact."""
        shorten(self.xp, wish, self._max_speed)
        self._velocity[...] = wish
        return wish * self.tick
