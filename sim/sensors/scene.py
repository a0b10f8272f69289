"""The scene of a reading: the motion of the observers and of those they observe, at one instant, and what follows."""

from __future__ import annotations

from typing import Any

from pe_sim.arrays import Array, Quaternion, Vector, rotate, rotate_back
from pe_sim.state import Motion

OWN_ATTITUDE = slice(3, 7)
"""Rows of the attitude in a block of the canonical state."""


class Scene:
    """Motion of n observers and, for a sensor of targets, of the m targets of each.

    Everything derived is computed when first asked for, and once. Arrays are float64; those of observers are (n, B),
    or (n, 1, B) where there are targets; those of targets (1 or n, m, B); those of pairs (n, m, B).

    Args:
        xp: array namespace.
        block: canonical state of everybody concerned, (13, k, B).
        own: which of the k are the observers.
        targets: which are the targets: the same for all observers (a slice), or an index array (n, m); None for none.
        stamp: instant [ns], int64 (B,).
        taken: engagements in which a reading is taken, bool (B,); None for all.
    """

    def __init__(
        self, xp: Any, block: Array, own: slice | list[int], targets: slice | Array | None, stamp: Array,
        taken: Array | None = None,
    ) -> None:
        self.xp = xp
        self.stamp = stamp
        self.taken = taken
        self._block = block
        self._own = own
        self._targets = targets
        self._own_motion: Motion | None = None
        self._targets_motion: Motion | None = None
        self._world_velocity: Array = None
        self._sight: Array = None
        self._relative_velocity: Array = None
        self._distance: Array = None
        # Most vehicles stay level, and a turn about the vertical alone takes a third of the work; points do not turn.
        self._level = not bool(xp.any(block[3:5] != 0.0))

    def _of_own(self, x: Array) -> Array:
        x = x[:, self._own]
        return x if self._targets is None else x[:, :, None]

    def _of_targets(self, x: Array) -> Array:
        assert self._targets is not None, "a sensor of oneself has no targets"
        return x[:, None, self._targets] if isinstance(self._targets, slice) else x[:, self._targets]

    @property
    def own(self) -> Motion:
        """Motion of the observers."""
        if self._own_motion is None:
            self._own_motion = Motion(self._of_own(self._block))
        return self._own_motion

    @property
    def targets(self) -> Motion:
        """Motion of the targets."""
        if self._targets_motion is None:
            self._targets_motion = Motion(self._of_targets(self._block))
        return self._targets_motion

    def _velocities(self) -> Array:
        """Return the velocity of everybody [m/s; world], (3, k, B)."""
        if self._world_velocity is None:
            self._world_velocity = self.xp.empty((3, *self._block.shape[1:]), dtype=self.xp.float64)
            self._turn_velocities(self._world_velocity)
        return self._world_velocity

    def _turn_velocities(self, out: Array) -> None:
        """Write the velocity of everybody [m/s; world] into an array (3, k, B)."""
        block = self._block
        if self._level and not bool(self.xp.any(block[5] != 0.0)):
            out[...] = block[7:10]
            out += 0.0  # as turning would: one zero of two
            return
        attitude, velocity = (block[3], block[4], block[5], block[6]), (block[7], block[8], block[9])
        out[0], out[1], out[2] = turn(attitude, velocity, level=self._level)

    @property
    def own_velocity(self) -> Vector:
        """Velocity of the observers [m/s; world]."""
        v = self._of_own(self._velocities())
        return (v[0], v[1], v[2])

    @property
    def sight_block(self) -> Array:
        """Line of sight from observer to target [m; world], (3, n, m, B)."""
        if self._sight is None:
            place = self._block[0:3]
            self._sight = self._of_targets(place) - self._of_own(place)
        return self._sight

    @property
    def sight(self) -> Vector:
        """The same, component by component."""
        s = self.sight_block
        return (s[0], s[1], s[2])

    @property
    def relative_velocity_block(self) -> Array:
        """Velocity of the target relative to the observer [m/s; world], (3, n, m, B)."""
        if self._relative_velocity is None:
            velocity = self._velocities()
            self._relative_velocity = self._of_targets(velocity) - self._of_own(velocity)
        return self._relative_velocity

    @property
    def relative_velocity(self) -> Vector:
        """The same, component by component."""
        v = self.relative_velocity_block
        return (v[0], v[1], v[2])

    def relative_motion(self) -> Array:
        """Return line of sight and relative velocity in one array, (6, n, m, B)."""
        motion = self.xp.empty((6, *self._block.shape[1:]), dtype=self.xp.float64)
        motion[0:3] = self._block[0:3]
        self._turn_velocities(motion[3:6])
        both = self._of_targets(motion) - self._of_own(motion)
        self._sight, self._relative_velocity = both[0:3], both[3:6]
        return both

    @property
    def distance(self) -> Array:
        """Distance of the target [m], (n, m, B)."""
        if self._distance is None:
            x, y, z = self.sight_block * self.sight_block
            self._distance = self.xp.sqrt(x + y + z)
        return self._distance

    @property
    def range_rate(self) -> Array:
        """Rate of change of the distance [m/s], (n, m, B); 0 where the distance is 0."""
        xp, distance = self.xp, self.distance
        x, y, z = self.sight_block * self.relative_velocity_block
        return (x + y + z) / xp.where(distance > 0.0, distance, 1.0)

    def to_body(self, vector: Vector) -> Vector:
        """Return world components as components along the observers' body axes."""
        q = self._of_own(self._block[OWN_ATTITUDE])
        return turn_back((q[0], q[1], q[2], q[3]), vector, level=self._level)


def turn(q: Quaternion, v: Vector, *, level: bool) -> Vector:
    """Body components to world components; ``level`` promises that x and y of the quaternion are zero.

    Both ways give the same to the last bit; adding zero makes one zero of the two that there are.
    """
    if not level:
        x, y, z = rotate(q, v)
        return (x + 0.0, y + 0.0, z + 0.0)
    z, w = q[2], q[3]
    tx, ty = (z * v[1]) * -2.0, (z * v[0]) * 2.0
    return (v[0] + w * tx - z * ty + 0.0, v[1] + w * ty + z * tx + 0.0, v[2] + 0.0)


def turn_back(q: Quaternion, v: Vector, *, level: bool) -> Vector:
    """World components to body components; ``level`` as in :func:`turn`."""
    if not level:
        x, y, z = rotate_back(q, v)
        return (x + 0.0, y + 0.0, z + 0.0)
    z, w = q[2], q[3]
    tx, ty = (z * v[1]) * 2.0, (z * v[0]) * -2.0
    return (v[0] + w * tx + z * ty + 0.0, v[1] + w * ty - z * tx + 0.0, v[2] + 0.0)
