"""The registry: every built-in part loads, a wrong name is told the nearest, a name is never taken twice."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from pe_sim import registry
from pe_sim.errors import PluginError


@pytest.mark.parametrize("group", sorted(registry.BUILT_IN))
def test_every_built_in_part_can_be_loaded(group: str) -> None:
    for name in registry.BUILT_IN[group]:
        try:
            part = registry.lookup(group, name)
        except PluginError as fault:
            pytest.skip(f"{name}: {fault}")  # a part whose library is an extra
        assert callable(part)


def test_an_unknown_name_is_told_the_nearest() -> None:
    with pytest.raises(PluginError, match=r"there is no sensor kind of this name.*did you mean 'radar'"):
        registry.lookup("pe_sim.sensors", "raddar")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[EntryPoint]]:
    """Entry points that seem to be installed; the registry forgets them afterwards."""
    points: dict[str, list[EntryPoint]] = {}
    monkeypatch.setattr(registry, "_installed", lambda group: points)
    registry.lookup.cache_clear()
    return points


def test_a_name_that_is_taken_is_an_error(installed: dict[str, list[EntryPoint]]) -> None:
    installed["radar"] = [EntryPoint("radar", "mine:Radar", "pe_sim.sensors")]
    with pytest.raises(PluginError, match="taken more than once: built in, mine:Radar"):
        registry.lookup("pe_sim.sensors", "radar")
    installed["sonar"] = [EntryPoint("sonar", value, "pe_sim.sensors") for value in ("one:Sonar", "two:Sonar")]
    with pytest.raises(PluginError, match="one:Sonar, two:Sonar"):
        registry.lookup("pe_sim.sensors", "sonar")


def test_a_part_that_cannot_be_imported_says_why(installed: dict[str, list[EntryPoint]]) -> None:
    installed["sonar"] = [EntryPoint("sonar", "no_such_module:Sonar", "pe_sim.sensors")]
    with pytest.raises(PluginError, match="cannot be imported: No module named 'no_such_module'"):
        registry.lookup("pe_sim.sensors", "sonar")
    installed["echo"] = [EntryPoint("echo", "pe_sim.timing:Echo", "pe_sim.sensors")]
    with pytest.raises(PluginError, match="cannot be imported"):
        registry.lookup("pe_sim.sensors", "echo")
