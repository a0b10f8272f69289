"""One aircraft: a JSBSim executive, made anew at every start, stepped with held controls, watched for failure."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from math import isnan
from typing import Any

from pe_sim.errors import PluginError
from pe_sim.worlds.jsbsim import initial, library
from pe_sim.worlds.jsbsim.air import TurbulenceSpec, stir
from pe_sim.worlds.jsbsim.properties import FOOT, MAX_ENGINES, PropertyAccess

MOTION = (
    "ecef_x", "ecef_y", "ecef_z", "latitude", "longitude", "roll", "pitch", "heading",
    "velocity_forward", "velocity_right", "velocity_down_body", "roll_rate", "pitch_rate", "yaw_rate",
    "angle_of_attack",
)
"""What is read after every tick, in this order, in JSBSim's own units."""

SURFACES = ("aileron", "elevator", "rudder")


class Failure(IntEnum):
    """Why an aircraft's flight ended; the names are outcomes."""

    NONE = 0
    DIVERGED = 1
    GROUND_CONTACT = 2
    OVERSTRESS = 3
    STALL = 4
    LEFT_AREA = 5


@dataclass(frozen=True)
class Limits:
    """What an aircraft withstands.

    Attributes:
        load_factor: least and greatest normal load factor before it breaks.
        angle_of_attack: magnitude that counts as stalled [rad].
        stall_time: how long it may stay stalled [s].
        clearance: height of its centre of mass above ground that counts as contact [m].
    """

    load_factor: tuple[float, float]
    angle_of_attack: float
    stall_time: float
    clearance: float


class Aircraft:
    """An aircraft of one type.

    Args:
        name: JSBSim's name of it.
        substep: integration step [s].
        limits: what it withstands.

    Raises:
        PluginError: if JSBSim is missing or has no such aircraft, or its model cannot be loaded.

    Attributes:
        properties: access to its properties in SI units; valid until the next start.
        engines: number of throttles.
        trimmed: aileron, elevator, rudder, throttle of the trimmed start.
        start_airspeed: true airspeed at the start [m/s]; JSBSim's own knows of the wind only after the first step.
    """

    def __init__(self, name: str, substep: float, limits: Limits) -> None:
        library.check_aircraft(name)
        self.name = name
        self._substep = substep
        self._limits = limits
        self.trimmed = (0.0, 0.0, 0.0, 0.0)
        self.start_airspeed = 0.0
        self._load()

    def _load(self) -> None:
        jsbsim = library.load()
        try:
            executive = jsbsim.FGFDMExec(None)
            executive.set_debug_level(0)
            executive.set_output_path(os.devnull)  # no folder: models that record themselves find no place to
            loaded = executive.load_model(self.name)
        except RuntimeError as fault:
            raise self._unusable(fault) from fault
        if not loaded:
            raise self._unusable("its model cannot be loaded")
        executive.disable_output()
        executive.set_dt(self._substep)
        self._executive: Any = executive
        self.properties = PropertyAccess(executive, self.name)
        self.engines = next((i for i in range(MAX_ENGINES) if not self.properties.has(f"throttle_{i}")), MAX_ENGINES)
        self._run: Callable[[], bool] = executive.run
        self._motion = [self.properties.node(name).get_double_value for name in MOTION]
        self._load_factor = self.properties.node("load_factor").get_double_value
        self._height = self.properties.node("height_above_ground").get_double_value
        self._surfaces = [self.properties.node(name).set_double_value for name in SURFACES]
        self._throttles = [self.properties.node(f"throttle_{i}").set_double_value for i in range(self.engines)]
        self._clearance = self._limits.clearance / FOOT
        self._fresh = True

    def _unusable(self, reason: object) -> PluginError:
        text = " ".join(str(reason).split())
        return PluginError(f"aircraft {self.name}", f"JSBSim cannot use it: {text}", cure="choose another aircraft")

    def start(
        self, conditions: initial.InitialConditions, turbulence: TurbulenceSpec | None = None, seed: int = 0
    ) -> None:
        """Begin a flight in a new executive: JSBSim's own reset does not restore a fresh instance.

        Raises:
            EngagementError: if the conditions are impossible.
            PluginError: if JSBSim has a model that it cannot run.
        """
        if not self._fresh:
            self._load()
        self._fresh = False
        try:
            initial.apply(self._executive, self.properties, self.engines, conditions, self.name)
        except RuntimeError as fault:
            raise self._unusable(fault) from fault
        self.start_airspeed = conditions.airspeed
        if turbulence is not None:
            stir(self.properties, turbulence, seed)
        throttle = self.properties.get("throttle_0") if self.engines else 0.0
        aileron, elevator, rudder = (self.properties.get(name) for name in SURFACES)
        self.trimmed = (aileron, elevator, rudder, throttle)

    def control(self, aileron: float, elevator: float, rudder: float, throttle: float) -> None:
        """Set the controls, held until set again: surfaces in [-1, 1], one throttle for all engines in [0, 1]."""
        surfaces = self._surfaces
        surfaces[0](aileron)
        surfaces[1](elevator)
        surfaces[2](rudder)
        for lever in self._throttles:
            lever(throttle)

    def advance(self, substeps: int) -> Failure:
        """Integrate a few substeps; return how the flight has ended after them, or NONE."""
        run = self._run
        try:
            for _ in range(substeps):
                run()
        except RuntimeError:  # JSBSim's own errors, raised when a state has left every table
            return Failure.DIVERGED
        low, high = self._limits.load_factor
        # Written so that a NaN fails the comparison.
        if low <= self._load_factor() <= high and self._height() > self._clearance:
            return Failure.NONE
        return self._reason()

    def _reason(self) -> Failure:
        load, height = self._load_factor(), self._height()
        if isnan(load) or isnan(height):
            return Failure.DIVERGED
        return Failure.GROUND_CONTACT if height <= self._clearance else Failure.OVERSTRESS

    @property
    def run(self) -> Callable[[], bool]:
        """JSBSim's own step."""
        return self._run

    def motion(self) -> list[float]:
        """Return the values of :data:`MOTION` in JSBSim's own units."""
        return [get() for get in self._motion]
