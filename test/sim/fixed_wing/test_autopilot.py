"""The autopilot settles after step commands, keeps its limits, and flies what it is told to fly."""

from __future__ import annotations

import math

import pytest

from pe_sim.worlds.jsbsim.autopilot import Autopilot, Envelope, Lateral, Vertical, wrap
from pe_sim.worlds.jsbsim.identify import measure
from pe_sim.worlds.jsbsim.profiles import profile

from .flying import CRUISE, SUBSTEP, flying, start_of

HELD = 6


class Piloted:
    """An aircraft with its autopilot, flown and watched."""

    def __init__(self, name, **changes):
        self.aircraft = flying(name, **changes)
        known = profile(name)
        response = known.response or measure(name, start_of(name, **changes))
        self.envelope = Envelope(
            known.bank, known.climb, known.load_factor, known.flown_angle, known.airspeed, known.roll_rate
        )
        self.autopilot = Autopilot(self.aircraft, response, self.envelope)
        self.autopilot.reset()
        self.get = self.aircraft.properties.get

    def fly(self, seconds, command, lateral=Lateral.HEADING, vertical=Vertical.ALTITUDE):
        """Fly one command; yield the time after each update."""
        for i in range(round(seconds / (HELD * SUBSTEP))):
            self.autopilot.update(lateral, vertical, command, HELD * SUBSTEP)
            self.aircraft.advance(HELD)
            yield (i + 1) * HELD * SUBSTEP

    def step(self, altitude, heading, airspeed, seconds=60.0):
        """Command a step in all three; return when the last of them came within bounds to stay."""
        h, z, v = self.autopilot.level()
        target = (h + math.radians(heading), z + altitude, v + airspeed)
        outside = 0.0
        for time in self.fly(seconds, target):
            errors = (
                abs(self.get("altitude") - target[1]) / 20.0,
                abs(math.degrees(wrap(self.get("heading") - target[0]))) / 2.0,
                abs(self.get("true_airspeed") - target[2]) / 3.0,
            )
            if max(errors) >= 1.0:
                outside = time
        return outside


STEPS = [(500, 60, 30), (-500, -60, -30), (500, -60, 30), (500, 0, 0), (0, 60, 0), (0, -60, 0), (0, 0, 30), (0, 0, -30)]


@pytest.mark.parametrize("step", STEPS)
def test_the_f16_settles_within_60_seconds(step):
    assert Piloted("f16").step(*step) < 58.0


def test_a_climb_does_not_shoot_past_its_altitude():
    piloted = Piloted("f16", altitude=10_000.0, airspeed=250.0)
    heading, altitude, airspeed = piloted.autopilot.level()
    highest = 0.0
    for _ in piloted.fly(40.0, (heading, altitude + 500.0, airspeed)):
        highest = max(highest, piloted.get("altitude"))
    assert highest < altitude + 520.0
    assert piloted.get("altitude") == pytest.approx(altitude + 500.0, abs=5.0)


@pytest.mark.parametrize(
    ("altitude", "airspeed"), [(1500.0, 160.0), (4000.0, 350.0), (8000.0, 250.0), (10_000.0, 250.0), (10_000.0, 300.0)]
)
def test_the_f16_settles_at_other_heights_and_speeds(altitude, airspeed):
    assert Piloted("f16", altitude=altitude, airspeed=airspeed).step(500, 60, 30) < 58.0


@pytest.mark.parametrize("step", STEPS[:3])
def test_the_t38_settles_within_60_seconds(step):
    assert Piloted("T38").step(*step) < 58.0


@pytest.mark.parametrize("step", [(100, 60, 8), (-100, -60, -8), (150, 0, 0), (0, 60, 0), (0, 0, 10), (0, 0, -10)])
def test_the_c172x_settles_within_60_seconds(step):
    """A light aircraft climbs at 4 m/s and has little power to spare: 100 m, 60 degrees, 8 m/s."""
    assert Piloted("c172x").step(*step) < 45.0


@pytest.mark.parametrize(("name", "step"), [("F4N", (300, 60, 20)), ("A4", (300, 60, 20)), ("737", (200, 60, 15))])
def test_types_whose_answers_are_measured_settle_too(name, step):
    assert Piloted(name, airspeed=200.0).step(*step) < 58.0


def test_bank_and_load_factor_are_flown_as_told():
    piloted = Piloted("f16", airspeed=250.0)
    bank, load = math.radians(60.0), 3.0
    for _ in piloted.fly(6.0, (bank, load, 250.0), Lateral.BANK, Vertical.LOAD_FACTOR):
        pass
    assert piloted.get("roll") == pytest.approx(bank, abs=math.radians(3.0))
    assert piloted.get("load_factor") == pytest.approx(load, abs=0.3)


def test_a_climb_rate_is_flown_as_told():
    piloted = Piloted("f16")
    for _ in piloted.fly(15.0, (piloted.get("heading"), 20.0, 220.0), Lateral.HEADING, Vertical.CLIMB):
        pass
    assert piloted.get("climb_rate") == pytest.approx(20.0, abs=1.0)


def test_the_limits_are_kept_whatever_is_asked_for():
    piloted = Piloted("f16", airspeed=250.0)
    most_load = most_angle = 0.0
    for _ in piloted.fly(20.0, (math.radians(80.0), 50.0, 900.0), Lateral.BANK, Vertical.LOAD_FACTOR):
        most_load = max(most_load, piloted.get("load_factor"))
        most_angle = max(most_angle, piloted.get("angle_of_attack"))
    assert most_load < piloted.envelope.load_factor[1] + 0.5
    assert most_angle < piloted.envelope.angle_of_attack + math.radians(4.0)
    piloted = Piloted("f16")
    steepest = 0.0
    for _ in piloted.fly(20.0, (piloted.get("heading") + 3.0, 5000.0, 200.0)):
        steepest = max(steepest, abs(piloted.get("roll")))
    assert steepest < piloted.envelope.bank + math.radians(5.0)


def test_a_reset_autopilot_flies_as_a_new_one():
    def run(piloted):
        for _ in piloted.fly(3.0, (1.0, 5200.0, 220.0)):
            pass
        return piloted.aircraft.motion()

    used = Piloted("f16")
    run(used)
    used.aircraft.start(start_of("f16"))
    used.autopilot.reset()
    assert run(used) == run(Piloted("f16"))


@pytest.mark.parametrize("name", CRUISE)
def test_the_stored_answers_are_those_of_the_aircraft(name):
    """They were measured at one flight condition and rounded; the type is recognised to a factor of two."""
    stored = profile(name).response
    measured = measure(name, start_of(name))
    assert stored is not None
    assert measured.airspeed == pytest.approx(stored.airspeed, rel=0.1)
    assert measured.roll_gain == pytest.approx(stored.roll_gain, rel=0.3)
    if name != "c172x":  # its elevator does not answer steps this small: 1.4 degrees of play
        assert 0.5 < measured.pitch_gain / stored.pitch_gain < 2.0
