"""JSBSim's properties by plain names and in SI units: the one table of all that is read and written.

JSBSim creates a property silently when a misspelt one is written, and speaks feet, pounds and degrees. So every access
goes through this table, and a name that is not in it, or that an aircraft does not have, is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pe_sim.errors import PluginError
from pe_sim.schema import nearest

FOOT = 0.3048
"""Metres in a foot, by definition."""
POUND_FORCE = 4.4482216152605
"""Newtons in a pound-force."""
POUND = 0.45359237
"""Kilograms in a pound."""
PSF = POUND_FORCE / FOOT**2
"""Pascals in a pound per square foot."""
SLUG_PER_CUBIC_FOOT = POUND_FORCE / FOOT**4
"""Kilograms per cubic metre in a slug per cubic foot."""


UNITS = {
    "ft": ("m", FOOT),
    "ft/s": ("m/s", FOOT),
    "ft^2": ("m^2", FOOT**2),
    "rad": ("rad", 1.0),
    "rad/s": ("rad/s", 1.0),
    "s": ("s", 1.0),
    "lb": ("kg", POUND),
    "psf": ("Pa", PSF),
    "slug/ft^3": ("kg/m^3", SLUG_PER_CUBIC_FOOT),
    "1": ("dimensionless", 1.0),
}
"""JSBSim's unit -> the SI unit and how many of it one is."""

MAX_ENGINES = 12

TABLE = """
# motion: body axes FRD, local axes NED
ecef_x                      position/ecef-x-ft                          ft         r
ecef_y                      position/ecef-y-ft                          ft         r
ecef_z                      position/ecef-z-ft                          ft         r
altitude                    position/geod-alt-ft                        ft         r
height_above_ground         position/h-agl-ft                           ft         r
latitude                    position/lat-geod-rad                       rad        r
longitude                   position/long-gc-rad                        rad        r
roll                        attitude/phi-rad                            rad        r
pitch                       attitude/theta-rad                          rad        r
heading                     attitude/psi-rad                            rad        r
velocity_forward            velocities/u-fps                            ft/s       r
velocity_right              velocities/v-fps                            ft/s       r
velocity_down_body          velocities/w-fps                            ft/s       r
velocity_north              velocities/v-north-fps                      ft/s       r
velocity_east               velocities/v-east-fps                       ft/s       r
velocity_down               velocities/v-down-fps                       ft/s       r
climb_rate                  velocities/h-dot-fps                        ft/s       r
roll_rate                   velocities/p-rad_sec                        rad/s      r
pitch_rate                  velocities/q-rad_sec                        rad/s      r
yaw_rate                    velocities/r-rad_sec                        rad/s      r
load_factor                 accelerations/Nz                            1          r
time                        simulation/sim-time-sec                     s          r
# air
true_airspeed               velocities/vt-fps                           ft/s       r
calibrated_airspeed         velocities/vc-fps                           ft/s       r
mach                        velocities/mach                             1          r
angle_of_attack             aero/alpha-rad                              rad        r
sideslip                    aero/beta-rad                               rad        r
dynamic_pressure            aero/qbar-psf                               psf        r
pressure                    atmosphere/P-psf                            psf        r
density                     atmosphere/rho-slugs_ft3                    slug/ft^3  r
speed_of_sound              atmosphere/a-fps                            ft/s       r
wind_north                  atmosphere/wind-north-fps                   ft/s       rw
wind_east                   atmosphere/wind-east-fps                    ft/s       rw
wind_down                   atmosphere/wind-down-fps                    ft/s       rw
total_wind_north            atmosphere/total-wind-north-fps             ft/s       r
total_wind_east             atmosphere/total-wind-east-fps              ft/s       r
total_wind_down             atmosphere/total-wind-down-fps              ft/s       r
turbulence_model            atmosphere/turb-type                        1          rw
turbulence_severity         atmosphere/turbulence/milspec/severity      1          rw
turbulence_wind_at_20_feet  atmosphere/turbulence/milspec/windspeed_at_20ft_AGL-fps  ft/s  rw
turbulence_seed             atmosphere/randomseed                       1          rw
random_seed                 simulation/randomseed                       1          rw
# controls: positive turns the aircraft positively about its FLU axes
aileron                     fcs/aileron-cmd-norm                        1          rw
elevator                    fcs/elevator-cmd-norm                       1          rw
rudder                      fcs/rudder-cmd-norm                         1          rw
pitch_trim                  fcs/pitch-trim-cmd-norm                     1          rw
throttle_#                  fcs/throttle-cmd-norm[#]                    1          rw
mixture_#                   fcs/mixture-cmd-norm[#]                     1          rw
advance_#                   fcs/advance-cmd-norm[#]                     1          rw
gear_command                gear/gear-cmd-norm                          1          rw
gear_position               gear/gear-pos-norm                          1          rw
engines_running             propulsion/set-running                      1          rw
# mass and size
mass                        inertia/weight-lbs                          lb         r
fuel                        propulsion/total-fuel-lbs                   lb         r
wing_area                   metrics/Sw-sqft                             ft^2       r
wing_span                   metrics/bw-ft                               ft         r
# initial conditions: JSBSim derives some from others as they are set, so their order matters: see initial.py
initial_latitude            ic/lat-geod-rad                             rad        rw
initial_longitude           ic/long-gc-rad                              rad        rw
initial_height              ic/h-sl-ft                                  ft         rw
initial_altitude            ic/geod-alt-ft                              ft         r
terrain_elevation           ic/terrain-elevation-ft                     ft         rw
initial_airspeed            ic/vt-fps                                   ft/s       rw
initial_north               ic/vn-fps                                   ft/s       rw
initial_east                ic/ve-fps                                   ft/s       rw
initial_down                ic/vd-fps                                   ft/s       rw
initial_roll                ic/phi-rad                                  rad        rw
initial_pitch               ic/theta-rad                                rad        rw
initial_heading             ic/psi-true-rad                             rad        rw
initial_path                ic/gamma-rad                                rad        rw
"""
"""Our name, JSBSim's, its unit, and whether it may be read (r) or written too (w); # counts engines from 0."""


@dataclass(frozen=True)
class Property:
    """One quantity of an aircraft.

    Attributes:
        path: JSBSim's name.
        unit: SI unit of the value we speak of.
        factor: SI value = factor * JSBSim's value.
        writable: whether it may be set.
    """

    path: str
    unit: str
    factor: float
    writable: bool


def _parsed(table: str) -> dict[str, Property]:
    out = {}
    for line in table.splitlines():
        if not line or line.startswith("#"):
            continue
        name, path, unit, access = line.split()
        for engine in range(MAX_ENGINES) if "#" in name else (0,):
            out[name.replace("#", str(engine))] = Property(path.replace("#", str(engine)), *UNITS[unit], "w" in access)
    return out


PROPERTIES: dict[str, Property] = _parsed(TABLE)
"""Name -> property."""


def find(name: str) -> Property:
    """Return a property by its name.

    Raises:
        PluginError: if there is none of this name, with the nearest that there is.
    """
    if name not in PROPERTIES:
        raise PluginError("property", "there is no property of this name", name, nearest(name, PROPERTIES))
    return PROPERTIES[name]


class PropertyAccess:
    """The properties of one JSBSim executive, in SI units.

    Args:
        executive: an FGFDMExec with a model loaded.
        aircraft: its name, for errors.
    """

    def __init__(self, executive: Any, aircraft: str) -> None:
        self._manager = executive.get_property_manager()
        self._aircraft = aircraft

    def has(self, name: str) -> bool:
        """Return whether this aircraft has a property.

        Raises:
            PluginError: if the table has none of this name.
        """
        return self._manager.get_node(find(name).path) is not None

    def node(self, name: str) -> Any:
        """Return JSBSim's node of a property: the fast way to it, in JSBSim's own unit.

        Raises:
            PluginError: if the table has no such property, or this aircraft lacks it.
        """
        entry = find(name)
        node = self._manager.get_node(entry.path)
        if node is None:
            raise PluginError(
                f"aircraft {self._aircraft}", f"has no {name} (JSBSim's {entry.path})", cure="choose another aircraft"
            )
        return node

    def get(self, name: str) -> float:
        """Return a property's value in its SI unit."""
        return float(self.node(name).get_double_value()) * find(name).factor

    def set(self, name: str, value: float) -> None:
        """Set a property in its SI unit.

        Raises:
            PluginError: if it does not exist, is read-only, or the value is not finite.
        """
        entry = find(name)
        if not entry.writable:
            raise PluginError("property", "can be read only", name)
        if not abs(value) < float("inf"):
            raise PluginError(f"property {name}", "must be finite", value)
        self.node(name).set_double_value(value / entry.factor)

    def reader(self, *names: str) -> Callable[[], list[float]]:
        """Return a function that reads several properties at once in JSBSim's own units; see :func:`factors`."""
        getters = tuple(self.node(name).get_double_value for name in names)
        return lambda: [get() for get in getters]


def factors(*names: str) -> list[float]:
    """Return the factors that take values of :meth:`PropertyAccess.reader` to SI units."""
    return [find(name).factor for name in names]
