"""What is known of an aircraft type beyond JSBSim's model: how it answers its controls, and what it withstands.

Limit load factors are those of the types' handbooks and of their certification category, to two figures; the answers
to the controls were measured on JSBSim's models by :func:`pe_sim.worlds.jsbsim.identify.measure`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import radians

BREAKS_AT = 1.5
"""Ultimate over limit load (14 CFR 25.303)."""


@dataclass(frozen=True)
class Response:
    """First-order answers to the controls at one equivalent airspeed.

    Attributes:
        airspeed: equivalent airspeed at which they hold [m/s].
        roll_gain: steady roll rate per aileron [rad/s].
        roll_lag: its time constant [s].
        pitch_gain: steady pitch rate per elevator, nose down positive [rad/s].
        pitch_lag: its time constant [s].
        thrust_gain: acceleration between idle and full throttle [m/s^2].
        yaw_damping: rudder per yaw rate in excess of a coordinated turn's [s].
    """

    airspeed: float
    roll_gain: float
    roll_lag: float
    pitch_gain: float
    pitch_lag: float
    thrust_gain: float
    yaw_damping: float = 0.0


@dataclass(frozen=True)
class Profile:
    """An aircraft type.

    Attributes:
        load_factor: least and greatest normal load factor it is flown with.
        stall_angle: angle of attack beyond which it counts as stalled [rad].
        bank: greatest bank in a turn to a heading [rad].
        climb: greatest climb and descent rate to an altitude [m/s].
        airspeed: least and greatest true airspeed that may be commanded [m/s].
        roll_rate: greatest that is asked for [rad/s].
        response: answers to the controls, or None to measure them when needed.
    """

    load_factor: tuple[float, float]
    stall_angle: float
    bank: float
    climb: float
    airspeed: tuple[float, float]
    roll_rate: float
    response: Response | None = None

    @property
    def breaking(self) -> tuple[float, float]:
        """Least and greatest load factor before it breaks."""
        return BREAKS_AT * self.load_factor[0], BREAKS_AT * self.load_factor[1]

    @property
    def flown_angle(self) -> float:
        """Greatest angle of attack that the autopilot asks for [rad]."""
        return 0.75 * self.stall_angle


PROFILES: dict[str, Profile] = {
    "f16": Profile(
        (-3.0, 9.0), radians(35.0), radians(70.0), 60.0, (100.0, 450.0), 2.5,
        Response(150.0, 2.65, 0.2, 0.42, 0.16, 8.0),
    ),
    "T38": Profile(
        (-3.0, 7.3), radians(22.0), radians(60.0), 40.0, (110.0, 380.0), 2.0,
        Response(150.0, 2.9, 0.4, 0.75, 0.35, 4.0, 3.0),
    ),
    "c172x": Profile(
        (-1.5, 3.8), radians(18.0), radians(40.0), 4.0, (32.0, 70.0), 0.8,
        Response(47.0, 1.1, 0.25, 0.5, 0.2, 3.0, 0.3),
    ),
    "c172p": Profile((-1.5, 3.8), radians(18.0), radians(40.0), 4.0, (32.0, 70.0), 0.8),
    "f15": Profile((-3.0, 9.0), radians(35.0), radians(70.0), 60.0, (110.0, 450.0), 2.0),
    "F4N": Profile((-3.0, 8.0), radians(28.0), radians(60.0), 40.0, (120.0, 420.0), 1.5),
    "A4": Profile((-3.0, 8.0), radians(22.0), radians(60.0), 30.0, (100.0, 300.0), 2.0),
    "T37": Profile((-2.5, 6.7), radians(18.0), radians(55.0), 10.0, (60.0, 150.0), 1.5),
    "t6texan2": Profile((-3.5, 7.0), radians(18.0), radians(55.0), 10.0, (60.0, 140.0), 1.5),
    "OV10": Profile((-3.0, 6.5), radians(18.0), radians(55.0), 8.0, (55.0, 140.0), 1.0),
    "737": Profile((-1.0, 2.5), radians(18.0), radians(30.0), 10.0, (110.0, 260.0), 0.3),
    "A320": Profile((-1.0, 2.5), radians(18.0), radians(30.0), 10.0, (110.0, 260.0), 0.3),
    "B747": Profile((-1.0, 2.5), radians(18.0), radians(30.0), 8.0, (110.0, 280.0), 0.25),
}
"""JSBSim's name of the type -> what is known."""

CAUTIOUS = Profile((-1.0, 2.5), radians(18.0), radians(30.0), 5.0, (20.0, 300.0), 0.3)
"""For types without a profile: a transport's limits."""


def profile(aircraft: str) -> Profile:
    """Return what is known of an aircraft type, or the cautious profile."""
    return PROFILES.get(aircraft, CAUTIOUS)
