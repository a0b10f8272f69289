"""Agent node: one agent's sensors, policy and gate in one process, as they fly on its onboard computer."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import Any

from rclpy.node import Node

from pe_ros import topics
from pe_ros.alarms import Alarms
from pe_ros.engagement_node import EngagementContext
from pe_ros.gate_node import GateNode
from pe_ros.policy_node import PolicyNode
from pe_ros.run_node import run
from pe_ros.sensor_node import SensorNode
from pe_sim.engagement import Engagement


def make_agent(
    agent: str, engagement: Engagement, alarms: Alarms | None = None, **node_arguments: Any
) -> list[Node]:
    """Return the gate, policy and sensor node of an agent; the gate first, so that nothing passes unchecked."""
    nodes: list[Node] = []
    kinds = ((GateNode, topics.gate_node), (PolicyNode, topics.policy_node), (SensorNode, topics.sensor_node))
    for kind, name in kinds:
        nodes.append(kind(node_name=name(agent), engagement=engagement, alarms=alarms, **node_arguments))
    return nodes


def make_nodes(**node_arguments: Any) -> list[Node]:
    """Return the nodes of the agent that the process's parameter 'agent' names."""
    # The nodes are named after the agent, which a parameter names: a node that lives for a moment reads it.
    probe = Node("agent", **node_arguments)
    try:
        with closing(EngagementContext(probe, "gate")) as context:
            return make_agent(str(context.values["agent"]), context.engagement, **node_arguments)
    finally:
        probe.destroy_node()


def main(args: list[str] | None = None) -> int:
    """Run the nodes until they are told to end."""
    return run(make_nodes, args, name="agent_node")


if __name__ == "__main__":
    sys.exit(main())
