"""The jsbsim package: found or plainly missed, silent, and asked which aircraft it ships."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

from pe_sim.errors import PluginError
from pe_sim.schema import nearest

INSTALL = "pip install 'pe_ros[fixed-wing]'"
"""The command that brings JSBSim."""


def installed() -> bool:
    """Return whether the jsbsim package can be imported."""
    return importlib.util.find_spec("jsbsim") is not None


def load() -> Any:
    """Return the jsbsim module, silenced for the calling thread: JSBSim's log goes nowhere, and never to stdout.

    Raises:
        PluginError: if it is not installed, with the command that installs it.
    """
    try:
        import jsbsim
    except ImportError as fault:
        rule = "needs the package jsbsim, which is not installed"
        raise PluginError("world fixed_wing", rule, cure=INSTALL) from fault
    # The logger belongs to a thread, so it is looked up at every call and set where it is missing.
    if not isinstance(jsbsim.get_logger(), _silent_logger()):
        jsbsim.set_logger(_silent_logger()())
        base: Any = jsbsim.FGJSBBase
        base().debug_lvl = 0
    return jsbsim


@cache
def _silent_logger() -> Any:
    """Return the logger class that keeps the last errors and prints nothing."""
    import jsbsim

    class SilentLogger(jsbsim.FGLogger):  # type: ignore[misc, unused-ignore]
        """Keeps the text of the newest record at error level."""

        def __init__(self) -> None:
            super().__init__()
            self.last_error = ""
            self._level = 0
            self._parts: list[str] = []

        def set_level(self, level: Any) -> None:
            self._level, self._parts = int(level), []

        def file_location(self, filename: str, line: int) -> None:
            """Where in a model's file: not kept."""

        def message(self, message: str) -> None:
            if self._level >= int(jsbsim.LogLevel.ERROR):
                self._parts.append(message)

        def format(self, log_format: Any) -> None:
            """Colours: not kept."""

        def flush(self) -> None:
            if self._parts:
                self.last_error = " ".join("".join(self._parts).split())

    return SilentLogger


@cache
def aircraft_names() -> tuple[str, ...]:
    """Return the names of the aircraft that the installed JSBSim ships, sorted."""
    root = Path(load().get_default_root_dir()) / "aircraft"
    return tuple(sorted(folder.name for folder in root.iterdir() if (folder / f"{folder.name}.xml").is_file()))


def check_aircraft(name: str) -> None:
    """Refuse an aircraft that JSBSim does not ship.

    Raises:
        PluginError: with the nearest name that it does ship.
    """
    if name not in aircraft_names():
        raise PluginError("aircraft", "JSBSim ships no aircraft of this name", name, nearest(name, aircraft_names()))
