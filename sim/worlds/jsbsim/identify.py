"""Identification: measure how an aircraft answers its controls, by a step on each from the trimmed start."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, sqrt

from pe_sim.worlds.jsbsim.aircraft import Aircraft, Limits
from pe_sim.worlds.jsbsim.autopilot import SEA_LEVEL_DENSITY
from pe_sim.worlds.jsbsim.initial import InitialConditions
from pe_sim.worlds.jsbsim.profiles import Response

STEP = 0.1
"""Size of the step: small enough to stay near the trimmed flight."""
SUBSTEP = 1.0 / 120.0
UNLIMITED = Limits((-inf, inf), inf, inf, 0.0)
LONGEST = 2.0
"""How long the answer is watched [s]."""


def measure(name: str, start: InitialConditions) -> Response:
    """Return how an aircraft answers its controls about a start.

    Raises:
        EngagementError: if it cannot be trimmed there.
    """
    aircraft = Aircraft(name, SUBSTEP, UNLIMITED)

    def begin(control: int) -> None:
        aircraft.start(start)
        settings = list(aircraft.trimmed)
        settings[control] += STEP if settings[control] < 0.5 else -STEP
        aircraft.control(*settings)

    begin(0)
    airspeed = start.airspeed * sqrt(aircraft.properties.get("density") / SEA_LEVEL_DENSITY)
    roll_gain, roll_lag = _first_order(aircraft, lambda: aircraft.properties.get("roll_rate") / STEP)
    begin(1)
    pitch_gain, pitch_lag = _first_order(aircraft, lambda: -aircraft.properties.get("pitch_rate") / STEP)
    aircraft.start(start)
    sign = 1.0 if aircraft.trimmed[3] < 0.5 else -1.0
    before = aircraft.properties.get("true_airspeed")
    begin(3)
    aircraft.advance(round(LONGEST / SUBSTEP))
    thrust_gain = sign * (aircraft.properties.get("true_airspeed") - before) / (STEP * LONGEST)
    return Response(airspeed, roll_gain, roll_lag, pitch_gain, pitch_lag, max(1.3 * thrust_gain, 0.5), 0.5)


def _first_order(aircraft: Aircraft, rate: Callable[[], float]) -> tuple[float, float]:
    """Return the peak of the answer and the time it takes to 63 % of it [s]."""
    answers = []
    for _ in range(round(LONGEST / SUBSTEP)):
        aircraft.advance(1)
        answers.append(rate())
    peak = max(answers)
    rise = next(i for i, answer in enumerate(answers) if answer >= 0.632 * peak) + 1
    return max(peak, 0.05), min(max(rise * SUBSTEP, 0.05), 0.6)
