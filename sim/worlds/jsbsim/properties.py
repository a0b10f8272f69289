"""JSBSim's properties by plain names in SI units, FRD body axes and NED local axes: the one table of all we read and write.

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


@dataclass(frozen=True)
class Property:
    """One quantity of an aircraft.

    Attributes:
        path: JSBSim's name.
        unit: SI unit of the value we speak of.
        factor: SI value = factor * JSBSim's value.
        writable: whether it may be set.
        optional: whether some aircraft lack it (a retractable gear, a mixture lever).
    """

    path: str
    unit: str
    factor: float = 1.0
    writable: bool = False
    optional: bool = False


def _group(unit: str, factor: float, **paths: str) -> dict[str, Property]:
    return {name: Property(path, unit, factor) for name, path in paths.items()}


def _settable(unit: str, factor: float, *, optional: bool = False, **paths: str) -> dict[str, Property]:
    return {name: Property(path, unit, factor, writable=True, optional=optional) for name, path in paths.items()}


PROPERTIES: dict[str, Property] = {
    # Motion
    **_group("m", FOOT, ecef_x="position/ecef-x-ft", ecef_y="position/ecef-y-ft", ecef_z="position/ecef-z-ft"),
    **_group("m", FOOT, altitude="position/geod-alt-ft", height_above_ground="position/h-agl-ft"),
    **_group("rad", 1.0, latitude="position/lat-geod-rad", longitude="position/long-gc-rad"),
    **_group("rad", 1.0, roll="attitude/phi-rad", pitch="attitude/theta-rad", heading="attitude/psi-rad"),
    **_group("m/s", FOOT, velocity_forward="velocities/u-fps", velocity_right="velocities/v-fps", velocity_down_body="velocities/w-fps"),
    **_group("m/s", FOOT, velocity_north="velocities/v-north-fps", velocity_east="velocities/v-east-fps", velocity_down="velocities/v-down-fps"),
    **_group("rad/s", 1.0, roll_rate="velocities/p-rad_sec", pitch_rate="velocities/q-rad_sec", yaw_rate="velocities/r-rad_sec"),
    **_group("rad/s^2", 1.0, roll_acceleration="accelerations/pdot-rad_sec2", pitch_acceleration="accelerations/qdot-rad_sec2", yaw_acceleration="accelerations/rdot-rad_sec2"),
    **_group("m/s", FOOT, climb_rate="velocities/h-dot-fps"),
    # Air
    **_group("m/s", FOOT, true_airspeed="velocities/vt-fps", calibrated_airspeed="velocities/vc-fps", speed_of_sound="atmosphere/a-fps"),
    **_group("dimensionless", 1.0, mach="velocities/mach"),
    **_group("rad", 1.0, angle_of_attack="aero/alpha-rad", sideslip="aero/beta-rad"),
    **_group("Pa", PSF, dynamic_pressure="aero/qbar-psf", pressure="atmosphere/P-psf"),
    **_group("kg/m^3", SLUG_PER_CUBIC_FOOT, density="atmosphere/rho-slugs_ft3"),
    **_group("dimensionless", 1.0, load_factor="accelerations/Nz", load_factor_lateral="accelerations/Ny"),
    **_settable("m/s", FOOT, wind_north="atmosphere/wind-north-fps", wind_east="atmosphere/wind-east-fps", wind_down="atmosphere/wind-down-fps"),
    **_group("m/s", FOOT, total_wind_north="atmosphere/total-wind-north-fps", total_wind_east="atmosphere/total-wind-east-fps", total_wind_down="atmosphere/total-wind-down-fps"),
    **_settable("dimensionless", 1.0, turbulence_model="atmosphere/turb-type", turbulence_severity="atmosphere/turbulence/milspec/severity", turbulence_seed="atmosphere/randomseed", random_seed="simulation/randomseed"),
    **_settable("m/s", FOOT, turbulence_wind_at_20_feet="atmosphere/turbulence/milspec/windspeed_at_20ft_AGL-fps"),
    # Controls: JSBSim's normalised commands. Positive turns the aircraft positively about its FLU axes:
    # aileron rolls right, elevator pushes the nose down, rudder swings it left.
    **_settable("dimensionless", 1.0, aileron="fcs/aileron-cmd-norm", elevator="fcs/elevator-cmd-norm", rudder="fcs/rudder-cmd-norm"),
    **_settable("dimensionless", 1.0, pitch_trim="fcs/pitch-trim-cmd-norm", roll_trim="fcs/roll-trim-cmd-norm", yaw_trim="fcs/yaw-trim-cmd-norm"),
    **_settable("dimensionless", 1.0, optional=True, **{f"throttle_{i}": f"fcs/throttle-cmd-norm[{i}]" for i in range(12)}),
    **_settable("dimensionless", 1.0, optional=True, **{f"mixture_{i}": f"fcs/mixture-cmd-norm[{i}]" for i in range(12)}),
    **_settable("dimensionless", 1.0, optional=True, **{f"advance_{i}": f"fcs/advance-cmd-norm[{i}]" for i in range(12)}),
    **_settable("dimensionless", 1.0, optional=True, gear_command="gear/gear-cmd-norm", gear_position="gear/gear-pos-norm"),
    **_settable("dimensionless", 1.0, engines_running="propulsion/set-running", fuel_frozen="propulsion/fuel_freeze"),
    # Mass
    **_group("kg", POUND, mass="inertia/weight-lbs", fuel="propulsion/total-fuel-lbs"),
    **_group("m^2", FOOT**2, wing_area="metrics/Sw-sqft"),
    **_group("m", FOOT, wing_span="metrics/bw-ft"),
    **_group("s", 1.0, time="simulation/sim-time-sec"),
    # Initial conditions; JSBSim makes other ones follow as these are set, so their order matters: see initial.py
    **_settable("rad", 1.0, initial_latitude="ic/lat-geod-rad", initial_longitude="ic/long-gc-rad"),
    **_settable("m", FOOT, initial_height="ic/h-sl-ft", terrain_elevation="ic/terrain-elevation-ft"),
    **_group("m", FOOT, initial_altitude="ic/geod-alt-ft"),
    **_settable("m/s", FOOT, initial_airspeed="ic/vt-fps", initial_north="ic/vn-fps", initial_east="ic/ve-fps", initial_down="ic/vd-fps"),
    **_settable("rad", 1.0, initial_roll="ic/phi-rad", initial_pitch="ic/theta-rad", initial_heading="ic/psi-true-rad", initial_path="ic/gamma-rad"),
}
"""Name -> property. Body axes FRD, local axes NED: see frames.py for ENU and FLU."""


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
