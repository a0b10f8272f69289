"""From an engagement to flights: what each agent flies, what they share, whether they can begin as the file says."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from pydantic_core import PydanticCustomError

from pe_sim.errors import PeError
from pe_sim.timing import seconds
from pe_sim.worlds.jsbsim import library
from pe_sim.worlds.jsbsim.aircraft import Aircraft, Limits
from pe_sim.worlds.jsbsim.autopilot import Envelope, Lateral, Vertical
from pe_sim.worlds.jsbsim.flight import FlightSpec, Pilot, Surroundings
from pe_sim.worlds.jsbsim.frames import LocalFrame, Triple, ned_to_enu
from pe_sim.worlds.jsbsim.identify import SUBSTEP, UNLIMITED, measure
from pe_sim.worlds.jsbsim.initial import InitialConditions
from pe_sim.worlds.jsbsim.profiles import Response, profile
from pe_sim.worlds.jsbsim.spec import AircraftSpec, FixedWingSpec

if TYPE_CHECKING:
    from pe_sim.engagement import Engagement
    from pe_sim.roles import RoleSpec

EARTH_RADIUS = 6_371_000.0


def surroundings(spec: FixedWingSpec) -> Surroundings:
    """Return what all flights of a world share."""
    origin = spec.origin
    return Surroundings(
        frame=LocalFrame(origin.latitude, origin.longitude, origin.altitude),
        terrain=origin.altitude + spec.terrain,
        wind=ned_to_enu(spec.air.wind),  # the exchange is its own inverse
        turbulence=spec.air.turbulence,
        low=spec.area.low,
        high=spec.area.high,
        substeps=spec.substeps,
        substep=seconds(spec.tick) / spec.substeps,
    )


def flight_spec(engagement: Engagement, role: str) -> FlightSpec:
    """Return what the agents of a role fly."""
    spec, world = engagement.roles[role].dynamics, engagement.world
    assert isinstance(spec, AircraftSpec)
    assert isinstance(world, FixedWingSpec)
    limits = Limits(spec.breaking_load_factor, spec.stall_angle, seconds(spec.stall_time), spec.clearance)
    pilot = None
    if spec.action == "guidance":
        envelope = Envelope(
            spec.max_bank, spec.max_climb, spec.load_factor, profile(spec.type).flown_angle, spec.airspeed,
            spec.max_roll_rate,
        )
        response = profile(spec.type).response or _measured(spec.type, *_middle(engagement.roles[role], world))
        pilot = Pilot(Lateral[spec.lateral.upper()], Vertical[spec.vertical.upper()], response, envelope)
    return FlightSpec(spec.type, limits, pilot, spec.trim == "level", spec.throttle)


def corners(role: RoleSpec) -> list[Triple]:
    """Return the points that bound where a role starts; empty where the file does not say."""
    start = role.start
    if start.points is not None:
        return list(start.points)
    return [] if start.low is None or start.high is None else [start.low, start.high]


def _middle(role: RoleSpec, world: FixedWingSpec) -> tuple[float, float]:
    """Return altitude above the ellipsoid [m] and airspeed [m/s] in the middle of a role's start."""
    heights = [point[2] for point in corners(role)]
    slow, fast = role.start.speed
    return world.origin.altitude + 0.5 * (min(heights) + max(heights)), 0.5 * (slow + fast)


@lru_cache(maxsize=64)
def _measured(aircraft: str, altitude: float, airspeed: float) -> Response:
    return measure(aircraft, InitialConditions(0.0, 0.0, altitude, 0.0, airspeed, terrain=min(0.0, altitude - 1.0)))


def check_start(engagement: Engagement, name: str) -> None:
    """Refuse a start that is nowhere, outside the area, below ground or outside the aircraft's flight envelope.

    Raises:
        PydanticCustomError: with the path of the key and the rule.
    """
    role, world = engagement.roles[name], engagement.world
    assert isinstance(world, FixedWingSpec)
    path = f"roles.{name}.start"
    points = corners(role)
    if not points:
        raise PydanticCustomError("start", "{path}: needs low and high, or points, in the air", {"path": path})
    for point in points:
        if not all(a <= x <= b for a, x, b in zip(world.area.low, point, world.area.high, strict=True)):
            context = {"path": path, "point": str(point)}
            raise PydanticCustomError("start", "{path}: {point} is outside the area", context)
        ground = world.terrain - (point[0] ** 2 + point[1] ** 2) / (2.0 * EARTH_RADIUS)
        if point[2] <= ground:
            raise PydanticCustomError(
                "start", "{path}: {point} is below ground, which lies at z = {ground} m there",
                {"path": path, "point": str(point), "ground": f"{ground:.4g}"},
            )
    if role.start.speed[0] <= 0.0:
        raise PydanticCustomError(
            "start", "{path}.speed: a fixed wing needs airspeed: give a range greater than 0, e.g. [190, 210]",
            {"path": path},
        )
    if library.installed():
        _check_envelope(role, world, path)


def _check_envelope(role: RoleSpec, world: FixedWingSpec, path: str) -> None:
    dynamics = role.dynamics
    assert isinstance(dynamics, AircraftSpec)
    if dynamics.trim != "level":
        return
    heights = sorted({point[2] for point in corners(role)})
    for height in dict.fromkeys((heights[0], heights[-1])):
        for speed in dict.fromkeys(role.start.speed):
            fault = cannot_fly(dynamics.type, world.origin.altitude + height, speed)
            if fault:
                raise PydanticCustomError("start", "{path}: {fault}", {"path": path, "fault": fault})


@lru_cache(maxsize=256)
def cannot_fly(aircraft: str, altitude: float, airspeed: float) -> str:
    """Return why an aircraft cannot fly level at a height and airspeed, or '' where it can."""
    place = InitialConditions(0.0, 0.0, altitude, 0.5 * math.pi, airspeed, terrain=min(0.0, altitude - 1.0))
    try:
        Aircraft(aircraft, SUBSTEP, UNLIMITED).start(place)
    except PeError as fault:
        return str(fault)
    return ""
