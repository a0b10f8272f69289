"""Errors say what, which rule, which value, and what to do; every class of this package is one of them."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import pytest

import pe_sim
from pe_sim import errors
from pe_sim.errors import EngagementError, PeError
from pe_sim.schema import nearest


def test_an_error_reads_as_a_sentence() -> None:
    fault = EngagementError("a.yaml: world.tick", "must be greater than 0", -1, "give a duration")
    assert str(fault) == "a.yaml: world.tick: must be greater than 0 (got -1); give a duration"
    assert str(PeError("x", "is missing")) == "x: is missing"
    assert (fault.name, fault.rule, fault.value, fault.cure) == fault.args


def test_every_exception_of_the_package_is_a_pe_error() -> None:
    skipped = ("rival_scripts", "parallel", "jsbsim", "learning", "rllib")
    for module in pkgutil.walk_packages(pe_sim.__path__, "pe_sim."):
        if any(word in module.name for word in skipped):
            continue
        for name, member in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if issubclass(member, BaseException) and member.__module__.startswith("pe_sim"):
                assert issubclass(member, PeError), f"{module.name}.{name}"
    assert {"ActionError", "ContractError", "EngagementError", "PluginError"} <= set(vars(errors))


@pytest.mark.parametrize(
    ("name", "valid", "says"),
    [
        ("pursuers", ["pursuer", "evader"], "did you mean 'pursuer'?"),
        ("zzz", ["b", "a"], "valid names: a, b"),
        ("zzz", [], "valid names: none"),
    ],
)
def test_the_nearest_name(name: str, valid: list[str], says: str) -> None:
    assert nearest(name, valid) == says
