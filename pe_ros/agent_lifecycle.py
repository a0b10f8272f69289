"""What an agent's nodes share: lifecycle, the episode they take part in, and the status they report.

configure loads and checks, activate arms. Nothing is published that could move an agent before activation.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from lifecycle_msgs.srv import ChangeState
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.node import Node

from pe_ros import qos, topics
from pe_ros.agent_summary import AgentSummary
from pe_ros.alarms import Alarms
from pe_ros.conversions import nanoseconds, time_message
from pe_ros.engagement_node import EngagementContext, logger
from pe_ros.msg import AgentStatus, EngagementState
from pe_ros.state_codec import StateReader
from pe_ros.wiring import Wiring
from pe_sim import registry, streams
from pe_sim.actions import ActionSpec
from pe_sim.arrays import namespace
from pe_sim.engagement import Engagement
from pe_sim.errors import PeError, RosError
from pe_sim.schema import nearest

NO_EPISODE = "no episode"
"""Status message of a node that takes part in no episode, before the first and between two."""

STATUS_PERIOD = 0.5
"""Period of the status report [s]."""


class AgentLifecycleNode(LifecycleNode):
    """A node of one agent.

    Args:
        kind: what kind of node it is, and its name unless node_name or a remapping gives another.
        engagement: the engagement, instead of the file that the parameter names.
        alarms: alarms shared by the nodes of a process.
        **node_arguments: as of rclpy's Node.

    Attributes:
        agent: the agent.
        number: its number within the role.
        role: its role.
        active: whether it is armed.
        episode: episode it is ready for or takes part in, -1 before the first.
        start: ROS time of engagement time zero [ns], None while unknown.
    """

    def __init__(
        self,
        kind: str,
        *,
        engagement: Engagement | None = None,
        alarms: Alarms | None = None,
        **node_arguments: Any,
    ) -> None:
        super().__init__(node_arguments.pop("node_name", kind), **node_arguments)
        self._kind = kind
        self._refuse_impossible_transitions()
        self.context_of_engagement = EngagementContext(self, kind, engagement, alarms)
        self.engagement = self.context_of_engagement.engagement
        self.values: dict[str, Any] = self.context_of_engagement.values
        self.pace = self.context_of_engagement.pace
        self.alarms = self.context_of_engagement.alarms
        self.agent = self._agent()
        self.role = self.engagement.role_of(self.agent)
        self.number = int(self.agent.rpartition("_")[2])
        self.active = False
        self.fault = ""
        self.episode = -1
        self.seed = 0
        self.start: int | None = None
        self.running = False
        self._over = False
        if self.values["autostart"]:
            self.autostart()

    def _refuse_impossible_transitions(self) -> None:
        """Answer a request for a transition that the state does not allow: rclpy would raise, and the process end."""
        for service in self.services:
            if service.srv_type is ChangeState:
                service.callback = partial(self._change_state, service.callback)

    def _change_state(self, change: Callable[..., Any], request: Any, response: Any) -> Any:
        try:
            return change(request, response)
        except _rclpy.RCLError as error:
            logger(self).warning(f"change_state: {str(error).partition(', at')[0]}")
            response.success = False
            return response

    def _agent(self) -> str:
        agent = str(self.values["agent"])
        if agent not in self.engagement.agents:
            raise RosError(
                f"parameter agent of {self.get_name()}", "names no agent of the engagement", agent,
                nearest(agent, self.engagement.agents),
            )
        return agent

    def action_spec(self) -> ActionSpec:
        """Return what the agent can do."""
        world = registry.lookup("pe_sim.worlds", self.engagement.world.backend)(self.engagement, 1, namespace())
        action: ActionSpec = world.action_spec(self.role)
        world.close()
        return action

    def autostart(self) -> None:
        """Configure and activate.

        Raises:
            Exception: what kept the node from being configured, a PeError where the user can mend it.
        """
        node: Any = self  # rclpy leaves the types of its lifecycle calls out
        node.trigger_configure()
        if self._refusal is not None:
            raise self._refusal
        node.trigger_activate()

    _refusal: Exception | None = None

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load and check everything; refuse with a message that names the cure."""
        del state
        self._refusal = None
        try:
            self._status = self.create_publisher(AgentStatus, topics.status(self.agent), qos.status(self.pace))
            self._state = self.create_subscription(
                EngagementState, topics.ENGAGEMENT_STATE, partial(self._hear_state, StateReader()),
                qos.engagement_state(self.pace), raw=True,
            )
            steady = Clock(clock_type=ClockType.STEADY_TIME)
            self._timer = self.create_timer(STATUS_PERIOD, self.report, clock=steady)
            self.configure()
            self._wiring = Wiring(self, self.context_of_engagement, self.exclusive_topics())
        except Exception as fault:  # noqa: BLE001 - rclpy would drop it; whoever configured is told and may raise it
            logger(self).error(str(fault) if isinstance(fault, PeError) else f"{type(fault).__name__}: {fault}")
            self._refusal = fault
            self._forget()
            return TransitionCallbackReturn.FAILURE
        self.context_of_engagement.hear_clock()
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Arm."""
        self.active = True
        self.activate()
        self.report()
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Disarm: stop the motion first."""
        self.stop_motion()
        self.active = False
        self.report()
        return super().on_deactivate(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop the motion for good."""
        del state
        if self.active:
            self.stop_motion()
            self.active = False
            self.report()
        return TransitionCallbackReturn.SUCCESS

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Give back what configure took."""
        del state
        self._forget()
        self.context_of_engagement.forget_clock()
        self.cleanup()
        self.episode, self.running = -1, False
        return TransitionCallbackReturn.SUCCESS

    def _forget(self) -> None:
        self.destroy_publisher(self._status)
        self.destroy_subscription(self._state)
        self.destroy_timer(self._timer)

    @abstractmethod
    def configure(self) -> None:
        """Create publishers and subscriptions, load and check.

        Raises:
            PeError: what does not fit.
        """

    def activate(self) -> None:
        """Do what arming needs."""

    def exclusive_topics(self) -> list[str]:
        """Return the topics around this node that just one node may publish on; asked once it is configured."""
        return []

    def cleanup(self) -> None:
        """Destroy what :meth:`configure` made."""

    def begin(self, roots: np.ndarray[Any, Any]) -> None:
        """Prepare for a new episode, whose root stream keys (1,) are given."""

    def begin_running(self, start: int) -> None:
        """The episode runs; engagement time zero is at ROS time ``start`` [ns]."""

    def end(self) -> None:
        """The episode has ended."""

    def stop_motion(self) -> None:
        """Bring the agent to a stop, where this node can."""

    def fill_status(self, message: AgentStatus) -> None:
        """Add what this node knows to its status."""

    def add_to_summary(self, summary: AgentSummary) -> None:
        """Add what this node has counted."""

    def _hear_state(self, reader: StateReader, data: bytes) -> None:
        message = reader.news(data)
        if message is not None:
            self._take_state(message)

    def _take_state(self, message: EngagementState) -> None:
        if message.engagement_sha256 != self.engagement.sha256:
            text = f"the referee runs {message.engagement} with another content than this node's file"
            if self.fault != text:
                logger(self).error(f"{topics.ENGAGEMENT_STATE}: {text}; start all nodes with one file")
            self.fault = text
            return
        self.fault = ""
        waiting = message.phase in (EngagementState.PHASE_READY, EngagementState.PHASE_RUNNING)
        self._wiring.heard_referee(running=message.phase == EngagementState.PHASE_RUNNING)
        if waiting and self._is_anew(message):
            self.episode, self.seed = int(message.episode), int(message.seed)
            self.start, self.running, self._over = None, False, False
            keys = streams.episode_keys(np.asarray([self.seed], np.int64), np.asarray([self.episode], np.int64))
            self.begin(keys)
            self.report()
        elif message.phase == EngagementState.PHASE_READY:
            self.report()
        start = nanoseconds(message.start)
        if waiting and start and self.start is None:
            self.start = start
        if message.phase == EngagementState.PHASE_RUNNING and not self.running:
            self.running = True
            self.begin_running(start)
        self._over = not waiting
        if not waiting and self.running:
            self.running = False
            self.end()

    def _is_anew(self, message: EngagementState) -> bool:
        """Whether an episode begins: another one, or the same from its start, of whose end no word may have come."""
        if self._over or (message.episode, message.seed) != (self.episode, self.seed):
            return True
        start = nanoseconds(message.start)
        moved = bool(start) and self.start is not None and start != self.start
        return moved or (message.phase == EngagementState.PHASE_READY and self.running)

    def report(self) -> None:
        """Publish the status."""
        message = AgentStatus()
        message.header.stamp = time_message(self.context_of_engagement.now())
        message.agent = self.agent
        message.node = f"{self.agent}_{self._kind}"  # also where the node has been given another name
        message.state = AgentStatus.STATE_ACTIVE if self.active else AgentStatus.STATE_INACTIVE
        fault = self.fault or self._wiring.fault()
        if fault:
            message.state = AgentStatus.STATE_FAULT
            message.message = fault
        message.episode = max(0, self.episode)
        if (self.episode < 0 or self._over) and not fault:
            message.message = NO_EPISODE
        self.fill_status(message)
        self._status.publish(message)

    def destroy_node(self) -> None:
        """End the alarms, then destroy the node."""
        self.context_of_engagement.close()
        Node.destroy_node(self)
