"""Arguments of the launch files: what there is to say, checked, and turned into the specifications of nodes.

Knows nothing of the package `launch`, which only a ROS 2 installation has.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from pe_ros import topics
from pe_ros.specs import NodeSpec, Options, agent_specs, engagement_specs
from pe_sim.engagement import Engagement, load
from pe_sim.errors import EngagementError, RosError
from pe_sim.schema import nearest
from pe_sim.shared_files import engagement_file

DEFAULT_WORLD = "kinematic"
DEFAULTS = {"grid": "grid_1v1", "kinematic": "kinematic_3v1", "fixed_wing": "fixed_wing_1v1"}
"""World -> name of the shipped engagement to run where none is named; of other worlds it is the first by name."""

BOOLEAN = ("true", "false")


@dataclass(frozen=True)
class LaunchArgument:
    """One argument of a launch file.

    Attributes:
        name: its name.
        default: its default; None where it must be given.
        description: for a person.
        choices: the valid texts, or () for any.
        kind: int or float where the text must be such a number.
    """

    name: str
    default: str | None
    description: str
    choices: tuple[str, ...] = ()
    kind: type[int] | type[float] | None = None


COMMON = (
    LaunchArgument("namespace", "", "Namespace of all nodes and topics, e.g. arena. /clock stays where it is."),
    LaunchArgument(
        "composed", "true", "One process for all nodes of an agent; false: one process for each node.", BOOLEAN
    ),
    LaunchArgument(
        "use_sim_time", "auto",
        "Simulated time from /clock; auto: only where engagement time does not pass like wall time.",
        ("auto", *BOOLEAN),
    ),
    LaunchArgument(
        "overrides", "",
        "Keys of the engagement file to replace, as YAML: '{rules.time_limit: 20 s, roles.pursuer.count: 2}'.",
    ),
    LaunchArgument(
        "log_level", "info", "Least level of what the nodes log.", ("debug", "info", "warn", "error", "fatal")
    ),
)  # fmt: skip
"""Arguments of every launch file."""

PURSUIT_SIM = (
    LaunchArgument(
        "engagement", "", "Engagement file: a path, or the name of a shipped one; '' for a default of the world."
    ),
    LaunchArgument(
        "world", "",
        f"World of the engagement, e.g. grid, kinematic or fixed_wing: picks a shipped one where none is named; "
        f"'' for {DEFAULT_WORLD}, or whatever the file says.",
    ),
    LaunchArgument("pace", "realtime", "By the clock, or as fast as decisions come.", ("realtime", "lockstep")),
    LaunchArgument("realtime_factor", "1.0", "Engagement seconds per wall second.", kind=float),
    LaunchArgument("seed", "-1", "Seed of the run; -1 for the engagement file's.", kind=int),
    LaunchArgument("episodes", "1", "Episodes one after another; 0 for no end.", kind=int),
    LaunchArgument(
        "record", "false",
        "Record a bag; true: into a new directory here, named after engagement and date; or name a new directory.",
    ),
    LaunchArgument("viewer", "false", "Show the engagement in the browser.", BOOLEAN),
    LaunchArgument(
        "begin", "true", "Begin the first episode at once; false waits for the service engagement/start.", BOOLEAN
    ),
    LaunchArgument(
        "exit_when_done", "true", "End everything after the last episode; false waits for engagement/start.", BOOLEAN
    ),
    *COMMON,
)  # fmt: skip
"""Arguments of pursuit_sim.launch.py."""

AGENT = (
    LaunchArgument("engagement", None, "Engagement file: a path, or the name of a shipped one."),
    LaunchArgument("agent", None, "Name of the agent in it, e.g. pursuer_0."),
    LaunchArgument(
        "pace", "wall",
        "wall: vehicles, whose odometry keeps no common instants; realtime or lockstep: a simulation that runs so.",
        ("wall", "realtime", "lockstep"),
    ),
    LaunchArgument("policy", "", "Policy instead of the engagement file's: guidance/<name>, or a bundle."),
    LaunchArgument("policy_parameters", "", "Its parameters, as YAML: '{gain: 4}'."),
    LaunchArgument(
        "watchdog", "0.0", "Seconds without an action until the agent is stopped; 0: by the action's validity.",
        kind=float,
    ),
    LaunchArgument("odom", "", "Topic of the agent's own odometry, e.g. /drone1/odom; '' for <agent>/odom."),
    LaunchArgument(
        "remap", "",
        "Other names to remap, as YAML: '{evader_0/odom: /target/odom, pursuer_0/command: /drone1/setpoint}'.",
    ),
    LaunchArgument(
        "autostart", "true", "Configure and activate at once; false leaves it to a lifecycle manager.", BOOLEAN
    ),
    *COMMON,
)  # fmt: skip
"""Arguments of agent.launch.py."""


def check_names(given: Iterable[str], arguments: Sequence[LaunchArgument]) -> None:
    """Refuse names of arguments that there are not: `ros2 launch` itself takes any without a word.

    Raises:
        RosError: with the nearest name.
    """
    known = [one.name for one in arguments]
    for name in given:
        if name not in known:
            raise RosError("launch argument", "no such argument", name, nearest(name, known))


def checked(values: Mapping[str, str], arguments: Sequence[LaunchArgument]) -> dict[str, str]:
    """Return the values of all arguments, truth values in lower case.

    Raises:
        RosError: for one that is missing or cannot be, with the nearest valid value or the kind of number needed.
    """
    out = {}
    for one in arguments:
        value = values.get(one.name, one.default)
        if value is None:
            raise RosError(f"launch argument {one.name}", "must be given", cure=f"{one.name}:=...: {one.description}")
        if "true" in one.choices:
            value = value.lower()
        if one.choices and value not in one.choices:
            raise RosError(f"launch argument {one.name}", "unknown value", value, nearest(value, one.choices))
        if one.kind is not None:
            _number(value, one.kind, one.name)
        out[one.name] = value
    return out


def _number(text: str, kind: type[int] | type[float], name: str) -> float:
    try:
        return kind(text)
    except ValueError:
        raise RosError(f"launch argument {name}", f"must be {'a whole' if kind is int else 'a'} number", text) from None


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
    overrides = mapping(values["overrides"], "overrides")
    path = find_engagement(values["engagement"], values["world"]).absolute()
    engagement = load(path, overrides or None)
    if values["world"] not in ("", engagement.world.backend):
        rule = f"is not the world of {path.name}, which is {engagement.world.backend}"
        raise RosError("launch argument world", rule, values["world"])
    options = Options(
        engagement=str(path), pace=values["pace"], realtime_factor=float(values["realtime_factor"]),
        seed=int(values["seed"]), episodes=int(values["episodes"]), begin=values["begin"] == "true",
        record=bag_directory(values["record"], engagement.engagement), overrides=_json(overrides),
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
    overrides = mapping(values["overrides"], "overrides")
    path = find_engagement(values["engagement"], "").absolute()
    engagement = load(path, overrides or None)
    name = values["agent"]
    if name not in engagement.agents:
        raise RosError("launch argument agent", f"no such agent in {path.name}", name, nearest(name, engagement.agents))
    options = Options(
        engagement=str(path), pace=values["pace"], overrides=_json(overrides),
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


def mapping(text: str, name: str) -> dict[str, Any]:
    """Return a YAML mapping given as an argument, {} for ''.

    Raises:
        RosError: if it is none.
    """
    if not text.strip():
        return {}
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as fault:
        raise RosError(f"launch argument {name}", "is no YAML", text, " ".join(str(fault).split())) from fault
    if not isinstance(value, dict):
        raise RosError(f"launch argument {name}", "must be a YAML mapping", text, f"{name}:='{{key: value}}'")
    return value


def _json(values: dict[str, Any]) -> str:
    return json.dumps(values) if values else ""


def _sim_time(text: str) -> bool | None:
    return None if text == "auto" else text == "true"


def _check_time(options: Options) -> None:
    if options.use_sim_time is False and options.simulated:
        why = "in lockstep" if options.pace == "lockstep" else f"with realtime_factor {options.realtime_factor:g}"
        rule = f"must not be false {why}: time is simulated"
        raise RosError("launch argument use_sim_time", rule, cure="use_sim_time:=auto")
