"""Odometry of a simulation: /<agent>/odom of everybody, whenever anybody's sensor is due."""

from __future__ import annotations

import numpy as np
from nav_msgs.msg import Odometry
from numpy.typing import NDArray
from rclpy.node import Node

from pe_ros import qos, topics
from pe_ros.odometry_codec import OdometryWriter
from pe_sim.engagement import Engagement
from pe_sim.simulation import Simulation
from pe_sim.timing import Schedule


class OdometryOutput:
    """Publishes the true state.

    Args:
        node: the node that publishes.
        engagement: the engagement.
        pace: its pace, for the QoS.
        frame: name of the world frame.

    Attributes:
        due: at which ticks it is to be published, bool (horizon + 1,).
    """

    def __init__(self, node: Node, engagement: Engagement, pace: str, frame: str) -> None:
        self.due = _sensor_ticks(engagement)
        self._outputs = [
            (
                node.create_publisher(Odometry, topics.odom(agent), qos.odom(pace)),
                OdometryWriter(frame, f"{agent}/base_link"),
            )
            for agent in engagement.agents
        ]

    def publish(self, simulation: Simulation, now: int) -> None:
        """Publish every agent's present state; ``now`` is the instant [ns, ROS time]."""
        columns = simulation.state.block[:, :, 0].T.tolist()
        playing = simulation.alive[:, 0].tolist()
        for (publisher, writer), column, plays in zip(self._outputs, columns, playing, strict=True):
            publisher.publish(writer.encode(column, now, playing=plays))


def _sensor_ticks(engagement: Engagement) -> NDArray[np.bool_]:
    """Return at which ticks anybody's sensor is due, and the first."""
    due = np.zeros(engagement.horizon + 1, dtype=np.bool_)
    due[0] = True
    for role in engagement.roles.values():
        for spec in role.sensors.values():
            due |= Schedule(spec.rate, spec.phase).on_ticks(engagement.world.tick, engagement.horizon).due
    return due
