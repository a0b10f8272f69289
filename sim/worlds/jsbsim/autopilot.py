"""Autopilot: from heading or bank, altitude, climb or load factor, and airspeed to stick, pedals and throttle.

Cascaded loops, each with limits (B. L. Stevens, F. L. Lewis, Aircraft Control and Simulation, 2nd ed., 2003, ch. 4):

    altitude -> climb rate -> vertical acceleration -> load factor -> pitch rate -> elevator
    heading  -> bank -> roll rate -> aileron          speed -> acceleration -> throttle

The inner loops invert a first-order response of the angular rate to the stick, whose gain and lag are measured once per
aircraft (:mod:`~pe_sim.worlds.jsbsim.profiles`) and scaled with airspeed. Angles are aeronautical (FRD, NED).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from math import atan, cos, pi, sin, sqrt

from pe_sim.worlds.jsbsim.aircraft import Aircraft
from pe_sim.worlds.jsbsim.profiles import Response
from pe_sim.worlds.jsbsim.properties import factors

GRAVITY = 9.80665
SEA_LEVEL_DENSITY = 1.225

FEEDBACK = (
    "true_airspeed", "density", "roll", "pitch", "heading", "roll_rate", "pitch_rate", "yaw_rate", "angle_of_attack",
    "altitude", "climb_rate", "load_factor",
)
"""What the autopilot reads at each update, in JSBSim's own units."""

_SPEED, _DENSITY, _ALTITUDE, _CLIMB = factors("true_airspeed", "density", "altitude", "climb_rate")
_DENSITY /= SEA_LEVEL_DENSITY

ROLL_BANDWIDTH = 1.6
"""Bank error to roll rate [1/s]."""
PITCH_BANDWIDTH = 3.0
"""Crossover of the pitch-rate loop [rad/s]."""
TURN_TIME = 3.0
"""Heading error to turn rate: 1 / this [s]."""
CLIMB_TIME = 3.5
"""Altitude error to climb rate [s]."""
ROUND_OUT = 0.2 * GRAVITY
"""Vertical acceleration by which a climb or descent ends at an altitude [m/s^2]: well below what is asked for at most,
so that none is left over at the altitude."""
PATH_TIME = 1.2
"""Climb-rate error to vertical acceleration [s]."""
SPEED_TIME = 4.0
"""Airspeed error to acceleration [s]."""


class Lateral(IntEnum):
    """What the first value commands."""

    HEADING = 0
    BANK = 1


class Vertical(IntEnum):
    """What the second value commands."""

    ALTITUDE = 0
    CLIMB = 1
    LOAD_FACTOR = 2


@dataclass(frozen=True)
class Envelope:
    """Limits that the autopilot keeps.

    Attributes:
        bank: greatest bank in a turn to a heading [rad].
        climb: greatest climb and descent rate to an altitude [m/s].
        load_factor: least and greatest.
        angle_of_attack: greatest [rad].
        airspeed: least and greatest true airspeed that may be commanded [m/s].
        roll_rate: greatest [rad/s].
    """

    bank: float
    climb: float
    load_factor: tuple[float, float]
    angle_of_attack: float
    airspeed: tuple[float, float]
    roll_rate: float


def wrap(angle: float) -> float:
    """An angle [rad] brought into [-pi, pi)."""
    return (angle + pi) % (2.0 * pi) - pi


def clip(value: float, low: float, high: float) -> float:
    """A value held between two limits."""
    return low if value < low else min(value, high)


def climb_towards(error: float) -> float:
    """Return the climb rate [m/s] towards an altitude that is ``error`` [m] higher.

    In proportion near it, beyond that as fast as a steady vertical acceleration can still end it there: v^2 = 2 a h,
    joined without a kink.
    """
    size, near = abs(error), ROUND_OUT * CLIMB_TIME * CLIMB_TIME
    if size <= near:
        return error / CLIMB_TIME
    rate = sqrt(2.0 * ROUND_OUT * (size - 0.5 * near))
    return rate if error > 0.0 else -rate


class Autopilot:
    """Flies one aircraft.

    Args:
        aircraft: the aircraft; attached anew at each start.
        response: how it answers its controls.
        envelope: limits to keep.
    """

    def __init__(self, aircraft: Aircraft, response: Response, envelope: Envelope) -> None:
        self._aircraft = aircraft
        self._response = response
        self._envelope = envelope
        self._period = 0.0
        self._slowest = 0.4 * response.airspeed
        self._pitch_integral = self._roll_integral = self._throttle_integral = 0.0
        self._throttle = 0.0

    def reset(self) -> None:
        """Take over a started aircraft, trimmed or not, without a bump."""
        self._read = self._aircraft.properties.reader(*FEEDBACK)
        self._start_airspeed: float | None = self._aircraft.start_airspeed
        aileron, elevator, _, throttle = self._aircraft.trimmed
        self._roll_integral, self._pitch_integral, self._throttle_integral = aileron, elevator, throttle
        self._throttle = throttle

    def level(self) -> tuple[float, float, float]:
        """Return heading [rad], altitude [m] and airspeed [m/s] of this moment: the command that keeps them."""
        get = self._aircraft.properties.get
        airspeed = get("true_airspeed") if self._start_airspeed is None else self._start_airspeed
        return get("heading"), get("altitude"), airspeed

    def update(
        self, lateral: Lateral, vertical: Vertical, command: tuple[float, float, float], period: float
    ) -> None:
        """Move the controls.

        Args:
            lateral: what the first value is.
            vertical: what the second value is.
            command: true heading or bank [rad]; altitude [m, above the ellipsoid], climb rate [m/s] or load factor;
                true airspeed [m/s].
            period: how long they will be held [s].
        """
        self._period = period
        speed, density, roll, pitch, heading, p, q, r, alpha, altitude, climb, load = self._read()
        speed, altitude, climb = max(speed * _SPEED, 1.0), altitude * _ALTITUDE, climb * _CLIMB
        if self._start_airspeed is not None:  # before its first step JSBSim takes the speed over ground for it
            speed, self._start_airspeed = self._start_airspeed, None
        equivalent = speed * sqrt(density * _DENSITY)
        effect = self._response.airspeed / (max(self._slowest, equivalent))

        if lateral is Lateral.HEADING:
            turn = clip(wrap(command[0] - heading) / TURN_TIME, -1.0, 1.0)
            bank = clip(atan(speed * turn / GRAVITY), -self._envelope.bank, self._envelope.bank)
        else:
            bank = command[0]
        error = wrap(bank - roll)
        aileron = self._aileron(error, p, effect)

        if vertical is Vertical.LOAD_FACTOR:
            wanted = command[1]
            rest = min(1.0, wanted)
            facing = cos(error)
            wanted = rest + (wanted - rest) * (max(0.0, facing))  # unload while the lift points elsewhere
        else:
            wanted = self._load_to_climb(vertical, command[1], altitude, climb, speed, roll)
        low, high = self._envelope.load_factor
        wanted = clip(wanted, low, high)
        rate = GRAVITY / speed * (wanted - cos(pitch) * cos(roll) + 0.5 * (wanted - load))
        elevator = self._elevator(rate, q, alpha, effect)

        turning = GRAVITY / speed * sin(roll) * cos(pitch)
        rudder = clip(effect * self._response.yaw_damping * (r - turning), -1.0, 1.0)
        throttle = self._throttle_for(command[2], speed, climb)
        self._aircraft.control(aileron, elevator, rudder, throttle)

    def _aileron(self, error: float, p: float, effect: float) -> float:
        """Bank error [rad] to aileron: the roll rate that closes it, the stick that gives that rate."""
        response = self._response
        top = self._envelope.roll_rate
        wanted = clip(ROLL_BANDWIDTH * error, -top, top)
        stick = effect / response.roll_gain * (wanted + response.roll_lag * ROLL_BANDWIDTH * (wanted - p))
        if abs(error) < 0.15:
            self._roll_integral = clip(self._roll_integral + 0.3 * effect * error * self._period, -0.2, 0.2)
        return clip(stick + self._roll_integral, -1.0, 1.0)

    def _load_to_climb(
        self, vertical: Vertical, value: float, altitude: float, climb: float, speed: float, roll: float
    ) -> float:
        """Return the load factor that brings altitude or climb rate to a value, whatever the bank."""
        if vertical is Vertical.ALTITUDE:
            top = self._envelope.climb
            value = clip(climb_towards(value - altitude), -top, top)
        value = clip(value, -0.8 * speed, 0.8 * speed)
        upward = clip((value - climb) / PATH_TIME, -0.6 * GRAVITY, 0.6 * GRAVITY)
        sine = clip(climb / speed, -0.99, 0.99)
        level = sqrt(1.0 - sine * sine)
        lift = cos(roll)
        return (level + upward / (GRAVITY * level)) / (max(0.25, lift))

    def _elevator(self, rate: float, q: float, alpha: float, effect: float) -> float:
        """Pitch rate to elevator; the rate is that of a steady turn with the wanted load factor."""
        response = self._response
        ceiling = 2.0 * (self._envelope.angle_of_attack - alpha)
        error = (min(ceiling, rate)) - q
        stick = effect * PITCH_BANDWIDTH / response.pitch_gain
        held = self._pitch_integral - stick * error * self._period
        out = held - stick * response.pitch_lag * error
        if -1.0 < out < 1.0:  # no wind-up against the stops
            self._pitch_integral = held
        return clip(out, -1.0, 1.0)

    def _throttle_for(self, wanted: float, speed: float, climb: float) -> float:
        """Airspeed to throttle: the acceleration that brings it, the climb's share of thrust fed forward."""
        low, high = self._envelope.airspeed
        response = self._response
        error = clip(wanted, low, high) - speed
        push = clip(error / SPEED_TIME, -3.0, 3.0) + GRAVITY * climb / speed
        held = self._throttle_integral + 0.08 / response.thrust_gain * clip(error, -5.0, 5.0) * self._period
        out = held + push / response.thrust_gain
        if 0.0 < out < 1.0:
            self._throttle_integral = held
        return clip(out, 0.0, 1.0)
