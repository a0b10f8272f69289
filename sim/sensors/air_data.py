"""Air data: height, airspeed and flow angles, as probes and vanes deliver them."""

from __future__ import annotations

from typing import Any, ClassVar

from pe_sim.arrays import Array, Vector, dot, length, rotate, rotate_back, subtract
from pe_sim.sensors.base import Measured, Quantity, Sensor
from pe_sim.sensors.scene import Scene
from pe_sim.sensors.setting import SensorSetting

EARTH_RADIUS = 6_371_000.0
"""Mean radius of the Earth [m]."""

SEA_LEVEL_TEMPERATURE = 288.15
LAPSE = 0.0065
TROPOPAUSE = 11_000.0
SEA_LEVEL_PRESSURE = 101_325.0
GAS_CONSTANT = 287.053
GRAVITY = 9.80665


def standard_atmosphere(xp: Any, altitude: Array) -> tuple[Array, Array]:
    """Return pressure [Pa] and speed of sound [m/s] at heights [m] up to 20 km.

    ICAO standard atmosphere (Doc 7488), geometric height taken for geopotential.
    """
    low = xp.where(altitude < TROPOPAUSE, altitude, TROPOPAUSE)
    temperature = SEA_LEVEL_TEMPERATURE - LAPSE * low
    pressure = SEA_LEVEL_PRESSURE * (temperature / SEA_LEVEL_TEMPERATURE) ** (GRAVITY / (GAS_CONSTANT * LAPSE))
    pressure = pressure * xp.exp(-GRAVITY * (altitude - low) / (GAS_CONSTANT * temperature))
    return pressure, xp.sqrt(1.4 * GAS_CONSTANT * temperature)


def calibrated_airspeed(xp: Any, mach: Array, pressure: Array) -> Array:
    """Return what an airspeed indicator shows below the speed of sound [m/s], from Mach number and pressure [Pa]."""
    impact = pressure / SEA_LEVEL_PRESSURE * ((1.0 + 0.2 * mach * mach) ** 3.5 - 1.0)
    sound = (1.4 * GAS_CONSTANT * SEA_LEVEL_TEMPERATURE) ** 0.5
    return sound * xp.sqrt(5.0 * ((impact + 1.0) ** (2.0 / 7.0) - 1.0))


class AirData(Sensor):
    """Height and airspeed, Mach number, climb rate, angle of attack and sideslip.

    Height counts from the world's origin; in a world with a place on Earth along the curved Earth, as an altimeter
    does. The air is the world's steady wind; turbulence is no part of the canonical state, and is not felt.
    """

    name: ClassVar[str] = "air_data"
    quantities = (
        Quantity("altitude", "m"),
        Quantity("true_airspeed", "m/s", low=0.0),
        Quantity("calibrated_airspeed", "m/s", low=0.0),
        Quantity("mach", "1", low=0.0),
        Quantity("climb_rate", "m/s"),
        Quantity("angle_of_attack", "rad", angle=True),
        Quantity("sideslip", "rad"),
    )

    def __init__(self, setting: SensorSetting) -> None:
        super().__init__(setting)
        world = setting.engagement.world
        air, origin = getattr(world, "air", None), getattr(world, "origin", None)
        self._wind: Vector = getattr(air, "wind", (0.0, 0.0, 0.0))
        self._curved = origin is not None
        self._origin_altitude = float(getattr(origin, "altitude", 0.0))

    def measure(self, scene: Scene) -> Measured:
        """Return air data; always valid."""
        xp, own = self.xp, scene.own
        zero = own.position[0] * 0.0
        wind = (zero + self._wind[0], zero + self._wind[1], zero + self._wind[2])
        u, v, w = subtract(own.velocity, rotate_back(own.attitude, wind))
        speed = length(xp, (u, v, w))
        up, altitude = self._up(own.position)
        pressure, sound = standard_atmosphere(xp, altitude + self._origin_altitude)
        mach = speed / sound
        climb = dot(rotate(own.attitude, own.velocity), up)
        values = (
            altitude, speed, calibrated_airspeed(xp, mach, pressure), mach, climb, xp.atan2(-w, u),
            xp.atan2(-v, xp.sqrt(u * u + w * w)),
        )
        return self.pack(values), None

    def _up(self, place: Vector) -> tuple[Vector, Array]:
        """Return the local vertical [world] and the height over the origin's."""
        x, y, z = place
        if not self._curved:
            zero = z * 0.0
            return (zero, zero, zero + 1.0), z
        outward = (x, y, z + EARTH_RADIUS)
        size = length(self.xp, outward)
        return (x / size, y / size, outward[2] / size), size - EARTH_RADIUS
