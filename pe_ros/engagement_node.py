"""What every node of an engagement has in common: the file, the pace, and the time of the episode."""

from __future__ import annotations

import json
from typing import Any

from rclpy.node import Node
from rosgraph_msgs.msg import Clock

from pe_ros import node_parameters, parameters, qos, topics
from pe_ros.alarms import Alarms, SimulatedAlarms, SystemAlarms
from pe_ros.conversions import nanoseconds
from pe_sim.engagement import Engagement, load
from pe_sim.errors import RosError
from pe_sim.shared_files import engagement_file

LOCKSTEP, REALTIME, WALL = "lockstep", "realtime", "wall"


def logger(node: Node) -> Any:
    """Return a node's logger."""
    return node.get_logger()


class EngagementContext:
    """The engagement and the time of one node.

    Args:
        node: the node.
        kind: what kind of node it is, for its parameters.
        engagement: the engagement, instead of the file that the parameter names.
        alarms: alarms shared by the nodes of a process; default the node's own.

    Attributes:
        values: parameter name -> value.
        engagement: the engagement.
        pace: 'realtime', 'lockstep' or 'wall'.
        alarms: callbacks at instants of ROS time.
    """

    def __init__(
        self,
        node: Node,
        kind: str,
        engagement: Engagement | None = None,
        alarms: Alarms | None = None,
    ) -> None:
        self._node = node
        self.values = parameters.declare(node, node_parameters.of(kind), node_parameters.elsewhere(kind))
        self.engagement = engagement or self._load()
        self.pace: str = self.values["pace"]
        self.simulated = self.pace == LOCKSTEP or bool(node.get_parameter("use_sim_time").value)
        self._owned = alarms is None
        self.alarms = alarms or self._make_alarms()
        self.clock_subscription: Any = None

    def _load(self) -> Engagement:
        path = self.values["engagement"]
        if not path:
            raise RosError(
                f"parameter engagement of {self._node.get_name()}", "must name an engagement file",
                cure="add -p engagement:=FILE.yaml",
            )
        return load(engagement_file(path), self._overrides())

    def _overrides(self) -> dict[str, Any]:
        text = self.values["overrides"]
        if not text:
            return {}
        try:
            changes = json.loads(text)
        except json.JSONDecodeError as fault:
            raise RosError("parameter overrides", "is no JSON", text, str(fault)) from fault
        if not isinstance(changes, dict):
            raise RosError("parameter overrides", "must be a JSON object of dotted keys", text)
        return changes

    def _make_alarms(self) -> Alarms:
        if not self.simulated:
            return SystemAlarms(self._fault)
        return SimulatedAlarms()

    def _fault(self, fault: BaseException) -> None:
        logger(self._node).error(f"{type(fault).__name__}: {fault}")

    def hear_clock(self) -> None:
        """Subscribe to /clock and drive the alarms by it, where time is simulated and nobody else does."""
        if isinstance(self.alarms, SimulatedAlarms) and self._owned:
            alarms = self.alarms

            def heard(message: Clock) -> None:
                alarms.set(nanoseconds(message.clock))

            # In lockstep the world waits for what this time makes due: it must not get lost.
            profile = qos.clock(self.pace) if self.pace == LOCKSTEP else qos.clock_heard(self.pace)
            self.clock_subscription = self._node.create_subscription(Clock, topics.CLOCK, heard, profile)

    def forget_clock(self) -> None:
        """Undo :meth:`hear_clock`."""
        if self.clock_subscription is not None:
            self._node.destroy_subscription(self.clock_subscription)
            self.clock_subscription = None

    def now(self) -> int:
        """Return the present ROS time [ns]."""
        return self.alarms.now()

    def close(self) -> None:
        """End the alarms of this node."""
        if self._owned:
            self.alarms.close()
