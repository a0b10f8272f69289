"""What has taken effect: /<agent>/applied, from commands kept until their instant of effect has come."""

from __future__ import annotations

from typing import Any

from rclpy.node import Node

from pe_ros import qos, topics
from pe_ros.action_codec import ActionRecord
from pe_ros.msg import Action
from pe_sim.engagement import Engagement
from pe_sim.simulation import Simulation
from pe_sim.worlds.base import Command


class AppliedOutput:
    """Publishes the command in effect of every agent whenever it changes, where somebody listens.

    Args:
        node: the node that publishes.
        engagement: the engagement.
        pace: its pace, for the QoS.
    """

    def __init__(self, node: Node, engagement: Engagement, pace: str) -> None:
        self._publishers = {
            agent: node.create_publisher(Action, topics.applied(agent), qos.applied(pace))
            for agent in engagement.agents
        }
        self.begin()

    def begin(self) -> None:
        """Forget everything: an episode begins."""
        self._waiting: dict[str, dict[int, ActionRecord]] = {agent: {} for agent in self._publishers}
        self._stamps = dict.fromkeys(self._publishers, -1)
        self._commands: dict[str, Command] = {}

    def keep(self, agent: str, message: ActionRecord) -> None:
        """Keep a command until it has taken effect."""
        self._waiting[agent][message.stamp] = message

    def tell(self, simulation: Simulation, commands: dict[str, Command], start: int, now: int) -> None:
        """Publish what has changed in the commands in effect.

        Args:
            simulation: holds the commands.
            commands: role -> the commands in effect; the same object as long as nothing changes.
            start: engagement time zero [ns, ROS time].
            now: the present instant [ns, ROS time].
        """
        for name, role in simulation.roles.items():
            if commands[name] is self._commands.get(name):
                continue
            self._commands[name] = commands[name]
            for i, decided in enumerate(role.hold.stamp[:, 0].tolist()):
                agent = f"{name}_{i}"
                if decided >= 0 and decided != self._stamps[agent]:
                    self._stamps[agent] = decided
                    self._publish(agent, decided + start, commands[name].values[:, i, 0], now)

    def _publish(self, agent: str, stamp: int, values: Any, now: int) -> None:
        """Publish the decision of an instant as what has taken effect now; forget those before it."""
        waiting = self._waiting[agent]
        message = waiting.get(stamp)
        for older in [instant for instant in waiting if instant <= stamp]:
            del waiting[older]
        if message is not None and self._publishers[agent].get_subscription_count():
            self._publishers[agent].publish(message.patched(values=values, effective=now))
