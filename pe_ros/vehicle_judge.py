"""Judges vehicles by the newest odometry that each of them has sent."""

from __future__ import annotations

from functools import partial

import numpy as np
from nav_msgs.msg import Odometry
from rclpy.node import Node

from pe_ros import qos, topics
from pe_ros.conversions import in_play, state_column
from pe_ros.episode_view import EpisodeView
from pe_sim.arrays import namespace
from pe_sim.engagement import Engagement
from pe_sim.rules import Rules
from pe_sim.state import State


class VehicleJudge:
    """Listens to all vehicles and applies the rules to them.

    Args:
        node: the node that listens.
        engagement: the engagement.
        pace: of the run, which decides the quality of service.
        rules: the engagement's.
    """

    def __init__(self, node: Node, engagement: Engagement, pace: str, rules: Rules) -> None:
        self._engagement, self._rules = engagement, rules
        self._judged = False
        self._odometry: dict[int, tuple[tuple[float, ...], bool]] = {}
        self._inputs = [
            node.create_subscription(Odometry, topics.odom(agent), partial(self.hear, i), qos.odom(pace))
            for i, agent in enumerate(engagement.agents)
        ]

    def hear(self, index: int, message: Odometry) -> None:
        """Take the odometry of the agent of this number."""
        self._odometry[index] = (state_column(message), in_play(message))

    def begin(self) -> None:
        """Begin an episode: rules that look back begin with its first state."""
        self._judged = False

    def judge(self, view: EpisodeView, elapsed: int) -> bool:
        """Judge an instant of engagement time [ns] and take the verdict into the view; return whether it is over."""
        count = len(self._engagement.agents)
        if len(self._odometry) < count or elapsed < 0:
            return False
        state = State.zeros(namespace(), count, 1)
        for i, (column, _) in self._odometry.items():
            state.block[:, i, 0] = column
        if not self._judged:
            self._rules.reset(state, None)
            self._judged = True
        alive = np.asarray([[flag] for flag in view.alive])
        verdict = self._rules.judge(state, alive, np.asarray([elapsed // self._engagement.world.tick]), None)
        view.take(elapsed, verdict.alive, verdict.rewards, verdict.distances, verdict.outcome)
        return bool(verdict.terminated[0] or verdict.truncated[0])
