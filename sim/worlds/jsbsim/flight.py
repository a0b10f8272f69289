"""One agent's flight: an aircraft under commands, its canonical state, and how it ends."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi, sin
from typing import TypeAlias

from pe_sim.actions import Mode
from pe_sim.worlds.jsbsim.air import TurbulenceSpec
from pe_sim.worlds.jsbsim.aircraft import Aircraft, Failure, Limits
from pe_sim.worlds.jsbsim.autopilot import Autopilot, Envelope, Lateral, Vertical
from pe_sim.worlds.jsbsim.frames import LocalFrame, Triple
from pe_sim.worlds.jsbsim.initial import InitialConditions
from pe_sim.worlds.jsbsim.profiles import Response
from pe_sim.worlds.jsbsim.properties import FOOT

Values: TypeAlias = tuple[float, ...]

OBEYED = (int(Mode.EXECUTE), int(Mode.HOLD))
"""Modes that carry out the action values."""

HELD_SUBSTEPS = 6
"""Substeps between two updates of the autopilot, and between two looks at load factor and height."""
FASTEST = 5e3
"""Speed [m/s] that no aircraft here reaches: the numbers have run away."""
FASTEST_SPIN = 100.0
"""Angular rate [rad/s] of which the same holds."""


@dataclass(frozen=True)
class Pilot:
    """Guidance commands and how they are flown.

    Attributes:
        lateral: what the first action value is.
        vertical: what the second is.
        response: how the aircraft answers its controls.
        envelope: limits that the autopilot keeps.
    """

    lateral: Lateral
    vertical: Vertical
    response: Response
    envelope: Envelope


@dataclass(frozen=True)
class FlightSpec:
    """One agent's aircraft.

    Attributes:
        aircraft: JSBSim's name of the type.
        limits: what it withstands.
        pilot: its autopilot, or None where the actions are the surfaces.
        trimmed: whether it begins in steady flight.
        throttle: throttle at the start where it does not.
    """

    aircraft: str
    limits: Limits
    pilot: Pilot | None
    trimmed: bool
    throttle: float


@dataclass(frozen=True)
class Surroundings:
    """What all flights share.

    Attributes:
        frame: the world frame.
        terrain: height of the ground above the ellipsoid [m].
        wind: north, east, down [m/s].
        turbulence: or None for smooth air.
        low: lower corner of the area [m; world].
        high: upper corner [m; world].
        substeps: integration steps per tick.
        substep: length of one [s].
    """

    frame: LocalFrame
    terrain: float
    wind: Triple
    turbulence: TurbulenceSpec | None
    low: Triple
    high: Triple
    substeps: int
    substep: float


class Flight:
    """Flies one aircraft, tick by tick.

    Attributes:
        failure: how the flight ended, or NONE.
    """

    def __init__(self, spec: FlightSpec, around: Surroundings) -> None:
        self._spec = spec
        self._around = around
        self.aircraft = Aircraft(spec.aircraft, around.substep, spec.limits)
        pilot = spec.pilot
        self._autopilot = None if pilot is None else Autopilot(self.aircraft, pilot.response, pilot.envelope)
        whole, rest = divmod(around.substeps, HELD_SUBSTEPS)
        self._chunks = (HELD_SUBSTEPS,) * whole + ((rest,) if rest else ())
        self._origin_sine = sin(around.frame.latitude)
        self._tick = around.substeps * around.substep
        self.failure = Failure.NONE
        self._stalled_for = 0.0
        self._held: Triple | None = None
        self._convergence = 0.0
        self._state: Values = (0.0,) * 13

    def start(self, place: Triple, yaw: float, airspeed: float, seed: int) -> Values:
        """Begin.

        Args:
            place: [m; world].
            yaw: direction of flight [rad; counter-clockwise from the world's east].
            airspeed: true [m/s].
            seed: of the turbulence.

        Returns:
            The canonical state, 13 values.

        Raises:
            EngagementError: if that is impossible.
        """
        around, spec = self._around, self._spec
        latitude, longitude, altitude = around.frame.geodetic(*place)
        conditions = InitialConditions(
            latitude, longitude, altitude, around.frame.true_heading(*place, yaw), airspeed,
            around.terrain, around.wind, spec.trimmed, spec.throttle,
        )
        self.aircraft.start(conditions, around.turbulence, seed)
        if self._autopilot is not None:
            self._autopilot.reset()
        self.failure, self._stalled_for, self._held = Failure.NONE, 0.0, None
        self._state = self._read()
        return self._state

    def step(self, action: Values, mode: int) -> Values:
        """Fly one tick.

        Args:
            action: the action values in effect.
            mode: how to carry them out: see :class:`~pe_sim.actions.Mode`; without a command an aircraft under
                autopilot keeps heading, height and airspeed, one without keeps its trimmed controls.

        Returns:
            The canonical state; the last finite one where the flight ended in numbers that are not.
        """
        if self.failure:
            return self._state
        try:
            failure = self._fly(action, mode)
        except (ValueError, OverflowError):  # a sine of infinity, in the tick before JSBSim's own numbers fail
            failure = Failure.DIVERGED
        self.failure = failure
        if failure is not Failure.DIVERGED:
            self._state = self._read()
        return self._state

    def _fly(self, action: Values, mode: int) -> Failure:
        aircraft, pilot, autopilot = self.aircraft, self._spec.pilot, self._autopilot
        if pilot is None or autopilot is None:
            aircraft.control(*(action if mode in OBEYED else aircraft.trimmed))
            for count in self._chunks:
                failure = aircraft.advance(count)
                if failure:
                    return failure
            return Failure.NONE
        lateral, vertical = pilot.lateral, pilot.vertical
        if mode in OBEYED:
            self._held = None
            first, second, third = action[:3]
            if lateral is Lateral.HEADING:
                first = 0.5 * pi - first + self._convergence
            if vertical is Vertical.ALTITUDE:
                second += self._around.frame.altitude
        else:
            if self._held is None:
                self._held = autopilot.level()
            lateral, vertical = Lateral.HEADING, Vertical.ALTITUDE
            first, second, third = self._held
        for count in self._chunks:
            autopilot.update(lateral, vertical, (first, second, third), count * self._around.substep)
            failure = aircraft.advance(count)
            if failure:
                return failure
        return Failure.NONE

    def _read(self) -> Values:
        """Return the canonical state and note what ends the flight beside what the aircraft itself noticed."""
        (
            x, y, z, latitude, longitude, roll, pitch, heading, u, v, w, p, q, r, alpha
        ) = self.aircraft.motion()
        u, v, w = u * FOOT, v * FOOT, w * FOOT
        # Written so that a NaN anywhere fails the comparison.
        sane = abs(x + y + z + latitude + longitude + roll + pitch + heading) < 1e12 and (
            u * u + v * v + w * w < FASTEST * FASTEST and p * p + q * q + r * r < FASTEST_SPIN * FASTEST_SPIN
        )
        if not sane:
            self.failure = Failure.DIVERGED
            return self._state
        frame = self._around.frame
        place = frame.position((x * FOOT, y * FOOT, z * FOOT))
        # The meridians converge: north here is turned against the world's y axis by this much.
        self._convergence = (longitude - frame.longitude) * self._origin_sine
        if not self.failure:
            self.failure = self._beyond(place, alpha)
        return (*place, *frame.attitude(latitude, longitude, roll, pitch, heading), u, -v, -w, p, -q, -r)

    def _beyond(self, place: Triple, alpha: float) -> Failure:
        limits, around = self._spec.limits, self._around
        self._stalled_for = self._stalled_for + self._tick if abs(alpha) > limits.angle_of_attack else 0.0
        if self._stalled_for > limits.stall_time:
            return Failure.STALL
        x, y, z = place
        low, high = around.low, around.high
        inside = low[0] <= x <= high[0] and low[1] <= y <= high[1] and low[2] <= z <= high[2]
        return Failure.NONE if inside else Failure.LEFT_AREA
