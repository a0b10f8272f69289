"""Initial conditions: kept whatever their order, trimmed, reproducible to the bit, refused where impossible."""

from __future__ import annotations

import math

import pytest

from pe_sim.engagement import parse
from pe_sim.errors import EngagementError
from pe_sim.worlds.jsbsim.air import TurbulenceSpec
from pe_sim.worlds.jsbsim.aircraft import Aircraft, Failure
from pe_sim.worlds.jsbsim.initial import InitialConditions

from .flying import CRUISE, UNLIMITED, duel, flying, role, start_of


def everything(aircraft: Aircraft) -> dict[str, float]:
    """Every property that JSBSim knows of, as text, so that one that is no number equals itself.

    The side friction of a wheel is memory that JSBSim never sets before the wheel touches ground.
    """
    executive = aircraft._executive
    names = [line.rsplit(" (", 1)[0] for line in executive.query_property_catalog("").splitlines() if "R" in line[-4:]]
    return {name: repr(executive.get_property_value(name)) for name in names if "side_friction" not in name}


@pytest.mark.parametrize("name", CRUISE)
def test_the_start_is_where_it_was_asked_for(name):
    aircraft = flying(name, terrain=120.0)
    get, start = aircraft.properties.get, start_of(name)
    assert get("latitude") == pytest.approx(start.latitude, abs=1e-12)
    assert get("longitude") == pytest.approx(start.longitude, abs=1e-12)
    assert get("altitude") == pytest.approx(start.altitude, abs=1e-4)
    assert get("heading") == pytest.approx(start.heading, abs=1e-9)
    assert get("true_airspeed") == pytest.approx(start.airspeed, abs=1e-6)
    assert get("height_above_ground") == pytest.approx(start.altitude - 120.0, abs=0.2)
    assert get("time") == 0.0


@pytest.mark.parametrize("name", [*CRUISE, "f15", "A4", "737"])
def test_a_trimmed_aircraft_flies_on_level_with_its_engines_running(name):
    aircraft = flying(name)
    get = aircraft.properties.get
    altitude, airspeed, heading = get("altitude"), get("true_airspeed"), get("heading")
    aircraft.advance(10 * 120)
    assert get("altitude") == pytest.approx(altitude, abs=1.0)
    assert get("true_airspeed") == pytest.approx(airspeed, abs=0.1)
    assert get("heading") == pytest.approx(heading, abs=math.radians(0.1))
    assert aircraft.trimmed[3] > 0.0


def test_wind_carries_the_trimmed_aircraft_without_disturbing_it():
    aircraft = flying("f16", wind=(10.0, -20.0, 0.0))
    get = aircraft.properties.get
    calm = flying("f16").properties.get
    assert get("velocity_north") == pytest.approx(calm("velocity_north") + 10.0, abs=1e-6)
    assert get("velocity_east") == pytest.approx(calm("velocity_east") - 20.0, abs=1e-6)
    aircraft.advance(10 * 120)
    assert get("true_airspeed") == pytest.approx(200.0, abs=0.1)
    assert get("altitude") == pytest.approx(5000.0, abs=1.0)
    assert abs(get("sideslip")) < 1e-3


def test_untrimmed_begins_level_with_neutral_controls():
    aircraft = flying("f16", trimmed=False, throttle=0.3)
    assert aircraft.trimmed == (0.0, 0.0, 0.0, 0.3)
    assert aircraft.properties.get("roll") == pytest.approx(0.0, abs=1e-9)


def test_a_glider_flies_without_engines():
    glider = flying("SGS", altitude=1500.0, airspeed=30.0, trimmed=False)
    assert glider.engines == 0
    assert glider.advance(120) is Failure.NONE
    assert 20.0 < glider.properties.get("true_airspeed") < 40.0


@pytest.mark.parametrize("name", CRUISE)
@pytest.mark.parametrize("gusts", [None, TurbulenceSpec(severity=4)])
def test_a_second_start_equals_a_fresh_instance_to_the_bit(name, gusts):
    used, fresh = Aircraft(name, 1 / 120, UNLIMITED), Aircraft(name, 1 / 120, UNLIMITED)
    used.start(start_of(name, airspeed=CRUISE[name][1] * 1.1), gusts, 7)
    used.control(0.5, -0.5, 0.2, 1.0)
    used.advance(300)
    used.start(start_of(name), gusts, 11)
    fresh.start(start_of(name), gusts, 11)
    assert everything(used) == everything(fresh)
    for aircraft in (used, fresh):
        aircraft.control(0.1, -0.1, 0.0, 0.8)
        aircraft.advance(240)
    assert everything(used) == everything(fresh)


def test_turbulence_follows_its_seed_alone():
    def gusty(seed):
        aircraft = Aircraft("f16", 1 / 120, UNLIMITED)
        aircraft.start(start_of("f16"), TurbulenceSpec(severity=5), seed)
        return aircraft

    one, same, other, between = gusty(1), gusty(1), gusty(2), gusty(3)
    for _ in range(30):
        one.advance(10)
        between.advance(10)  # another aircraft's air in the same process changes nothing
    same.advance(300)
    other.advance(300)
    assert one.motion() == same.motion()
    assert one.motion() != other.motion()


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"altitude": -10.0}, "is below ground, which lies at 0 m"),
        ({"altitude": 400.0, "terrain": 500.0}, "is below ground, which lies at 500 m"),
        ({"airspeed": 0.0}, "a fixed wing needs airspeed"),
        ({"airspeed": 30.0}, "outside its flight envelope: no steady level flight at 30 m/s and 5000 m"),
        ({"altitude": 30_000.0}, "outside its flight envelope"),
        ({"airspeed": float("nan")}, "must be finite"),
    ],
)
def test_impossible_conditions_are_refused(changes, rule):
    with pytest.raises(EngagementError, match=rule):
        flying("f16", **changes)


@pytest.mark.parametrize(
    ("key", "value", "rule"),
    [
        ("points", [[0.0, 0.0, -20.0]], "is below ground"),
        ("points", [[0.0, 0.0, 30_000.0]], "is outside the area"),
        ("speed", [0.0, 0.0], "a fixed wing needs airspeed"),
        ("speed", [20.0, 20.0], "outside its flight envelope"),
        ("speed", [200.0, 900.0], "outside its flight envelope"),
        ("points", None, "needs low and high, or points"),
    ],
)
def test_an_engagement_with_an_impossible_start_is_refused_with_its_path(key, value, rule):
    pursuer = role("pursuers")
    if value is None:
        del pursuer["start"][key]
    else:
        pursuer["start"][key] = value
    with pytest.raises(EngagementError, match=rf"roles.pursuer.start.*{rule}"):
        parse(duel(pursuer, role("evaders")))


@pytest.mark.parametrize(
    ("section", "value"),
    [
        ({"world": {"origin": {"altitude": "3 deg"}}}, r"origin.*altitude.*wrong unit: expected a quantity in m"),
        ({"world": {"substep_rate": "10 m"}}, r"substep_rate.*wrong unit"),
        ({"world": {"air": {"wind": ["5 kg", 0, 0]}}}, r"wind.*wrong unit"),
        ({"world": {"air": {"wind": [1e5, 0, 0]}}}, r"wind.*less than or equal to 150"),
        ({"world": {"orign": {}}}, r"unknown key 'orign'; did you mean 'origin'"),
    ],
)
def test_a_wrong_unit_or_key_is_refused(section, value):
    with pytest.raises(EngagementError, match=value):
        parse(duel(role("pursuers"), role("evaders"), **section))


def test_conditions_are_plain_data():
    start = start_of("f16")
    assert InitialConditions(**vars(start)) == start
