"""Who has to be ready before an episode starts, and what is still missing."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from pe_ros import topics
from pe_ros.agent_lifecycle import NO_EPISODE
from pe_ros.msg import AgentStatus

SETTLING = 0.2
"""Time in which what was said of an episode that begins anew may still be of the time before [s]."""


class Readiness:
    """Waits for the nodes of all agents, then for other conditions.

    Args:
        agents: the agents.
        conditions: each returns what is missing, '' for nothing.
    """

    def __init__(self, agents: Sequence[str], conditions: Sequence[Callable[[], str]]) -> None:
        self._agents = agents
        self._conditions = conditions
        self._all: set[str] = set()
        self._silent: set[str] = set()
        self._faults: dict[str, str] = {}
        self._told = self._begun = 0.0

    def begin(self) -> None:
        """Wait for everybody anew."""
        kinds = (topics.sensor_node, topics.policy_node, topics.gate_node)
        self._all = {name(agent) for agent in self._agents for name in kinds}
        self._silent = set(self._all)
        self._faults.clear()
        self._told = self._begun = time.monotonic()

    def hear(self, message: AgentStatus, *, again: bool) -> None:
        """Take note of a status that tells of the episode; ``again``: it has been under way before."""
        if message.state == AgentStatus.STATE_FAULT:
            self._faults[message.node] = message.message
            self._silent |= {message.node} & self._all
            return
        self._faults.pop(message.node, None)
        armed = message.state in (AgentStatus.STATE_ACTIVE, AgentStatus.STATE_STOPPED)
        if armed and message.message != NO_EPISODE and not (again and time.monotonic() - self._begun < SETTLING):
            self._silent.discard(message.node)

    def missing(self) -> str:
        """Return what is missing, '' if the episode can start."""
        if self._silent:
            faults = [f"{node} says: {self._faults[node]}" for node in sorted(self._silent & self._faults.keys())]
            silent = sorted(self._silent - self._faults.keys())
            if silent:
                faults.append(f"no word from {', '.join(silent)}; are these nodes running, configured and active?")
            return "; ".join(faults)
        return next((text for condition in self._conditions if (text := condition())), "")

    def overdue(self, limit: float) -> str:
        """Return what is missing if it has been for longer than a limit [s], or since the last time it was told."""
        if time.monotonic() - self._told <= limit:
            return ""
        self._told = time.monotonic()
        return self.missing()
