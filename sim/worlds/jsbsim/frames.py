"""Frames: the world's ENU plane at a geodetic origin, the aircraft's local NED, Earth-centred axes (ECEF), FRD and FLU.

Geodesy is pymap3d's (WGS84). The world is a true plane: at a distance d from the origin, sea level lies d^2 / (2 R)
below z = 0, 8 m at 10 km. Everything here is of one aircraft, in plain floats: JSBSim is read aircraft by aircraft, and
so a state never depends on how many are flown at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import atan2, cos, pi, sin, sqrt
from typing import Any, TypeAlias

Triple: TypeAlias = tuple[float, float, float]
Rotation: TypeAlias = tuple[float, float, float, float]
"""Unit quaternion (x, y, z, w)."""

_HALF = sqrt(0.5)


def _geodesy() -> Any:
    """Return pymap3d, loaded only when the fixed-wing world is used.

    Raises:
        PluginError: if it is not installed.
    """
    try:
        import pymap3d
    except ImportError as fault:
        from pe_sim.errors import PluginError
        from pe_sim.worlds.jsbsim.library import INSTALL

        rule = "needs the package pymap3d, which is not installed"
        raise PluginError("world fixed_wing", rule, cure=INSTALL) from fault
    return pymap3d


def multiply(a: Rotation, b: Rotation) -> Rotation:
    """Product of quaternions: first the rotation ``b``, then ``a``."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def frd_to_flu(v: Triple) -> Triple:
    """Body components forward-right-down as forward-left-up; the same function takes them back."""
    return (v[0], -v[1], -v[2])


def ned_to_enu(v: Triple) -> Triple:
    """Local components north-east-down as east-north-up; the same function takes them back."""
    return (v[1], v[0], -v[2])


def ned_from_frd(roll: float, pitch: float, heading: float) -> Rotation:
    """Quaternion of an attitude given by aeronautical Euler angles [rad]: FRD components into NED components."""
    cr, sr = cos(0.5 * roll), sin(0.5 * roll)
    cp, sp = cos(0.5 * pitch), sin(0.5 * pitch)
    ch, sh = cos(0.5 * heading), sin(0.5 * heading)
    return (
        sr * cp * ch - cr * sp * sh,
        cr * sp * ch + sr * cp * sh,
        cr * cp * sh - sr * sp * ch,
        cr * cp * ch + sr * sp * sh,
    )


def enu_from_flu(roll: float, pitch: float, heading: float) -> Rotation:
    """The same attitude as FLU components into ENU components of the same place.

    The half turns FLU -> FRD about the forward axis, (1, 0, 0, 0), and NED -> ENU about north-east, (h, h, 0, 0) with
    h = sqrt(1/2), multiplied out.
    """
    x, y, z, w = ned_from_frd(roll, pitch, heading)
    # q (1, 0, 0, 0) = (w, z, -y, -x); then (h, h, 0, 0) times that.
    return (_HALF * (-y - x), _HALF * (-x + y), _HALF * (z - w), _HALF * (-w - z))


def ecef_from_enu(latitude: float, longitude: float) -> Rotation:
    """Quaternion that takes ENU components at a geodetic place [rad] into Earth-centred components.

    ENU is ECEF turned by longitude + 90 deg about z, then by 90 deg - latitude about the new x.
    """
    turn, tilt = 0.5 * longitude + 0.25 * pi, 0.25 * pi - 0.5 * latitude
    cz, sz, cx, sx = cos(turn), sin(turn), cos(tilt), sin(tilt)
    return (sx * cz, sx * sz, cx * sz, cx * cz)


@dataclass(frozen=True)
class LocalFrame:
    """The world frame: a plane level at the origin; x east, y north, z up.

    Attributes:
        latitude: geodetic latitude of the origin [rad].
        longitude: longitude of the origin [rad].
        altitude: height of the origin above the ellipsoid [m].
    """

    latitude: float
    longitude: float
    altitude: float

    @cached_property
    def _origin(self) -> Triple:
        x, y, z = _geodesy().geodetic2ecef(self.latitude, self.longitude, self.altitude, deg=False)
        return (float(x), float(y), float(z))

    @cached_property
    def _world_from_ecef(self) -> Rotation:
        x, y, z, w = ecef_from_enu(self.latitude, self.longitude)
        return (-x, -y, -z, w)

    @cached_property
    def _axes(self) -> tuple[float, ...]:
        """East, north and up in Earth-centred components, one after another."""
        sin_lat, cos_lat = sin(self.latitude), cos(self.latitude)
        sin_lon, cos_lon = sin(self.longitude), cos(self.longitude)
        return (
            -sin_lon, cos_lon, 0.0,
            -sin_lat * cos_lon, -sin_lat * sin_lon, cos_lat,
            cos_lat * cos_lon, cos_lat * sin_lon, sin_lat,
        )

    def position(self, ecef: Triple) -> Triple:
        """Return world coordinates [m; ENU] of Earth-centred ones [m]."""
        x0, y0, z0 = self._origin
        x, y, z = ecef[0] - x0, ecef[1] - y0, ecef[2] - z0
        a = self._axes
        return (a[0] * x + a[1] * y, a[3] * x + a[4] * y + a[5] * z, a[6] * x + a[7] * y + a[8] * z)

    def attitude(self, latitude: float, longitude: float, roll: float, pitch: float, heading: float) -> Rotation:
        """Return the attitude (FLU body into world ENU) of an aircraft that is at a geodetic place.

        Of the two quaternions of one rotation it is the one with w >= 0.

        Args:
            latitude: geodetic latitude of the aircraft [rad].
            longitude: its longitude [rad].
            roll: about the forward axis, right wing down positive [rad].
            pitch: nose up positive [rad].
            heading: clockwise from the north at the aircraft's place [rad].
        """
        there = multiply(self._world_from_ecef, ecef_from_enu(latitude, longitude))
        x, y, z, w = multiply(there, enu_from_flu(roll, pitch, heading))
        size = sqrt(x * x + y * y + z * z + w * w)
        scale = -1.0 / size if w < 0.0 else 1.0 / size
        return (x * scale, y * scale, z * scale, w * scale)

    def geodetic(self, x: float, y: float, z: float) -> Triple:
        """Return latitude [rad], longitude [rad] and height above the ellipsoid [m] of world coordinates [m]."""
        lat, lon, height = _geodesy().enu2geodetic(x, y, z, self.latitude, self.longitude, self.altitude, deg=False)
        return float(lat), float(lon), float(height)

    def true_heading(self, x: float, y: float, z: float, yaw: float) -> float:
        """Return the heading [rad, clockwise from north there, [0, 2 pi)] of a level direction of world yaw [rad].

        Args:
            x: place, to the east [m; world].
            y: to the north.
            z: up.
            yaw: counter-clockwise from the world's east.
        """
        geodesy = _geodesy()
        lat, lon, height = self.geodetic(x, y, z)
        far = (x + 1e3 * cos(yaw), y + 1e3 * sin(yaw), z)
        ecef = geodesy.enu2ecef(*far, self.latitude, self.longitude, self.altitude, deg=False)
        north, east, _ = geodesy.ecef2ned(*ecef, lat, lon, height, deg=False)
        return atan2(float(east), float(north)) % (2.0 * pi)
