"""What guidance needs to know of the agent itself: its motion in world axes, its place."""

from __future__ import annotations

from typing import Any

from pe_sim.arrays import Array, Quaternion, Vector, dot, rotate
from pe_sim.errors import ContractError
from pe_sim.policies.base import PolicyContext, Views


class Own:
    """Own motion as the agent knows it; the velocity is turned into world axes when first asked for.

    Attributes:
        attitude: (x, y, z, w), each (n, B), of unit length whatever the sensor's errors.
        known: whether anything was ever heard, bool (n, B); before, it faces east and is at rest.
    """

    def __init__(self, xp: Any, attitude: Quaternion, body_velocity: Vector, known: Array) -> None:
        self.attitude = attitude
        self.known = known
        self._xp = xp
        self._body_velocity = body_velocity
        self._velocity: Vector | None = None
        self._speed: Array = None

    @property
    def velocity(self) -> Vector:
        """Velocity [m/s; world], each (n, B)."""
        if self._velocity is None:
            self._velocity = rotate(self.attitude, self._body_velocity)
        return self._velocity

    @property
    def speed(self) -> Array:
        """Its size [m/s], (n, B)."""
        if self._speed is None:
            self._speed = self._xp.sqrt(dot(self.velocity, self.velocity))
        return self._speed


def sensor_of_kind(context: PolicyContext, kind: str, law: str) -> str:
    """Return the name of the agents' first sensor of a kind.

    Raises:
        ContractError: if the agents have none.
    """
    names = [layout.sensor for layout in context.layouts[0] if layout.kind == kind]
    if not names:
        raise ContractError(
            f"guidance/{law}", f"needs a sensor of kind {kind}, which {context.role} does not have",
            cure=f"add one under roles.{context.role}.sensors",
        )
    return names[0]


class OwnMotionReader:
    """Reads own motion from the agent's own_motion sensor.

    Raises:
        ContractError: if the agents have none.
    """

    def __init__(self, context: PolicyContext, law: str) -> None:
        self._xp = context.xp
        self._sensor = sensor_of_kind(context, "own_motion", law)

    def read(self, views: Views) -> Own:
        """Return own motion."""
        xp, view = self._xp, views[self._sensor]
        v = xp.astype(view.values, xp.float64)
        known = view.sequence >= 0
        x, y, z, w = v[0], v[1], v[2], xp.where(known, v[3], 1.0)
        size = xp.sqrt(x * x + y * y + z * z + w * w)
        scale = 1.0 / xp.where(size > 0.0, size, 1.0)
        attitude = (x * scale, y * scale, z * scale, w * scale)
        return Own(xp, attitude, (v[4], v[5], v[6]), known)


class PositionReader:
    """Reads the own place from the agent's position sensor.

    Raises:
        ContractError: if the agents have none.
    """

    def __init__(self, context: PolicyContext, law: str) -> None:
        self._xp = context.xp
        self._sensor = sensor_of_kind(context, "position", law)

    def read(self, views: Views) -> tuple[Vector, Array]:
        """Return the position [m; world], each (n, B), and whether it is known, bool (n, B)."""
        view = views[self._sensor]
        v = self._xp.astype(view.values, self._xp.float64)
        return (v[0], v[1], v[2]), view.sequence >= 0
