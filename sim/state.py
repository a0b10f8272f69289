"""The canonical state of a batch of engagements: what nav_msgs/Odometry carries, and nothing else."""

from __future__ import annotations

from typing import Any

from pe_sim.arrays import Array, Quaternion, Vector, batch_first, rotate

COMPONENTS = 13
"""Position 3, attitude 4, velocity 3, angular velocity 3."""


class State:
    """True state of N agents in B engagements.

    Every world yields it and every sensor reads nothing else, so that a state that crossed an odometry topic is the
    same state to the last bit. Memory is one float64 block ``(13, N, B)``; see :mod:`pe_sim.arrays` for the reason.

    Attributes:
        block: the memory, (13, N, B): position, attitude, velocity, angular velocity.
    """

    __slots__ = ("block",)

    def __init__(self, block: Array) -> None:
        self.block = block

    @classmethod
    def zeros(cls, xp: Any, agents: int, batch: int) -> State:
        """Return a state at the origin, at rest, facing east."""
        block = xp.zeros((COMPONENTS, agents, batch), dtype=xp.float64)
        block[6] = 1.0
        return cls(block)

    @property
    def pos(self) -> Array:
        """Position [m; ENU world], (B, N, 3)."""
        return batch_first(self.block[0:3])

    @property
    def quat(self) -> Array:
        """Attitude, unit quaternion (x, y, z, w), body to world, (B, N, 4)."""
        return batch_first(self.block[3:7])

    @property
    def vel(self) -> Array:
        """Linear velocity [m/s; body FLU], (B, N, 3)."""
        return batch_first(self.block[7:10])

    @property
    def omega(self) -> Array:
        """Angular velocity [rad/s; body FLU], (B, N, 3)."""
        return batch_first(self.block[10:13])

    def agents(self, first: int, last: int) -> Motion:
        """Return the motion of agents ``first`` to ``last`` - 1 as views of shape (n, B)."""
        return Motion(self.block[:, first:last])

    def gather(self, index: Array) -> Motion:
        """Return the motion of agents by an index array (n, m), as copies of shape (n, m, B)."""
        return Motion(self.block[:, index])

    def copy(self) -> State:
        """Return an independent copy."""
        return State(self.block + 0.0)


class Motion:
    """Motion of some agents, component by component: views into a state's memory, good until the state changes."""

    __slots__ = ("_world_velocity", "block")

    def __init__(self, block: Array) -> None:
        self.block = block
        self._world_velocity: Vector | None = None

    @property
    def position(self) -> Vector:
        """Position [m; ENU world]."""
        return (self.block[0], self.block[1], self.block[2])

    @property
    def attitude(self) -> Quaternion:
        """Attitude (x, y, z, w), body to world."""
        return (self.block[3], self.block[4], self.block[5], self.block[6])

    @property
    def velocity(self) -> Vector:
        """Linear velocity [m/s; body FLU]."""
        return (self.block[7], self.block[8], self.block[9])

    @property
    def world_velocity(self) -> Vector:
        """Linear velocity [m/s; world], computed once."""
        if self._world_velocity is None:
            self._world_velocity = rotate(self.attitude, self.velocity)
        return self._world_velocity

    @property
    def angular_velocity(self) -> Vector:
        """Angular velocity [rad/s; body FLU]."""
        return (self.block[10], self.block[11], self.block[12])

    def over_targets(self) -> Motion:
        """Return the same motion with an axis for targets inserted: (n, B) -> (n, 1, B)."""
        return Motion(self.block[:, :, None])
