"""From the readings of sensors of targets to lines of sight in world axes: one decoder per sensor kind."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from pe_sim.arrays import Array, Quaternion, Vector, rotate
from pe_sim.guidance.own import Own, OwnMotionReader
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
    def read(self, views: Views, own: Own | None = None) -> Sighting:
        """Return the targets; ``own`` motion is read here where nobody has read it yet."""

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

    def read(self, views: Views, own: Own | None = None) -> Sighting:
        """Return the targets, those that cannot be turned into world axes not valid."""
        xp, view = self._xp, views[self._sensor]
        values = xp.astype(self.take(view.values, self._rows), xp.float64)
        values = xp.permute_dims(values, (0, 2, 1, 3))
        valid = xp.permute_dims(self.take(view.valid, self._rows[0]), (1, 0, 2))
        if self._motion is None:
            return self.decode(values, valid, None)
        own = self._motion.read(views) if own is None else own
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


DECODERS: tuple[type[Decoder], ...] = (
    RelativeDecoder, RadarDecoder, TrackingRadarDecoder, CameraDecoder, BearingDecoder,
)
"""The more direct first; what comes over a link follows, see :mod:`pe_sim.guidance.link_sensors`."""
