"""What guidance needs from sensors: own motion in world axes, and where the other agents are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pe_sim.arrays import Array, Quaternion, Vector, dot, rotate
from pe_sim.errors import ContractError
from pe_sim.policies.base import PolicyContext, Views

TARGET_SENSORS = ("relative", "radar")
"""Sensor kinds that measure targets, the more direct first."""


@dataclass
class Own:
    """Own motion as the agent knows it.

    Attributes:
        attitude: (x, y, z, w), each (n, B).
        velocity: [m/s; world], each (n, B).
        speed: (n, B).
    """

    attitude: Quaternion
    velocity: Vector
    speed: Array


class OwnMotionReader:
    """Reads own motion from the agent's own_motion sensor.

    Raises:
        ContractError: if the agents have none.
    """

    def __init__(self, context: PolicyContext, law: str) -> None:
        self._xp = context.xp
        names = [layout.sensor for layout in context.layouts[0] if layout.kind == "own_motion"]
        if not names:
            raise ContractError(
                f"guidance/{law}", f"needs a sensor of kind own_motion, which {context.role} does not have",
                cure=f"add one under roles.{context.role}.sensors",
            )
        self._sensor = names[0]

    def read(self, views: Views) -> Own:
        """Return own motion; facing east and at rest before the first reading."""
        xp, view = self._xp, views[self._sensor]
        v = xp.astype(view.values, xp.float64)
        known = view.sequence >= 0
        attitude = (v[0], v[1], v[2], xp.where(known, v[3], 1.0))
        velocity = rotate(attitude, (v[4], v[5], v[6]))
        return Own(attitude, velocity, xp.sqrt(dot(velocity, velocity)))


@dataclass
class Tracks:
    """Other agents as n agents know them, m each.

    Attributes:
        sight: from oneself to the target [m; world], each (n, m, B).
        distance: its length [m], (n, m, B).
        velocity: relative velocity [m/s; world], or None where the sensor does not tell it.
        range_rate: [m/s], (n, m, B).
        valid: where the track can be used, bool (n, m, B).
        stamp: instant of the measurement [ns], int64 (n, B).
    """

    sight: Vector
    distance: Array
    velocity: Vector | None
    range_rate: Array
    valid: Array
    stamp: Array

    def pick(self, xp: Any, choice: Array) -> Tracks:
        """Return one track per agent by index (n, B), with the axis m gone."""

        def take(x: Array) -> Array:
            return xp.take_along_axis(x, choice[:, None], axis=1)[:, 0]

        velocity = None if self.velocity is None else tuple(take(v) for v in self.velocity)
        return Tracks(
            tuple(take(s) for s in self.sight), take(self.distance), velocity, take(self.range_rate),
            take(self.valid), self.stamp,
        )


class TrackReader:
    """Reads the tracks of chosen agents from the agents' best sensor of targets.

    Args:
        context: the agents.
        law: name of the law, for errors.
        of: names of the agents to track; default the opponents.
        sensor: name of the sensor to use; default the first relative tracker, else the first radar that sees them.

    Raises:
        ContractError: if no sensor of the agents measures them.
    """

    def __init__(
        self, context: PolicyContext, law: str, of: tuple[str, ...] | None = None, sensor: str | None = None
    ) -> None:
        self._xp = context.xp
        self._context = context
        wanted = context.opponents if of is None else of
        found = self._find(wanted, sensor)
        if found is None:
            raise ContractError(
                f"guidance/{law}",
                f"needs a sensor of kind {' or '.join(TARGET_SENSORS)} that measures {', '.join(wanted) or 'others'}",
                sensor, f"add one under roles.{context.role}.sensors",
            )
        self.sensor, self.kind = found
        self._rows = [self._rows_of(place, wanted) for place in range(len(context.agents))]
        self._own = OwnMotionReader(context, law) if self.kind == "radar" else None

    def _find(self, wanted: tuple[str, ...], sensor: str | None) -> tuple[str, str] | None:
        for kind in TARGET_SENSORS:
            for layout in self._context.layouts[0]:
                names = {field.rpartition(".")[0] for field in layout.fields}
                if layout.kind == kind and names & set(wanted) and sensor in (None, layout.sensor):
                    return layout.sensor, kind
        return None

    def _rows_of(self, place: int, wanted: tuple[str, ...]) -> list[int]:
        """Return the first row of each wanted target in the readings of one agent."""
        fields = self._context.layout(self.sensor, place).fields
        names = [field.rpartition(".")[0] for field in fields]
        return [names.index(name) for name in wanted if name in names]

    def _rows_read(self, data: Array, offset: int) -> Array:
        """Return one quantity of all targets, (n, m, B), from a reading's rows (D, n, B)."""
        xp, rows = self._xp, self._rows
        if all(r == rows[0] for r in rows):
            return xp.stack([data[row + offset] for row in rows[0]], axis=1)
        per_agent = [xp.stack([data[row + offset, i] for row in r]) for i, r in enumerate(rows)]
        return xp.stack(per_agent)

    def read(self, views: Views) -> Tracks:
        """Return the tracks."""
        xp, view = self._xp, views[self.sensor]
        v = xp.astype(view.values, xp.float64)
        ok = self._rows_read(view.valid, 0)
        if self.kind == "relative":
            x, y, z, vx, vy, vz = (self._rows_read(v, i) for i in range(6))
            distance = xp.sqrt(x * x + y * y + z * z)
            rate = (x * vx + y * vy + z * vz) / xp.where(distance > 0.0, distance, 1.0)
            return Tracks((x, y, z), distance, (vx, vy, vz), rate, ok, view.stamp)
        distance, azimuth, elevation, rate = (self._rows_read(v, i) for i in range(4))
        level = distance * xp.cos(elevation)
        body = (level * xp.cos(azimuth), level * xp.sin(azimuth), distance * xp.sin(elevation))
        assert self._own is not None
        attitude = tuple(q[:, None] for q in self._own.read(views).attitude)
        sight = rotate(attitude, body)
        return Tracks(sight, distance, None, rate, ok, view.stamp)


def nearest_track(xp: Any, tracks: Tracks) -> tuple[Tracks, Array]:
    """Return each agent's nearest usable track and whether it has one, bool (n, B)."""
    far = xp.where(tracks.valid, tracks.distance, xp.inf)
    choice = xp.argmin(far, axis=1)
    picked = tracks.pick(xp, choice)
    return picked, picked.valid
