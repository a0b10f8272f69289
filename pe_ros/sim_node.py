"""Simulation node: the world of an engagement as a ROS node.

It publishes every agent's odometry, executes the commands that arrive, and never waits: except in lockstep, where it
advances when every due decision has come. The referee lives in the same process, as the judge of every tick.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from itertools import compress
from typing import Any

import numpy as np
from rclpy.clock import Clock as RosClock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from rosgraph_msgs.msg import Clock

from pe_ros import qos, topics
from pe_ros.action_codec import ActionReader, ActionRecord
from pe_ros.alarms import Alarms, SimulatedAlarms
from pe_ros.applied import AppliedOutput
from pe_ros.command_holds import CommandHolds
from pe_ros.conversions import time_message
from pe_ros.engagement_node import LOCKSTEP, EngagementContext, logger
from pe_ros.msg import Action
from pe_ros.odometry_output import OdometryOutput
from pe_ros.pacer import Pacer
from pe_ros.referee_node import RefereeNode
from pe_ros.run_node import run
from pe_sim.engagement import Engagement
from pe_sim.rules import ABORTED
from pe_sim.simulation import Simulation
from pe_sim.timing import NANOSECONDS, seconds
from pe_sim.trajectory import TrajectoryHash

LEAD = NANOSECONDS // 5
"""Wall time between the word that an episode starts and engagement time zero [ns]."""


class SimNode(Node):
    """Runs the world; see the module for what it does.

    Args:
        engagement: the engagement, instead of the file that the parameter names.
        alarms: alarms of the process on its ROS time; the node drives them where time is simulated.
        **node_arguments: as of rclpy's Node.

    Attributes:
        referee: the referee, or None before :func:`conduct`.
        on_command: called with (agent, command) for each command received; for measurements.
    """

    def __init__(
        self, *, engagement: Engagement | None = None, alarms: Alarms | None = None, **node_arguments: Any
    ) -> None:
        super().__init__("sim", **node_arguments)
        self.time = EngagementContext(self, "sim", engagement, alarms)
        self.engagement = self.time.engagement
        self.pace = self.time.pace
        self.factor = float(self.time.values["realtime_factor"])
        self.referee: RefereeNode | None = None
        self.on_command: Callable[[str, ActionRecord], None] | None = None
        self._lock = threading.RLock()
        self._simulated = self.time.simulated or self.factor != 1.0
        self._pacer = Pacer(self, self.factor, self._fault) if self.pace != LOCKSTEP else None
        self._simulation = Simulation(self.engagement, sensing=False)
        self._tick_length = self.engagement.world.tick
        self._holds = CommandHolds(self, self._simulation)
        self._start = 0
        self._going = False
        self._last_end = 0
        self._time_publisher = self.create_publisher(Clock, topics.CLOCK, qos.clock(self.pace))
        self._odometry = OdometryOutput(self, self.engagement, self.pace, self.time.values["world_frame"])
        self._applied = AppliedOutput(self, self.engagement, self.pace)
        self._inputs = [
            self.create_subscription(
                Action, topics.command(agent), partial(self._hear_command, agent, ActionReader()),
                qos.command(self.pace), raw=True,
            )
            for agent in self.engagement.agents
        ]
        if self.pace == LOCKSTEP:
            self._timer = self.create_timer(
                0.25, self._look_for_missing, clock=RosClock(clock_type=ClockType.STEADY_TIME)
            )

    def _fault(self, fault: BaseException) -> None:
        logger(self).fatal(f"simulation stopped: {type(fault).__name__}: {fault}")
        self._going = False
        if self.referee is not None:
            self.referee.end(ABORTED)

    # The stage of the referee

    def prepare(self, seed: int, episode: int) -> int:
        """Put the world at the episode's start."""
        with self._lock:
            self._going = False
            self._simulation.reset(np.asarray([seed], np.int64), np.asarray([episode], np.int64))
            self._hash = TrajectoryHash()
            self._commands_heard: dict[str, ActionRecord] = {}
            self._arrived: list[tuple[str, ActionRecord]] = []
            self._missing: set[str] = set()
            self._applied.begin()
            self._start = 0
            if self._simulated:
                # Whole seconds of simulated time, later than anything before: bags of many episodes stay in order.
                self._start = (self._last_end // NANOSECONDS + 1) * NANOSECONDS
            return self._start

    def go(self) -> int:
        """Let time run."""
        with self._lock:
            zero = time.time_ns() + LEAD
            if not self._simulated:
                self._start = zero
            self._going = True
            self._since = time.monotonic()
        referee = self.referee
        assert referee is not None
        referee.start = self._start
        referee.view.measure(self._simulation.distances)
        referee.publish_state()
        if self._pacer is None:
            self._run_until_waiting()
        else:
            self._pacer.begin(zero, partial(self._on_tick, self._simulation.episodes[0]))
        return self._start

    def halt(self) -> None:
        """Let time stand still."""
        with self._lock:
            self._going = False
            self._last_end = max(self._last_end, self._now())

    def _now(self) -> int:
        return self._start + int(self._simulation.tick[0]) * self._tick_length

    # Ticks

    def _begin_tick(self) -> list[str]:
        """Publish what is due at this tick and return the agents that decide now."""
        simulation = self._simulation
        tick = int(simulation.tick[0])
        deciding: list[str] = []
        for name in simulation.roles:
            due = simulation.due(name)
            if due is not None:
                deciding += compress(self._holds.agents[name], due[:, 0].tolist())
        odometry = bool(self._odometry.due[tick])
        if self._simulated and (odometry or deciding) and self._time_publisher.get_subscription_count():
            self._time_publisher.publish(Clock(clock=time_message(self._now())))
        if odometry:
            self._odometry.publish(simulation, self._now())
        if self._simulated and (odometry or deciding) and isinstance(self.time.alarms, SimulatedAlarms):
            self.time.alarms.set(self._now())
        return deciding

    def _end_tick(self) -> bool:
        """Apply commands, integrate, judge; return whether the episode goes on."""
        simulation = self._simulation
        commands = simulation.commands()
        self._hash.state(simulation)
        self._hash.commands(commands)
        self._applied.tell(simulation, commands, self._start, self._now())
        simulation.advance(commands)
        view = self._referee.view
        view.ticks = int(simulation.tick[0])
        view.take(
            view.ticks * self._tick_length, simulation.alive, simulation.rewards, simulation.distances,
            simulation.outcome,
        )
        if bool(simulation.running[0]):
            return True
        self._going = False
        self._last_end = self._now()
        self._odometry.publish(simulation, self._last_end)
        self._hash.state(simulation)
        view.sha256 = self._hash.hexdigest()
        view.failures = simulation.world.failures(0)
        self._referee.end()
        return False

    @property
    def _referee(self) -> RefereeNode:
        assert self.referee is not None
        return self.referee

    # Commands

    def _hear_command(self, agent: str, reader: ActionReader, data: bytes) -> None:
        with self._lock:
            message = reader.read(data)
            if self.on_command is not None:
                self.on_command(agent, message)
            if not self._going or message.episode != int(self._simulation.episodes[0]):
                return
            if self._holds.refuses(agent, message):
                return
            if self._pacer is not None:
                self._arrived.append((agent, message))
                return
            if agent not in self._missing or message.stamp != self._now():
                return
            self._commands_heard[agent] = message
            self._missing.discard(agent)
            if not self._missing:
                self._take_decisions()
                if self._end_tick():
                    self._run_until_waiting()

    def _note(self, agent: str, message: ActionRecord) -> None:
        """Keep a command until it has taken effect, and count it."""
        self._applied.keep(agent, message)
        self._referee.view.decisions[agent] = self._referee.view.decisions.get(agent, 0) + 1

    def _take_decisions(self) -> None:
        """In lockstep: submit all decisions of this tick at once."""
        for agent, message in self._commands_heard.items():
            self._note(agent, message)
        self._holds.submit(self._commands_heard)
        self._commands_heard.clear()

    # Lockstep

    def _run_until_waiting(self) -> None:
        """Advance until somebody's decision is due, or the episode ends."""
        while self._going:
            deciding = self._begin_tick()
            if deciding:
                self._missing = set(deciding)
                self._since = time.monotonic()
                return
            if not self._end_tick():
                return

    def _look_for_missing(self) -> None:
        """Name the decisions that do not come; after the time limit do as the file says."""
        with self._lock:
            limit = seconds(self.engagement.lockstep.time_limit)
            if not self._going or not self._missing or time.monotonic() - self._since < limit:
                return
            names = ", ".join(sorted(self._missing))
            instant = seconds(self._now() - self._start)
            how = self.engagement.lockstep.missing
            logger(self).error(
                f"no decision for t = {instant:.3f} s from {names} within {limit:g} s of wall time: {how}"
            )
            if how == "abort":
                self._going = False
                self._last_end = self._now()
                self._referee.end(ABORTED)
                return
            self._missing = set()
            self._take_decisions()
            if self._end_tick():
                self._run_until_waiting()

    # Real time

    def _on_tick(self, episode: int) -> None:
        """One tick by the clock; then the next, without waiting for anybody."""
        with self._lock:
            if not self._going or episode != self._simulation.episodes[0]:
                return
            self._begin_tick()
            now, pacer = int(self._simulation.now[0]), self._pacer
            assert pacer is not None
            for agent, message in self._arrived:
                wanted = message.effective - self._start
                self._holds.put(agent, message, self._start, max(wanted, min(pacer.elapsed(), now)))
                self._note(agent, message)
            self._arrived.clear()
            tick = int(self._simulation.tick[0]) + 1
            if not self._end_tick():
                return
            pacer.at(tick * self._tick_length, partial(self._on_tick, episode))

    def stop_motion(self) -> None:
        """Let time stand still."""
        self.halt()

    def destroy_node(self) -> None:
        """End the pacer and the world, then destroy the node."""
        self.halt()
        if self._pacer is not None:
            self._pacer.close()
        self.time.close()
        self._simulation.close()
        Node.destroy_node(self)


def conduct(sim: SimNode, referee: RefereeNode) -> None:
    """Bind a simulation and a referee to each other."""
    referee.stage = sim
    sim.referee = referee


def make_nodes(**node_arguments: Any) -> list[Node]:
    """Return the simulation and its referee, bound to each other, for one process."""
    sim = SimNode(**node_arguments)
    referee = RefereeNode(stage=sim, engagement=sim.engagement, alarms=sim.time.alarms, **node_arguments)
    conduct(sim, referee)
    return [sim, referee]


def main(args: list[str] | None = None) -> int:
    """Run the nodes until they are told to end."""
    return run(make_nodes, args, name="sim_node")


if __name__ == "__main__":
    sys.exit(main())
