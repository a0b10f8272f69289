"""JSBSim as a package: named where it is missing, silent where it is not."""

from __future__ import annotations

import builtins
import math
import subprocess
import sys

import pytest

from pe_sim.engagement import parse
from pe_sim.errors import EngagementError, PluginError
from pe_sim.worlds.jsbsim import library
from pe_sim.worlds.jsbsim.aircraft import Aircraft, Failure

from .flying import UNLIMITED, duel, role


def test_the_aircraft_that_it_ships_are_known():
    assert {"f16", "c172x", "T38", "f15", "737"} <= set(library.aircraft_names())


def test_an_unknown_aircraft_is_refused_with_the_nearest_name():
    with pytest.raises(PluginError, match=r"JSBSim ships no aircraft of this name \(got 'f61'\); did you mean 'f16'"):
        Aircraft("f61", 1 / 120, UNLIMITED)
    with pytest.raises(EngagementError, match=r"roles.pursuer.dynamics.*no aircraft 'f61'; did you mean 'f16'"):
        parse(duel(role("pursuers", "f61"), role("evaders")))


def test_a_wrong_or_missing_type_is_one_fault():
    pursuer = role("pursuers")
    pursuer["dynamics"]["type"] = 16
    with pytest.raises(EngagementError, match=r"dynamics.type: must be a valid string \(got 16\)$"):
        parse(duel(pursuer, role("evaders", start={"points": [[3000.0, 0.0, 6000.0]]})))
    del pursuer["dynamics"]["type"]
    with pytest.raises(EngagementError, match=r"dynamics.type: is required$"):
        parse(duel(pursuer, role("evaders", start={"points": [[3000.0, 0.0, 6000.0]]})))


@pytest.mark.parametrize("name", ["blank", "f104"])
def test_a_model_that_jsbsim_cannot_run_is_refused_by_name(name):
    from .flying import flying

    with pytest.raises(PluginError, match=f"aircraft {name}: JSBSim cannot use it"):
        flying(name)


NEED_FLIGHTGEAR = {"blank", "dr1", "f104", "fokker50", "fokker100", "L17", "Pterosaur"}
SMALL = {"minisgs", "paraglider", "F450"}


def test_every_aircraft_that_it_ships_flies_or_is_refused_by_name():
    from .flying import flying

    refused = {}
    for name in library.aircraft_names():
        try:
            aircraft = flying(name, altitude=3000.0, airspeed=12.0 if name in SMALL else 90.0, trimmed=False)
        except PluginError as fault:
            refused[name] = str(fault)
            continue
        assert aircraft.advance(60) is Failure.NONE, name
        assert all(math.isfinite(value) for value in aircraft.motion()), name
    assert set(refused) == NEED_FLIGHTGEAR
    assert all(f"aircraft {name}: JSBSim cannot use it" in text for name, text in refused.items())


def test_a_missing_jsbsim_is_named_with_the_command_that_installs_it(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "jsbsim":
            raise ModuleNotFoundError("No module named 'jsbsim'")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(PluginError, match=r"needs the package jsbsim.*pip install 'pe_ros\[fixed-wing\]'"):
        library.load()


def test_an_engagement_can_be_read_where_jsbsim_is_missing(monkeypatch):
    monkeypatch.setattr(library, "installed", lambda: False)
    evader = role("evaders")
    evader["start"]["points"] = [[3000.0, 0.0, 6000.0]]
    assert parse(duel(role("pursuers"), evader)).agents == ("pursuer_0", "evader_0")


NOISY = """
import sys
from pe_sim.worlds.jsbsim.aircraft import Aircraft, Limits
from pe_sim.worlds.jsbsim.initial import InitialConditions
for name, speed in (("f16", 200.0), ("c172x", 50.0), ("global5000", 180.0), ("f15", 200.0)):
    aircraft = Aircraft(name, 1 / 120, Limits((-99.0, 99.0), 9.0, 9.0, 0.0))
    aircraft.start(InitialConditions(0.8, 0.1, 2000.0, 1.0, speed))
    aircraft.advance(240)
try:
    aircraft.start(InitialConditions(0.8, 0.1, 2000.0, 1.0, 1.0))
except Exception as fault:
    print(type(fault).__name__, file=sys.stderr)
"""


def test_nothing_is_printed_and_nothing_is_written(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", NOISY], capture_output=True, text=True, cwd=tmp_path, timeout=60, check=True
    )
    assert done.stdout == ""
    assert done.stderr.splitlines() == ["EngagementError"]
    assert list(tmp_path.iterdir()) == []
