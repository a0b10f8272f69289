"""The nodes of an engagement, stated once: launch files start them as processes, ``pe-ros engage`` composes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pe_ros import topics
from pe_sim.engagement import Engagement


@dataclass(frozen=True)
class Options:
    """How to run an engagement.

    Attributes:
        engagement: path of the file.
        pace: 'realtime', 'lockstep' or 'wall'.
        realtime_factor: engagement seconds per wall second.
        seed: seed of the run, -1 for the file's.
        episodes: episodes one after another, 0 for no end.
        record: directory of the bag, '' for none.
        use_sim_time: simulated time; None decides by pace and factor.
        overrides: JSON object of dotted keys to replace in the file.
        exit_when_done: end after the last episode.
        begin: begin the first episode at once; False waits for engagement/start.
    """

    engagement: str
    pace: str = "realtime"
    realtime_factor: float = 1.0
    seed: int = -1
    episodes: int = 1
    record: str = ""
    use_sim_time: bool | None = None
    overrides: str = ""
    exit_when_done: bool = True
    begin: bool = True

    @property
    def simulated(self) -> bool:
        """Whether time is simulated: always in lockstep and where engagement time does not pass like wall time."""
        needed = self.pace == "lockstep" or (self.pace == "realtime" and self.realtime_factor != 1.0)
        return needed or bool(self.use_sim_time)


@dataclass(frozen=True)
class NodeSpec:
    """One process of an engagement when it is launched.

    Attributes:
        executable: its name in lib/pe_ros.
        name: name of the process, and of its node where it has just one.
        parameters: parameter name -> value.
        nodes: names of the nodes in it.
    """

    executable: str
    name: str
    parameters: dict[str, Any] = field(default_factory=dict)
    nodes: tuple[str, ...] = ()


def common_parameters(options: Options) -> dict[str, Any]:
    """Return the parameters that every node of the engagement gets."""
    parameters: dict[str, Any] = {
        "engagement": options.engagement, "pace": options.pace, "use_sim_time": options.simulated,
    }
    if options.overrides:
        parameters["overrides"] = options.overrides
    return parameters


def agent_specs(
    agent: str, options: Options, *, composed: bool, parameters: Mapping[str, Any] | None = None
) -> list[NodeSpec]:
    """Return the processes of one agent: one for all three nodes where composed, else one each.

    Args:
        agent: the agent.
        options: how to run it.
        composed: one process for its nodes.
        parameters: more of them; each goes to all three nodes, which know one another's.
    """
    parameters = {**common_parameters(options), "agent": agent, **(parameters or {})}
    names = (topics.gate_node(agent), topics.policy_node(agent), topics.sensor_node(agent))
    if composed:
        return [NodeSpec("agent_node", agent, parameters, names)]
    executables = ("gate_node", "policy_node", "sensor_node")
    return [NodeSpec(exe, name, parameters, (name,)) for exe, name in zip(executables, names, strict=True)]


def engagement_specs(engagement: Engagement, options: Options, *, composed: bool = True) -> list[NodeSpec]:
    """Return the processes of a simulated engagement; ``composed`` puts each agent's nodes into one process."""
    specs = []
    if options.record:
        recorder = {**common_parameters(options), "directory": options.record}
        specs.append(NodeSpec("recorder_node", "recorder", recorder, ("recorder",)))
    for agent in engagement.agents:
        specs += agent_specs(agent, options, composed=composed)
    simulation = {
        **common_parameters(options), "realtime_factor": options.realtime_factor, "seed": options.seed,
        "episodes": options.episodes, "exit_when_done": options.exit_when_done, "begin": options.begin,
        "recorder": "recorder" if options.record else "",
    }
    specs.append(NodeSpec("sim_node", "sim", simulation, ("sim", "referee")))
    return specs


def recorded_topics(engagement: Engagement, *, clock: bool) -> list[tuple[str, str, str]]:
    """Return (relative topic, type, name of its QoS profile) of everything an engagement publishes."""
    out = [(topics.ENGAGEMENT_STATE, "pe_ros/msg/EngagementState", "engagement_state")]
    for agent in engagement.agents:
        sensors = engagement.roles[engagement.role_of(agent)].sensors
        out += [
            (topics.odom(agent), "nav_msgs/msg/Odometry", "odom"),
            (topics.layout(agent), "pe_ros/msg/ObservationLayout", "layout"),
            (topics.metadata(agent), "pe_ros/msg/PolicyMetadata", "metadata"),
            (topics.action(agent), "pe_ros/msg/Action", "action"),
            (topics.command(agent), "pe_ros/msg/Action", "command"),
            (topics.applied(agent), "pe_ros/msg/Action", "applied"),
            (topics.status(agent), "pe_ros/msg/AgentStatus", "status"),
            (topics.safety_event(agent), "pe_ros/msg/SafetyEvent", "safety_event"),
            *((topics.observation(agent, name), "pe_ros/msg/Observation", "observation") for name in sensors),
        ]
    if clock:
        out.append((topics.CLOCK, "rosgraph_msgs/msg/Clock", "clock"))
    return out
