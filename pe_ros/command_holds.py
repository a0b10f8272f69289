"""Hands commands, as they come in messages, to the holds of the simulated agents."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from rclpy.node import Node

from pe_ros import topics
from pe_ros.action_codec import ActionRecord
from pe_ros.engagement_node import logger
from pe_sim.simulation import RoleRuntime, Simulation


class CommandHolds:
    """The holds of a simulation of one engagement.

    Args:
        node: whose log says what is refused.
        simulation: the simulation.

    Attributes:
        agents: role -> its agents.
    """

    def __init__(self, node: Node, simulation: Simulation) -> None:
        self._node, self._simulation = node, simulation
        self._unsound: set[str] = set()
        self.agents = {
            name: [f"{name}_{i}" for i in range(role.count)] for name, role in simulation.engagement.roles.items()
        }

    def _role_of(self, agent: str) -> tuple[RoleRuntime, int]:
        role, _, number = agent.rpartition("_")
        return self._simulation.roles[role], int(number)

    def refuses(self, agent: str, message: ActionRecord) -> bool:
        """Whether a command cannot be carried out: no gate lets one through, but anybody can publish. Said once."""
        rule = self._role_of(agent)[0].action.fault(message.values)
        if rule and agent not in self._unsound:
            self._unsound.add(agent)
            topic = self._node.resolve_topic_name(topics.command(agent))
            logger(self._node).error(
                f"{topic}: {message.values.tolist()[:8]} is no command of {agent}: {rule}; such commands are ignored"
            )
        return bool(rule)

    def put(self, agent: str, message: ActionRecord, start: int, effect: int) -> None:
        """Hand one command to the hold of its role.

        Args:
            agent: whose command.
            message: the command.
            start: ROS time of engagement time zero [ns].
            effect: engagement time from which it counts [ns].
        """
        role, number = self._role_of(agent)
        shape = (role.last - role.first, 1)
        values = np.zeros((role.action.size, *shape), np.float32)
        values[:, number, 0] = message.values
        where = np.zeros(shape, np.bool_)
        where[number] = True
        stamp = np.asarray([message.stamp - start], np.int64)
        mode = np.full(shape, message.mode, np.int8)
        role.hold.put(values, where, stamp, np.full(shape, effect, np.int64), mode)

    def submit(self, heard: Mapping[str, ActionRecord]) -> None:
        """Submit all decisions of this tick at once, as the env does."""
        simulation = self._simulation
        now = simulation.now
        for name, role in simulation.roles.items():
            agents = self.agents[name]
            decided = [agent in heard for agent in agents]
            if True not in decided:
                continue
            values = np.zeros((role.action.size, len(agents), 1), np.float32)
            mode = None
            for i, agent in enumerate(agents):
                if decided[i]:
                    message = heard[agent]
                    values[:, i, 0] = message.values
                    if message.mode:
                        mode = np.zeros((len(agents), 1), np.int8) if mode is None else mode
                        mode[i] = message.mode
            role.hold.put(values, np.asarray(decided)[:, None], now, mode=mode, elapsed=simulation.elapsed)
