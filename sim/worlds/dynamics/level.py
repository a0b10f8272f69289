"""What never tilts: its attitude is a heading alone."""

from __future__ import annotations

from pe_sim.arrays import Array, Vector
from pe_sim.worlds.dynamics.base import Dynamics
from pe_sim.worlds.dynamics.turning import double


class Level(Dynamics):
    """Dynamics whose body axes are the world's, turned about the vertical."""

    def heading(self, at: Array) -> tuple[Array, Array]:
        """Return sine and cosine of the headings of some agents, (M,)."""
        return double(self.flat[5].take(at), self.flat[6].take(at))

    def ground_velocity(self, at: Array) -> Vector:
        """Return the velocity over ground of some agents [m/s; world], (M,)."""
        sine, cosine = self.heading(at)
        x, y, z = (self.flat[i].take(at) for i in range(7, 10))
        return (cosine * x - sine * y, cosine * y + sine * x, z)

    def show_ground_velocity(self, at: Array, velocity: Vector) -> None:
        """Write the velocity over ground of some agents [m/s; world] into the state; their heading stays."""
        sine, cosine = self.heading(at)
        x, y, z = velocity
        for i, part in enumerate((cosine * x + sine * y, cosine * y - sine * x, z), start=7):
            self.flat[i][at] = part
