"""The property table: every entry is right, and a name that is not in it is an error."""

from __future__ import annotations

import pytest

from pe_sim.errors import PluginError
from pe_sim.worlds.jsbsim.properties import PROPERTIES, factors

from .flying import flying

OPTIONAL = ("throttle_", "mixture_", "advance_")


@pytest.fixture(scope="module")
def f16():
    return flying("f16")


def test_every_property_of_the_table_exists_in_the_f16(f16):
    missing = [name for name in PROPERTIES if not f16.properties.has(name)]
    assert all(name.startswith(OPTIONAL) for name in missing), missing
    assert {"throttle_0", "gear_command", "mixture_0"} <= set(PROPERTIES)


@pytest.mark.parametrize("attempt", ["get", "set", "node", "has"])
def test_a_misspelt_property_is_refused_with_the_nearest_name(f16, attempt):
    call = getattr(f16.properties, attempt)
    with pytest.raises(PluginError, match=r"there is no property of this name.*'altitud'.*did you mean 'altitude'"):
        call("altitud", 1.0) if attempt == "set" else call("altitud")


def test_a_misspelt_property_of_jsbsim_is_not_created(f16):
    catalogue = f16._executive.query_property_catalog("")
    with pytest.raises(PluginError):
        f16.properties.set("elevatr", 0.5)
    assert f16._executive.query_property_catalog("") == catalogue


def test_a_property_that_the_aircraft_lacks_is_refused_by_name(f16):
    assert not f16.properties.has("throttle_5")
    with pytest.raises(PluginError, match="aircraft f16: has no throttle_5"):
        f16.properties.get("throttle_5")


def test_what_can_be_read_only_cannot_be_set(f16):
    with pytest.raises(PluginError, match="can be read only"):
        f16.properties.set("altitude", 1000.0)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_value_that_is_not_finite_is_refused(f16, value):
    with pytest.raises(PluginError, match="property elevator: must be finite"):
        f16.properties.set("elevator", value)


def test_values_are_in_si_units(f16):
    get = f16.properties.get
    assert get("altitude") == pytest.approx(5000.0, abs=0.01)
    assert get("true_airspeed") == pytest.approx(200.0, abs=0.01)
    # ICAO standard atmosphere at 5 km: 54.02 kPa, 0.7364 kg/m^3, 320.5 m/s
    assert get("pressure") == pytest.approx(54_020.0, rel=2e-3)
    assert get("density") == pytest.approx(0.7364, rel=2e-3)
    assert get("speed_of_sound") == pytest.approx(320.5, rel=1e-3)
    assert get("dynamic_pressure") == pytest.approx(0.5 * get("density") * 200.0**2, rel=1e-3)
    assert get("wing_area") == pytest.approx(27.87, rel=1e-3)  # F-16: 300 ft^2


def test_setting_then_getting_gives_the_value_back(f16):
    for name, value in (("elevator", 0.25), ("wind_north", 7.5), ("throttle_0", 0.6)):
        before = f16.properties.get(name)
        f16.properties.set(name, value)
        assert f16.properties.get(name) == pytest.approx(value, rel=1e-12)
        f16.properties.set(name, before)


def test_a_reader_reads_what_get_reads(f16):
    names = ("altitude", "roll", "load_factor", "velocity_forward")
    read = f16.properties.reader(*names)
    for value, factor, name in zip(read(), factors(*names), names, strict=True):
        assert value * factor == f16.properties.get(name)
