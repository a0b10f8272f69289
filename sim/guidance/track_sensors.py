"""From the readings of sensors of targets to lines of sight in world axes: one decoder per sensor kind."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from pe_sim.arrays import Array, Quaternion, Vector, rotate
from pe_sim.guidance.own import OwnMotionReader, PositionReader
from pe_sim.policies.base import PolicyContext, Views
from pe_sim.sensors.camera import CameraSpec
from pe_sim.sensors.layout import SensorLayout

HIDDEN = "detection_"
"""How the fields of detections of opponents begin where nobody knows which opponent."""


@dataclass
class Sighting:
    """Targets as one sensor shows them, each array (n, m, B).

    Attributes:
        sight: from oneself to the target [m; world]; of unit length where the sensor tells no range.
        distance: [m], or None where the sensor does not tell it.
        range_rate: [m/s], or None.
        velocity: relative velocity [m/s; world], or None.
        valid: where it can be used, bool.
    """

    sight: Vector
    distance: Array | None
    range_rate: Array | None
    velocity: Vector | None
    valid: Array


class Decoder(ABC):
    """Reads chosen targets from one sensor.

    Args:
        context: the agents.
        layout: layout of the sensor, of the first agent.
        wanted: names of the targets.
        law: name of the law, for errors.
    """

    kind: ClassVar[str]
    tells: ClassVar[frozenset[str]]
    """Out of direction, range, range_rate and velocity."""

    needs: ClassVar[tuple[str, ...]] = ()
    """Kinds of the agent's other sensors that it takes."""

    def __init__(self, context: PolicyContext, layout: SensorLayout, wanted: tuple[str, ...], law: str) -> None:
        self._xp = context.xp
        self._sensor = layout.sensor
        self._fields = [context.layout(layout.sensor, place).fields for place in range(len(context.agents))]
        self._agents = self._xp.arange(len(context.agents))
        self.prepare(context, wanted, law)

    @classmethod
    def shows(cls, fields: tuple[str, ...], wanted: tuple[str, ...], *, opponents: bool) -> bool:
        """Return whether a sensor's fields are about wanted agents, or hide which opponents they are about."""
        names = cls.shown(fields)
        return bool(set(names) & set(wanted)) or (opponents and any(name.startswith(HIDDEN) for name in names))

    @classmethod
    def shown(cls, fields: tuple[str, ...]) -> list[str]:
        """Return whom the fields are about."""
        return prefixes(fields)

    @abstractmethod
    def prepare(self, context: PolicyContext, wanted: tuple[str, ...], law: str) -> None:
        """Find the rows of the wanted targets."""

    @abstractmethod
    def read(self, views: Views) -> Sighting:
        """Return the targets."""

    def rows(self, names: list[list[str]], quantities: tuple[str, ...]) -> Array:
        """Return the row of each quantity of each agent's named things, (Q, m, n)."""
        found = [
            [
                [self._fields[place].index(f"{things[j]}.{quantity}") for place, things in enumerate(names)]
                for j in range(len(names[0]))
            ]
            for quantity in quantities
        ]
        return self._xp.asarray(found)

    def take(self, data: Array, rows: Array) -> Array:
        """Return rows (..., n) of a reading's data (D, n, B) as (..., n, B)."""
        return data[rows, self._agents]


def prefixes(fields: tuple[str, ...]) -> list[str]:
    """Return what stands before the last point of each field, once each."""
    return [name for name in dict.fromkeys(field.rpartition(".")[0] for field in fields) if name]


class Direct(Decoder):
    """A sensor of the agent's own that gives each target its fields."""

    quantities: ClassVar[tuple[str, ...]]

    def prepare(self, context: PolicyContext, wanted: tuple[str, ...], law: str) -> None:
        """Take the wanted targets, or every detection of an opponent."""
        names = []
        for fields in self._fields:
            shown = prefixes(fields)
            named = [name for name in wanted if name in shown]
            names.append(named or [name for name in shown if name.startswith(HIDDEN)])
        self._rows = self.rows(names, self.quantities)
        self._motion = OwnMotionReader(context, law) if "own_motion" in self.needs else None

    def read(self, views: Views) -> Sighting:
        """Return the targets, those that cannot be turned into world axes not valid."""
        xp, view = self._xp, views[self._sensor]
        values = xp.astype(self.take(view.values, self._rows), xp.float64)
        values = xp.permute_dims(values, (0, 2, 1, 3))
        valid = xp.permute_dims(self.take(view.valid, self._rows[0]), (1, 0, 2))
        if self._motion is None:
            return self.decode(values, valid, None)
        own = self._motion.read(views)
        x, y, z, w = own.attitude
        return self.decode(values, valid & own.known[:, None], (x[:, None], y[:, None], z[:, None], w[:, None]))

    @abstractmethod
    def decode(self, values: Array, valid: Array, attitude: Quaternion | None) -> Sighting:
        """Return the targets from values (Q, n, m, B) and the own attitude, each (n, 1, B)."""


class RelativeDecoder(Direct):
    """Relative tracker: everything, in world axes already."""

    kind = "relative"
    tells = frozenset({"direction", "range", "range_rate", "velocity"})
    quantities = ("x", "y", "z", "velocity_x", "velocity_y", "velocity_z")

    def decode(self, values: Array, valid: Array, attitude: Quaternion | None) -> Sighting:
        """Range and range rate follow."""
        xp = self._xp
        x, y, z, vx, vy, vz = values
        distance = xp.sqrt(x * x + y * y + z * z)
        rate = (x * vx + y * vy + z * vz) / xp.where(distance > 0.0, distance, 1.0)
        return Sighting((x, y, z), distance, rate, (vx, vy, vz), valid)


def along(xp: Any, azimuth: Array, elevation: Array) -> Vector:
    """Return the unit vector in a direction."""
    level = xp.cos(elevation)
    return level * xp.cos(azimuth), level * xp.sin(azimuth), xp.sin(elevation)


class RadarDecoder(Direct):
    """Radar: direction, range and range rate."""

    kind = "radar"
    tells = frozenset({"direction", "range", "range_rate"})
    needs = ("own_motion",)
    quantities = ("range", "azimuth", "elevation", "range_rate")

    def decode(self, values: Array, valid: Array, attitude: Quaternion | None) -> Sighting:
        """Turn the direction into world axes."""
        assert attitude is not None
        distance, azimuth, elevation, rate = values
        x, y, z = rotate(attitude, along(self._xp, azimuth, elevation))
        return Sighting((x * distance, y * distance, z * distance), distance, rate, None, valid)


class TrackingRadarDecoder(RadarDecoder):
    """Tracking radar: the same of remembered tracks."""

    kind = "tracking_radar"


class BearingDecoder(Direct):
    """Bearing: direction only."""

    kind = "bearing"
    tells = frozenset({"direction"})
    needs = ("own_motion",)
    quantities = ("azimuth", "elevation")

    def decode(self, values: Array, valid: Array, attitude: Quaternion | None) -> Sighting:
        """Turn the direction into world axes."""
        assert attitude is not None
        return Sighting(rotate(attitude, along(self._xp, values[0], values[1])), None, None, None, valid)


class CameraDecoder(Direct):
    """Camera: direction from the place in the image, range from the apparent size."""

    kind = "camera"
    tells = frozenset({"direction", "range"})
    needs = ("own_motion",)
    quantities = ("u", "v", "size")

    def prepare(self, context: PolicyContext, wanted: tuple[str, ...], law: str) -> None:
        """Take the camera's settings beside the targets."""
        super().prepare(context, wanted, law)
        spec = context.sensors[self._sensor]
        assert isinstance(spec, CameraSpec)
        self._spec = spec

    def decode(self, values: Array, valid: Array, attitude: Quaternion | None) -> Sighting:
        """Undo the projection."""
        assert attitude is not None
        xp, spec = self._xp, self._spec
        left = values[0] * -math.tan(0.5 * spec.horizontal_field)
        up = values[1] * -math.tan(0.5 * spec.vertical_field)
        size = 1.0 / xp.sqrt(1.0 + left * left + up * up)
        ce, se = math.cos(spec.elevation_center), math.sin(spec.elevation_center)
        ca, sa = math.cos(spec.azimuth_center), math.sin(spec.azimuth_center)
        level, rise = (ce - se * up) * size, (se + ce * up) * size
        across = left * size
        x, y, z = rotate(attitude, (ca * level - sa * across, sa * level + ca * across, rise))
        seen = values[2] > 0.0
        distance = spec.target_radius / xp.where(seen, xp.sin(0.5 * values[2]), 1.0)
        return Sighting((x * distance, y * distance, z * distance), distance, None, None, valid & seen)


class SharedDecoder(Decoder):
    """Shared tracks: what teammates' radars or trackers show; the first teammate's that shows anything."""

    kind = "shared_tracks"
    tells = frozenset({"direction", "range"})
    needs = ("position",)

    @classmethod
    def shown(cls, fields: tuple[str, ...]) -> list[str]:
        """Return the targets of the senders."""
        return [name.rpartition(".")[2] for name in prefixes(fields) if "." in name]

    def prepare(self, context: PolicyContext, wanted: tuple[str, ...], law: str) -> None:
        """Find every sender's pose and tracks of the wanted targets."""
        self._position = PositionReader(context, law)
        poses, tracks = [], []
        for fields in self._fields:
            shown = prefixes(fields)
            poses.append([name for name in shown if "." not in name])
            named = [f"{sender}.{name}" for sender in poses[-1] for name in wanted if f"{sender}.{name}" in shown]
            tracks.append(named or [name for name in shown if name.rpartition(".")[2].startswith(HIDDEN)])
        pose = tuple(f"position_{axis}" for axis in "xyz") + tuple(f"attitude_{axis}" for axis in "xyzw")
        self._spherical = f"{tracks[0][0]}.azimuth" in self._fields[0]
        self._rows = self.rows(tracks, ("range", "azimuth", "elevation") if self._spherical else ("x", "y", "z"))
        self._senders = len(poses[0])
        senders = [[name.partition(".")[0] for name in names] for names in tracks]
        self._pose_rows = self.rows(senders, pose)

    def read(self, views: Views) -> Sighting:
        """Return sender plus what it shows, less the own place."""
        xp, view = self._xp, views[self._sensor]
        pose = xp.astype(self.take(view.values, self._pose_rows), xp.float64)
        a, b, c = xp.astype(self.take(view.values, self._rows), xp.float64)
        valid = self.take(view.valid, self._rows[0])
        place, known = self._position.read(views)
        if self._spherical:
            x, y, z = rotate((pose[3], pose[4], pose[5], pose[6]), along(xp, b, c))
            a, b, c = x * a, y * a, z * a
        sight = (pose[0] + a - place[0], pose[1] + b - place[1], pose[2] + c - place[2])
        return self._first_valid(sight, valid & known)

    def _first_valid(self, sight: Vector, valid: Array) -> Sighting:
        """Return, per target, the first sender's track that is valid; tracks are (senders x m, n, B)."""
        xp = self._xp
        count = valid.shape[0] // self._senders
        chosen, found = tuple(part[:count] for part in sight), valid[:count]
        for sender in range(1, self._senders):
            part = slice(sender * count, (sender + 1) * count)
            fresh = valid[part] & ~found
            chosen = tuple(xp.where(fresh, new[part], old) for new, old in zip(sight, chosen, strict=True))
            found = found | fresh
        x, y, z = (xp.permute_dims(part, (1, 0, 2)) for part in chosen)
        return Sighting((x, y, z), xp.sqrt(x * x + y * y + z * z), None, None, xp.permute_dims(found, (1, 0, 2)))


class SenderDecoder(Decoder):
    """Where teammates say that they are themselves, on the same link."""

    kind = "shared_tracks"
    tells = frozenset({"direction", "range"})
    needs = ("position",)

    @classmethod
    def shown(cls, fields: tuple[str, ...]) -> list[str]:
        """Return the senders."""
        return [name for name in prefixes(fields) if "." not in name]

    def prepare(self, context: PolicyContext, wanted: tuple[str, ...], law: str) -> None:
        """Find the places of the wanted senders."""
        self._position = PositionReader(context, law)
        names = [[name for name in wanted if name in self.shown(fields)] for fields in self._fields]
        self._rows = self.rows(names, tuple(f"position_{axis}" for axis in "xyz"))

    def read(self, views: Views) -> Sighting:
        """Return their place less the own."""
        xp, view = self._xp, views[self._sensor]
        places = xp.astype(self.take(view.values, self._rows), xp.float64)
        valid = self.take(view.valid, self._rows[0])
        own, known = self._position.read(views)
        x, y, z = (xp.permute_dims(there - here, (1, 0, 2)) for there, here in zip(places, own, strict=True))
        return Sighting(
            (x, y, z), xp.sqrt(x * x + y * y + z * z), None, None, xp.permute_dims(valid & known, (1, 0, 2))
        )


DECODERS: tuple[type[Decoder], ...] = (
    RelativeDecoder, RadarDecoder, TrackingRadarDecoder, CameraDecoder, BearingDecoder, SharedDecoder, SenderDecoder,
)
"""The more direct first."""
