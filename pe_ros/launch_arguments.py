"""Arguments of the launch files: what there is to say, and whether it can be. What follows from it: launch_plans.

Knows nothing of the package `launch`, which only a ROS 2 installation has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from pe_sim.errors import RosError
from pe_sim.schema import nearest

DEFAULT_WORLD = "kinematic"
"""World of the engagement to run where neither is named."""

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
