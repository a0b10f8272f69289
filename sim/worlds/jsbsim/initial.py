"""Initial conditions: given in SI units in any order, put into JSBSim in the one order that keeps them all.

JSBSim derives initial conditions from one another as they are set (an airspeed set before the altitude means another
airspeed after it), leaves engines off and gear down, and forgets the wind when the initial state is run. So: place and
attitude first, airspeed last; engines; trim in still air; then, if there is wind, the trimmed attitude carried by it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from pe_sim.errors import EngagementError
from pe_sim.worlds.jsbsim.properties import PropertyAccess

FULL_TRIM = 1
"""JSBSim's trim of all six accelerations: angle of attack, throttle, pitch trim, bank, aileron, rudder."""


@dataclass(frozen=True)
class InitialConditions:
    """Where and how an aircraft begins.

    Attributes:
        latitude: geodetic [rad].
        longitude: [rad].
        altitude: above the ellipsoid [m].
        heading: true, clockwise from north [rad].
        airspeed: true [m/s].
        terrain: height of the ground above the ellipsoid [m].
        wind: north, east, down [m/s].
        trimmed: whether to begin in steady level flight; else level, nose along the flight path, controls neutral.
        throttle: throttle where not trimmed, 0 to 1.
    """

    latitude: float
    longitude: float
    altitude: float
    heading: float
    airspeed: float
    terrain: float = 0.0
    wind: tuple[float, float, float] = (0.0, 0.0, 0.0)
    trimmed: bool = True
    throttle: float = 0.5

    def check(self, aircraft: str) -> None:
        """Refuse conditions that no aircraft can begin in.

        Raises:
            EngagementError: with the value and the rule.
        """
        values = (self.latitude, self.longitude, self.altitude, self.heading, self.airspeed, self.terrain, *self.wind)
        if not all(math.isfinite(value) for value in values):
            raise EngagementError(f"start of {aircraft}", "every initial condition must be finite", values)
        if self.altitude <= self.terrain:
            raise EngagementError(
                f"start of {aircraft}", f"is below ground, which lies at {self.terrain:g} m", round(self.altitude, 3),
                "raise start.low and start.high, or start.points",
            )
        if self.airspeed <= 0.0:
            raise EngagementError(
                f"start of {aircraft}", "a fixed wing needs airspeed", self.airspeed,
                "give start.speed, e.g. [190, 210]",
            )


def apply(executive: Any, properties: PropertyAccess, engines: int, start: InitialConditions, aircraft: str) -> None:
    """Put a freshly loaded executive into its initial conditions.

    Raises:
        EngagementError: if they are impossible, or the aircraft cannot fly level there.
    """
    start.check(aircraft)
    put = properties.set
    put("terrain_elevation", start.terrain)
    put("initial_latitude", start.latitude)
    put("initial_longitude", start.longitude)
    _set_altitude(properties, start)
    put("initial_heading", start.heading % (2.0 * math.pi))
    put("initial_path", 0.0)
    put("initial_airspeed", start.airspeed)
    _prepare(properties, engines, start)
    if not executive.run_ic():
        raise EngagementError(f"start of {aircraft}", "JSBSim cannot begin there", start)
    if properties.has("engines_running"):  # gliders have none
        put("engines_running", -1.0)
    if start.trimmed:
        _trim(executive, start, aircraft)
    if any(start.wind):
        _carry_by_wind(executive, properties, start.wind)


def _set_altitude(properties: PropertyAccess, start: InitialConditions) -> None:
    """Set the height above the ellipsoid; JSBSim takes another, a few centimetres off, so one correction is needed."""
    properties.set("initial_height", start.altitude)
    properties.set("initial_height", start.altitude + (start.altitude - properties.get("initial_altitude")))


def _prepare(properties: PropertyAccess, engines: int, start: InitialConditions) -> None:
    """Clean configuration: gear up where it can be, mixture rich, propeller fine."""
    settings = {"gear_command": 0.0, "gear_position": 0.0}
    for engine in range(engines):
        settings |= {f"mixture_{engine}": 1.0, f"advance_{engine}": 1.0, f"throttle_{engine}": start.throttle}
    for name, value in settings.items():
        if properties.has(name):
            properties.set(name, value)


def _trim(executive: Any, start: InitialConditions, aircraft: str) -> None:
    try:
        executive.do_trim(FULL_TRIM)
    except RuntimeError as fault:
        raise EngagementError(
            f"start of {aircraft}",
            "is outside its flight envelope: "
            f"no steady level flight at {start.airspeed:.4g} m/s and {start.altitude:.5g} m",
            cure="change start.speed or the height, or begin untrimmed with dynamics.trim: none",
        ) from fault


def _carry_by_wind(executive: Any, properties: PropertyAccess, wind: tuple[float, float, float]) -> None:
    """Keep attitude and airspeed, add the wind to the velocity over ground."""
    names = ("north", "east", "down")
    attitude = {f"initial_{angle}": properties.get(angle) for angle in ("roll", "pitch", "heading")}
    ground = {f"initial_{axis}": properties.get(f"velocity_{axis}") + w for axis, w in zip(names, wind, strict=True)}
    for name, value in (attitude | ground).items():
        properties.set(name, value)
    executive.run_ic()
    for axis, w in zip(names, wind, strict=True):
        properties.set(f"wind_{axis}", w)
