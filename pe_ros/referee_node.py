"""Referee node: conducts episodes and judges them.

It says when an episode is ready, waits until every agent's nodes have reported it, starts it, and publishes its state
and outcome. In simulation the simulation node is its stage and judges every tick; with vehicles it judges their
odometry itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from std_srvs.srv import Trigger

from pe_ros import qos, specs, topics
from pe_ros.alarms import Alarms
from pe_ros.conversions import duration_message, time_message
from pe_ros.engagement_node import EngagementContext, logger
from pe_ros.episode_view import EpisodeView
from pe_ros.msg import AgentStatus, EngagementState
from pe_ros.readiness import Readiness
from pe_ros.recorder_watch import RecorderWatch
from pe_ros.run_node import run
from pe_ros.stage import Stage
from pe_ros.vehicle_judge import VehicleJudge
from pe_sim.arrays import namespace
from pe_sim.engagement import Engagement
from pe_sim.rules import ABORTED, OUTCOMES, STOPPED, Rules
from pe_sim.timing import NANOSECONDS

LEAD = NANOSECONDS // 10
"""Time between the word that an episode starts and its engagement time zero [ns], so that all have heard it."""


class RefereeNode(Node):
    """Publishes /engagement/state and serves /engagement/start, stop, reset and stop_all.

    Attributes:
        phase: PHASE_* of the present episode.
        episode: its number, -1 before the first.
        view: what is known of it.
        stage: the simulation, or None with vehicles.
        vehicles: what judges them, or None with a simulation.
        stop_agents: called by stop_all beside the agents' own services (set by a composition).
        on_end: called with (episode, view) at the end of each episode.
        finished: whether all episodes have been run.
        done: whether the process may end: after the last episode, where exit_when_done is set.
    """

    def __init__(
        self,
        *,
        engagement: Engagement | None = None,
        alarms: Alarms | None = None,
        stage: Stage | None = None,
        **node_arguments: Any,
    ) -> None:
        super().__init__("referee", **node_arguments)
        self.time = EngagementContext(self, "referee", engagement, alarms)
        self.engagement = self.time.engagement
        self.pace = self.time.pace
        self.values = self.time.values
        self.seed = self.engagement.seed if self.values["seed"] < 0 else int(self.values["seed"])
        self.stage = stage
        self.phase = EngagementState.PHASE_IDLE
        self.episode = -1
        self.start = 0
        self.view = EpisodeView()
        self.on_end: Callable[[int, EpisodeView], None] | None = None
        self.finished = False
        self.done = False
        self._rules = Rules.of(self.engagement, namespace())
        self._readiness = Readiness(self.engagement.agents, [self._missing_time, self._missing_recorder])
        self._again = False
        self._publisher = self.create_publisher(
            EngagementState, topics.ENGAGEMENT_STATE, qos.engagement_state(self.pace)
        )
        self._recorder = self._make_recorder_watch()
        self._statuses = [
            self.create_subscription(AgentStatus, topics.status(agent), self._hear_status, qos.status(self.pace))
            for agent in self.engagement.agents
        ]
        self._serve()
        self.vehicles: VehicleJudge | None = None
        self._stop_clients = {
            agent: self.create_client(Trigger, topics.stop(agent)) for agent in self.engagement.agents
        }
        if stage is None:
            self.time.hear_clock()
            self.vehicles = VehicleJudge(self, self.engagement, self.pace, self._rules)
        self._timer = self.create_timer(
            1.0 / self.values["rate"], self._on_timer, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )
        self._first = self.create_timer(0.0, self._begin_first, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self.publish_state()

    def _begin_first(self) -> None:
        """Begin as soon as the node is spun, rather than a timer's period later."""
        self._first.cancel()
        if self.phase == EngagementState.PHASE_IDLE and self.values["begin"] and self.episode < 0:
            self.begin()

    def _make_recorder_watch(self) -> RecorderWatch | None:
        if not self.values["recorder"]:
            return None
        recorded = [topic for topic, _, _ in specs.recorded_topics(self.engagement, clock=False)]
        return RecorderWatch(self, self.values["recorder"], recorded)

    def _serve(self) -> None:
        calls = {
            topics.START: self._on_start, topics.STOP: self._on_stop,
            topics.RESET: self._on_reset, topics.STOP_ALL: self._on_stop_all,
        }
        self._service_list = [self.create_service(Trigger, name, call) for name, call in calls.items()]

    def begin(self) -> None:
        """Begin the next episode: make it known and wait for the agents."""
        self.episode += 1
        self.view = EpisodeView.begin(self.engagement.agents)
        if self.vehicles is not None:
            self.vehicles.begin()
        self.start = 0 if self.stage is None else self.stage.prepare(self.seed, self.episode)
        self._readiness.begin()
        self._enter(EngagementState.PHASE_READY)

    def _enter(self, phase: int) -> None:
        self.phase = phase
        self.publish_state()

    def _hear_status(self, message: AgentStatus) -> None:
        if self.phase == EngagementState.PHASE_READY and message.episode == self.episode:
            self._readiness.hear(message, again=self._again)
            self._go_if_ready()

    def _go_if_ready(self) -> None:
        if self._readiness.missing():
            return
        self._again = False
        self._recorder = None  # if it is gone later, the engagement goes on
        self._go()

    def _missing_recorder(self) -> str:
        unheard = [] if self._recorder is None else self._recorder.unheard()
        if not unheard:
            return ""
        return f"the recorder {self.values['recorder']} does not hear {', '.join(unheard)} yet; is it running?"

    def _missing_time(self) -> str:
        if self.stage is None and self.time.simulated and not self.time.now():
            return f"time is simulated, but nothing has come on {topics.CLOCK}"
        return ""

    def _go(self) -> None:
        """Start the episode."""
        if self.stage is None:
            self.start = self.time.now() + LEAD
            self._enter(EngagementState.PHASE_RUNNING)
        else:
            # The phase first: in lockstep the stage may run to its end within this call.
            self.phase = EngagementState.PHASE_RUNNING
            self.start = self.stage.go()

    def publish_state(self) -> None:
        """Publish the state of the engagement."""
        rules, agents, view = self._rules, self.engagement.agents, self.view
        message = EngagementState(
            engagement=self.engagement.engagement, engagement_sha256=self.engagement.sha256,
            episode=max(0, self.episode), seed=self.seed, phase=self.phase,
            outcome=OUTCOMES[view.outcome], agents=list(agents), alive=view.alive, rewards=view.rewards,
            pursuers=[agents[i] for i in rules.pursuers], evaders=[agents[i] for i in rules.evaders],
            distances=view.distances, trajectory_sha256=view.sha256,
        )
        message.header.stamp = time_message(self.time.now() if not self.start else self.start + view.elapsed)
        message.start = time_message(self.start)
        message.elapsed = duration_message(view.elapsed)
        self._publisher.publish(message)

    def end(self, outcome: int | None = None) -> None:
        """End the episode with the view's outcome, or the one given."""
        if self.phase not in (EngagementState.PHASE_RUNNING, EngagementState.PHASE_READY):
            return
        if outcome is not None:
            self.view.outcome = outcome
        stopped = self.view.outcome in (ABORTED, STOPPED)
        self._enter(EngagementState.PHASE_STOPPED if stopped else EngagementState.PHASE_ENDED)
        if self.on_end is not None:
            self.on_end(self.episode, self.view)
        else:
            logger(self).info(f"episode {self.episode}: {self.view.summary()}")
        episodes = self.values["episodes"]
        if episodes and self.episode + 1 >= episodes:
            self.finished = True
            self.done = bool(self.values["exit_when_done"])
        elif not stopped:
            self.begin()

    def _on_timer(self) -> None:
        if self.phase == EngagementState.PHASE_READY:
            self._name_the_missing()
            self._go_if_ready()
        elif self.phase == EngagementState.PHASE_RUNNING:
            self._judge_vehicles()
            if self.phase == EngagementState.PHASE_RUNNING:
                self.publish_state()

    def _judge_vehicles(self) -> None:
        if self.vehicles is not None and self.vehicles.judge(self.view, self.time.now() - self.start):
            self.end()

    def _name_the_missing(self) -> None:
        missing = self._readiness.overdue(self.values["ready_limit"])
        if missing:
            logger(self).warning(f"episode {self.episode} cannot start: {missing}")
        self.publish_state()

    def _on_start(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        del request
        if self.phase in (EngagementState.PHASE_READY, EngagementState.PHASE_RUNNING):
            response.success, response.message = False, "an episode is under way"
            return response
        self.finished = False
        self.begin()
        response.success, response.message = True, f"episode {self.episode} is ready; it starts when all agents are"
        return response

    def _halt(self, outcome: int) -> bool:
        if self.phase not in (EngagementState.PHASE_READY, EngagementState.PHASE_RUNNING):
            return False
        if self.stage is not None:
            self.stage.halt()
        self.end(outcome)
        return True

    def _on_stop(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        del request
        response.success = self._halt(STOPPED)
        response.message = "stopped" if response.success else "nothing was running"
        return response

    def _on_reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        del request
        self._halt(STOPPED)
        self.finished = self.done = False
        self._again = True
        self.episode = max(self.episode - 1, -1)  # the same episode again, from its start
        self.begin()
        response.success, response.message = True, f"episode {self.episode} begins again"
        return response

    def _on_stop_all(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        del request
        reached = []
        for agent, client in self._stop_clients.items():
            if client.service_is_ready():
                client.call_async(Trigger.Request())
                reached.append(agent)
        missing = [agent for agent in self.engagement.agents if agent not in reached]
        self._halt(STOPPED)
        response.success = not missing
        response.message = f"stop sent to {', '.join(reached) or 'nobody'}"
        if missing:
            response.message += f"; no gate answers for {', '.join(missing)}"
        return response

    def stop_motion(self) -> None:
        """End the episode under way, so that every gate stops its agent."""
        self._halt(STOPPED)

    def destroy_node(self) -> None:
        """End the alarms, then destroy the node."""
        self.time.close()
        Node.destroy_node(self)


def main(args: list[str] | None = None) -> int:
    """Run the node until it is told to end."""
    return run(RefereeNode, args, name="referee_node")


if __name__ == "__main__":
    sys.exit(main())
