"""A whole engagement in one process: the same nodes as the launch files start, composed."""

from __future__ import annotations

import gc
import json
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.utilities import try_shutdown

from pe_ros.agent_lifecycle import AgentLifecycleNode
from pe_ros.agent_node import make_agent
from pe_ros.agent_summary import AgentSummary
from pe_ros.alarms import Alarms, SimulatedAlarms, SystemAlarms
from pe_ros.episode_view import EpisodeView
from pe_ros.executor import EventExecutor, make_executor
from pe_ros.referee_node import RefereeNode
from pe_ros.run_node import see_delivered
from pe_ros.sim_node import SimNode, conduct
from pe_ros.specs import Options
from pe_sim.engagement import Engagement, load

SHOW_PERIOD = 0.1
"""Least time between two calls of the progress display [s]."""

SWITCH_INTERVAL = 5e-4
"""How long one thread may hold the interpreter while others wait [s]."""

OnEnd = Callable[[int, EpisodeView], None]

GARBAGE = (20_000, 50, 100)
"""Thresholds of the collector of garbage while an engagement runs."""


class Composition:
    """All nodes of a simulated engagement in this process, on one executor.

    Args:
        options: how to run it.
        on_end: called with (episode, view) at the end of each episode.
        namespace: namespace of all nodes.

    Attributes:
        engagement: the engagement.
        referee: the referee.
        sim: the simulation.
        recorder: the recorder, or None.
        nodes: all nodes.
    """

    def __init__(self, options: Options, on_end: OnEnd | None = None, namespace: str = "") -> None:
        self.options = options
        changes = json.loads(options.overrides) if options.overrides else None
        self.engagement: Engagement = load(options.engagement, changes)
        # Alarms and inference run beside the executor: none should hold the interpreter for its usual 5 ms.
        sys.setswitchinterval(SWITCH_INTERVAL)
        self._context = Context()
        rclpy.init(context=self._context, args=None)
        self._executor = make_executor(context=self._context)
        self.nodes: list[Node] = []
        self._garbage = gc.get_threshold()
        self._alarms: Alarms = SimulatedAlarms() if options.simulated else SystemAlarms(self._on_fault)
        self._stop = threading.Event()
        self._fault: BaseException | None = None
        self.recorder: Any = None
        try:
            self._compose(namespace, on_end)
        except BaseException:
            self.close()
            raise
        # What is here now stays to the end: the collector of garbage need not look at it again and again. And messages
        # come and go by the thousand, nearly all without cycles.
        gc.collect()
        gc.freeze()
        gc.set_threshold(*GARBAGE)

    def _on_fault(self, fault: BaseException) -> None:
        self._fault = fault
        self.stop()

    def _arguments(self, namespace: str, **parameters: Any) -> dict[str, Any]:
        return {
            "context": self._context,
            "namespace": namespace,
            "use_global_arguments": False,
            "parameter_overrides": [Parameter(name, value=value) for name, value in parameters.items()],
        }

    def _compose(self, namespace: str, on_end: OnEnd | None) -> None:
        options, engagement = self.options, self.engagement
        if options.record:
            self._add([self._make_recorder(namespace)])
            self.recorder = self.nodes[-1]
        pace = {"pace": options.pace}
        for agent in engagement.agents:
            arguments = self._arguments(namespace, **pace, agent=agent)
            self._add(make_agent(agent, engagement, self._alarms, **arguments))
        self.sim = SimNode(
            engagement=engagement,
            alarms=self._alarms,
            **self._arguments(namespace, **pace, realtime_factor=float(options.realtime_factor)),
        )
        self._add([self.sim])
        self.referee = RefereeNode(
            engagement=engagement,
            alarms=self._alarms,
            stage=self.sim,
            **self._arguments(namespace, **pace, seed=options.seed, episodes=options.episodes),
        )
        self._add([self.referee])
        conduct(self.sim, self.referee)
        self.referee.on_end = on_end

    def _make_recorder(self, namespace: str) -> Node:
        from pe_ros.recording import make_recorder

        return make_recorder(self.engagement, self.options, self._arguments(namespace))

    def _add(self, nodes: list[Any]) -> None:
        for node in nodes:
            self.nodes.append(node)
            self._executor.add_node(node)

    def summaries(self) -> dict[str, AgentSummary]:
        """Return what every agent's nodes have counted."""
        out = {agent: AgentSummary() for agent in self.engagement.agents}
        for node in self.nodes:
            if isinstance(node, AgentLifecycleNode):
                node.add_to_summary(out[node.agent])
        return out

    def run(self, on_spin: Callable[[], None] | None = None) -> None:
        """Run until all episodes are over, or :meth:`stop`.

        Raises:
            Exception: what a callback raised.
        """
        shown = 0.0
        def go_on() -> bool:
            nonlocal shown
            if on_spin is not None and time.monotonic() - shown > SHOW_PERIOD:
                on_spin()
                shown = time.monotonic()
            return not (self._stop.is_set() or self.referee.finished)

        if isinstance(self._executor, EventExecutor):
            self._executor.spin_while(go_on)
        else:
            while go_on():
                self._executor.spin_once(timeout_sec=SHOW_PERIOD)
        if self._fault is not None:
            raise self._fault

    def stop(self) -> None:
        """Make :meth:`run` return; safe from a signal handler and from any thread."""
        self._stop.set()
        self._executor.wake()

    def close(self) -> None:
        """Stop every agent, then take everything down."""
        movers = [node for node in self.nodes if hasattr(node, "stop_motion")]
        for node in movers:
            node.stop_motion()
        see_delivered(movers)
        self._alarms.close()
        for node in reversed(self.nodes):
            self._executor.remove_node(node)
            node.destroy_node()
        self._executor.shutdown()
        try_shutdown(context=self._context)
        gc.set_threshold(*self._garbage)
        gc.unfreeze()



