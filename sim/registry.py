"""Where named parts are found: worlds, dynamics, sensors and guidance, built in or from any installed package.

A package registers its own by an entry point, e.g. in its pyproject.toml::

    [project.entry-points."pe_sim.sensors"]
    sonar = "my_package.sonar:Sonar"
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from pe_sim.errors import PluginError
from pe_sim.schema import nearest

BUILT_IN: dict[str, dict[str, str]] = {
    "pe_sim.worlds": {
        "grid": "pe_sim.worlds.grid:GridWorld",
        "kinematic": "pe_sim.worlds.kinematic:KinematicWorld",
        "template": "pe_sim.worlds.template:TemplateWorld",
        "fixed_wing": "pe_sim.worlds.fixed_wing:FixedWingWorld",
    },
    "pe_sim.dynamics": {
        "grid_mover": "pe_sim.worlds.grid:GridMover",
        "single_integrator": "pe_sim.worlds.dynamics.single_integrator:SingleIntegrator",
        "double_integrator": "pe_sim.worlds.dynamics.double_integrator:DoubleIntegrator",
        "unicycle": "pe_sim.worlds.dynamics.unicycle:Unicycle",
        "dubins_car": "pe_sim.worlds.dynamics.dubins_car:DubinsCar",
        "car": "pe_sim.worlds.dynamics.car:Car",
        "airplane": "pe_sim.worlds.dynamics.airplane:Airplane",
        "multirotor": "pe_sim.worlds.dynamics.multirotor:Multirotor",
        "template_mover": "pe_sim.worlds.template:TemplateMover",
        "aircraft": "pe_sim.worlds.jsbsim.spec:AircraftModel",
    },
    "pe_sim.obstacles": {
        "circle": "pe_sim.worlds.shapes:Circle",
        "cylinder": "pe_sim.worlds.shapes:Cylinder",
        "box": "pe_sim.worlds.shapes:Box",
        "sphere": "pe_sim.worlds.shapes:Sphere",
        "polygon": "pe_sim.worlds.shapes:Polygon",
        "wall": "pe_sim.worlds.shapes:Wall",
    },
    "pe_sim.sensors": {
        "own_motion": "pe_sim.sensors.own_motion:OwnMotion",
        "position": "pe_sim.sensors.position:Position",
        "inertial": "pe_sim.sensors.inertial:Inertial",
        "radar": "pe_sim.sensors.radar:Radar",
        "bearing": "pe_sim.sensors.bearing:Bearing",
        "camera": "pe_sim.sensors.camera:Camera",
        "relative": "pe_sim.sensors.relative:Relative",
        "shared_tracks": "pe_sim.sensors.shared_tracks:SharedTracks",
        "air_data": "pe_sim.sensors.air_data:AirData",
        "tracking_radar": "pe_sim.sensors.tracking_radar:TrackingRadar",
        "warning_receiver": "pe_sim.sensors.warning_receiver:WarningReceiver",
    },
    "pe_sim.bundle_readers": {"bundle": "pe_sim.policies.runner:load"},
    "pe_sim.guidance": {
        "pure_pursuit": "pe_sim.guidance.pure_pursuit:PurePursuit",
        "deviated_pursuit": "pe_sim.guidance.lead_pursuit:DeviatedPursuit",
        "lead_pursuit": "pe_sim.guidance.lead_pursuit:LeadPursuit",
        "constant_bearing": "pe_sim.guidance.collision_course:ConstantBearing",
        "proportional_navigation": "pe_sim.guidance.proportional_navigation:ProportionalNavigation",
        "apollonius_intercept": "pe_sim.guidance.collision_course:ApolloniusIntercept",
        "coordinated_intercept": "pe_sim.guidance.coordinated_intercept:CoordinatedIntercept",
        "encirclement": "pe_sim.guidance.encirclement:Encirclement",
        "area_pursuit": "pe_sim.guidance.area_pursuit:AreaPursuit",
        "flee": "pe_sim.guidance.flee:Flee",
        "away_from_centroid": "pe_sim.guidance.evasion:AwayFromCentroid",
        "straight": "pe_sim.guidance.roaming:Straight",
        "zigzag": "pe_sim.guidance.roaming:Zigzag",
        "circling": "pe_sim.guidance.roaming:Circling",
        "goal_seeking": "pe_sim.guidance.evasion:GoalSeeking",
        "hide": "pe_sim.guidance.evasion:Hide",
        "random": "pe_sim.guidance.random_walk:RandomWalk",
        "hold_still": "pe_sim.guidance.hold_still:HoldStill",
        "greedy_grid": "pe_sim.guidance.greedy_grid:GreedyGrid",
        "optimal_grid": "pe_sim.guidance.optimal_grid:OptimalGrid",
        "air_pursuit": "pe_sim.guidance.fixed_wing.pursuit:AirPursuit",
        "air_navigation": "pe_sim.guidance.fixed_wing.navigation:AirNavigation",
        "air_straight": "pe_sim.guidance.fixed_wing.evasion:AirStraight",
        "air_beam": "pe_sim.guidance.fixed_wing.evasion:AirBeam",
        "air_break": "pe_sim.guidance.fixed_wing.evasion:AirBreak",
        "air_jink": "pe_sim.guidance.fixed_wing.evasion:AirJink",
        "air_weave": "pe_sim.guidance.fixed_wing.evasion:AirWeave",
    },
}
"""Group of entry points -> name -> 'module:attribute', loaded when first asked for."""


_ONE_OF = {
    "pe_sim.worlds": "world", "pe_sim.dynamics": "dynamics model", "pe_sim.obstacles": "shape",
    "pe_sim.sensors": "sensor kind", "pe_sim.guidance": "guidance law", "pe_sim.bundle_readers": "reader of bundles",
}  # fmt: skip


@cache
def _installed(group: str) -> dict[str, list[Any]]:
    """Return name -> entry points of that name, of all installed packages."""
    found: dict[str, list[Any]] = {}
    for point in entry_points(group=group):
        if point.value not in [other.value for other in found.get(point.name, [])]:
            found.setdefault(point.name, []).append(point)
    return found


def names(group: str) -> list[str]:
    """Return every name registered in a group, built in or installed."""
    return sorted({*BUILT_IN[group], *_installed(group)})


@cache
def lookup(group: str, name: str) -> Any:
    """Return the class registered under a name.

    Raises:
        PluginError: if the name is unknown (with the nearest valid one) or taken twice, or its module cannot be
            imported.
    """
    target = BUILT_IN[group].get(name)
    points = _installed(group).get(name, [])
    if target is None and not points:
        rule = f"there is no {_ONE_OF[group]} of this name"
        raise PluginError(group.removeprefix("pe_sim."), rule, name, nearest(name, names(group)))
    if len(points) + (target is not None) > 1:
        rivals = ["built in"] * (target is not None) + [point.value for point in points]
        cure = "rename or uninstall one"
        raise PluginError(f"{group}:{name}", f"the name is taken more than once: {', '.join(rivals)}", cure=cure)
    try:
        if target is not None:
            module, _, attribute = target.partition(":")
            return getattr(import_module(module), attribute)
        return points[0].load()
    except (ImportError, AttributeError) as fault:
        raise PluginError(f"{group}:{name}", f"cannot be imported: {fault}") from fault
