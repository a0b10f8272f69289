"""What the launch files start: their arguments turned into an engagement and the specifications of nodes.

Knows nothing of the package `launch`, which only a ROS 2 installation has.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pe_ros import topics
from pe_ros.launch_arguments import AGENT, DEFAULT_WORLD, PURSUIT_SIM, checked, mapping
from pe_ros.specs import NodeSpec, Options, agent_specs, engagement_specs
from pe_sim.engagement import Engagement, load
from pe_sim.errors import EngagementError, RosError
from pe_sim.schema import nearest
from pe_sim.shared_files import engagement_file

DEFAULTS = {"grid": "grid_1v1", "kinematic": "kinematic_3v1", "fixed_wing": "fixed_wing_1v1"}
"""World -> name of the shipped engagement to run where none is named; of other worlds it is the first by name."""


@dataclass(frozen=True)
class Launch:
    """What a launch file is to start.

    Attributes:
        specs: the processes.
        engagement: the engagement.
        options: how it is run.
        remappings: (name, other name) for all nodes.
        notes: what a person should be told.
    """

    specs: list[NodeSpec]
    engagement: Engagement
    options: Options
    remappings: list[tuple[str, str]]
    notes: list[str]


def pursuit_sim(values: Mapping[str, str]) -> Launch:
    """Return what pursuit_sim.launch.py is to start.

    Args:
        values: its arguments.

    Raises:
        PeError: for a value or a file that cannot be used.
    """
    values = checked(values, PURSUIT_SIM)
    path, engagement, overrides = _engagement(values)
    if values["world"] not in ("", engagement.world.backend):
        rule = f"is not the world of {path.name}, which is {engagement.world.backend}"
        raise RosError("launch argument world", rule, values["world"])
    options = Options(
        engagement=str(path), pace=values["pace"], realtime_factor=float(values["realtime_factor"]),
        seed=int(values["seed"]), episodes=int(values["episodes"]), begin=values["begin"] == "true",
        record=bag_directory(values["record"], engagement.engagement), overrides=overrides,
        use_sim_time=_sim_time(values["use_sim_time"]), exit_when_done=values["exit_when_done"] == "true",
    )  # fmt: skip
    _check_time(options)
    notes = [f"{engagement.engagement}: {path}"]
    if options.record:
        notes.append(f"bag: {options.record}")
    if values["viewer"] == "true":
        notes.append("viewer:=true: there is no viewer in this version; the engagement runs without one")
    specs = engagement_specs(engagement, options, composed=values["composed"] == "true")
    return Launch(specs, engagement, options, [], notes)


def agent(values: Mapping[str, str]) -> Launch:
    """Return what agent.launch.py is to start: one agent's sensors, policy and gate.

    Args:
        values: its arguments.

    Raises:
        PeError: for a value or a file that cannot be used.
    """
    values = checked(values, AGENT)
    path, engagement, overrides = _engagement(values)
    name = values["agent"]
    if name not in engagement.agents:
        raise RosError("launch argument agent", f"no such agent in {path.name}", name, nearest(name, engagement.agents))
    options = Options(
        engagement=str(path), pace=values["pace"], overrides=overrides,
        use_sim_time=_sim_time(values["use_sim_time"]),
    )  # fmt: skip
    _check_time(options)
    parameters: dict[str, Any] = {"autostart": values["autostart"] == "true", "watchdog": float(values["watchdog"])}
    if values["policy"]:
        parameters["policy"] = values["policy"]
        parameters["policy_parameters"] = _json(mapping(values["policy_parameters"], "policy_parameters"))
    elif values["policy_parameters"]:
        raise RosError("launch argument policy_parameters", "needs a policy", cure="policy:=guidance/<name>")
    remap = [(str(old), str(new)) for old, new in mapping(values["remap"], "remap").items()]
    if values["odom"]:
        remap.insert(0, (topics.odom(name), values["odom"]))
    specs = agent_specs(name, options, composed=values["composed"] == "true", parameters=parameters)
    return Launch(specs, engagement, options, remap, [f"{name} of {engagement.engagement}: {path}"])


def _engagement(values: Mapping[str, str]) -> tuple[Path, Engagement, str]:
    """Return the path of the engagement file, the engagement, and the keys replaced in it, as JSON."""
    overrides = mapping(values["overrides"], "overrides")
    path = find_engagement(values["engagement"], values.get("world", "")).absolute()
    return path, load(path, overrides or None), _json(overrides)


def find_engagement(name: str, world: str) -> Path:
    """Return the path of an engagement file.

    Args:
        name: a path, the name of a shipped file, or '' for a shipped one of the world.
        world: backend, where no name is given; '' for the default.

    Raises:
        EngagementError: if there is no shipped engagement of this name.
        RosError: if there is none of this world.
    """
    if name:
        return engagement_file(name.removesuffix(".yaml") if "/" not in name and not Path(name).exists() else name)
    world = world or DEFAULT_WORLD
    if world in DEFAULTS:
        return engagement_file(DEFAULTS[world])
    return _first_of(world, engagement_file(DEFAULTS[DEFAULT_WORLD]).parent)


def _first_of(world: str, directory: Path) -> Path:
    backends: dict[str, Path] = {}
    for path in sorted(directory.glob("*.yaml")):
        with suppress(EngagementError):  # of a world that needs a library which is not installed
            backends.setdefault(load(path).world.backend, path)
    if world not in backends:
        rule = "no shipped engagement has this world"
        raise RosError("launch argument world", rule, world, nearest(world, backends))
    return backends[world]


def bag_directory(record: str, engagement: str) -> str:
    """Return the directory of the bag, '' for none.

    Args:
        record: the argument: false, true or a directory.
        engagement: name of the engagement.
    """
    if record.lower() in ("", "false"):
        return ""
    if record.lower() == "true":
        return str(Path.cwd() / f"{engagement}_{time.strftime('%Y-%m-%d_%H-%M-%S')}")
    return str(Path(record).expanduser().absolute())


def _json(values: dict[str, Any]) -> str:
    return json.dumps(values) if values else ""


def _sim_time(text: str) -> bool | None:
    return None if text == "auto" else text == "true"


def _check_time(options: Options) -> None:
    if options.use_sim_time is False and options.simulated:
        why = "in lockstep" if options.pace == "lockstep" else f"with realtime_factor {options.realtime_factor:g}"
        rule = f"must not be false {why}: time is simulated"
        raise RosError("launch argument use_sim_time", rule, cure="use_sim_time:=auto")
