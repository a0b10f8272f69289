"""Policy node: decides for one agent from the readings that have arrived, and submits its action; nothing waits for it.

A decision is due at a rate, or when a reading of a chosen sensor arrives. Inference runs in a thread of its own; while
it is busy the newest observation wins and the decisions it could not take are counted as missed. In lockstep, where
time waits, every due decision is taken at once, in order.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from bisect import bisect_right
from functools import partial
from typing import Any

import numpy as np

from pe_ros import qos, topics
from pe_ros.agent_lifecycle import AgentLifecycleNode
from pe_ros.agent_summary import AgentSummary
from pe_ros.alarms import SimulatedAlarms
from pe_ros.conversions import duration_message, time_message
from pe_ros.decision_figures import DecisionFigures
from pe_ros.engagement_node import LOCKSTEP, logger
from pe_ros.inference_thread import InferenceThread
from pe_ros.msg import Action, AgentStatus, Observation, PolicyMetadata
from pe_ros.observation_codec import ObservationReader
from pe_ros.policy_messages import action_writer, metadata_message
from pe_ros.run_node import run
from pe_sim.arrays import namespace
from pe_sim.draws import Parameter, latency_of
from pe_sim.errors import RosError
from pe_sim.perception import Perception, Triggers
from pe_sim.policies.base import Views
from pe_sim.policies.loader import load_policy
from pe_sim.sensors.channel import layout_sha256
from pe_sim.sensors.inbox import Inbox
from pe_sim.timing import ceil_tick


class PolicyNode(AgentLifecycleNode):
    """Publishes /<agent>/action.

    Attributes:
        sensor_names: the sensors it decides on, in the order in which actions name them.
    """

    def __init__(self, **node_arguments: Any) -> None:
        self._lock = threading.RLock()
        self._thread: InferenceThread | None = None
        super().__init__("policy", **node_arguments)

    def configure(self) -> None:
        """Load the policy, warm it up, create topics."""
        engagement, xp = self.engagement, namespace()
        spec = engagement.roles[self.role]
        self._action = self.action_spec()
        use = self.values["policy"] or None
        self._policy = load_policy(
            engagement, self.role, self._action, batch=1, xp=xp, numbers=[self.number], use=use,
            parameters=self._policy_parameters(),
        )
        self._policy.warm_up()
        perception = Perception(engagement, self.role, 1, xp, [self.number])
        self._inboxes: dict[str, Inbox] = perception.inboxes
        self.sensor_names = list(self._inboxes)
        self._newest_taken = {name: channel.timing.schedule.newest for name, channel in perception.channels.items()}
        self._widths = {name: channel.width for name, channel in perception.channels.items()}
        self._triggers = Triggers(engagement, self.role, 1, xp, [self.number])
        self._decide_on = spec.policy.decide_on
        self._tick, self._horizon = engagement.world.tick, engagement.horizon
        self._due_ticks = np.nonzero(self._triggers.schedule.due)[0].tolist()
        self._action_latency = Parameter(engagement, *latency_of(engagement, self.role), xp, [self.agent])
        self._latency = spec.action.latency
        self._everyone = np.ones((1, 1), np.bool_)
        self._writer = action_writer(
            self.agent, self._action, self.sensor_names, self._policy.sha256, spec.valid_for
        )
        self._figures = DecisionFigures(self.sensor_names)
        self._reset_counters()
        self._actions = self.create_publisher(Action, topics.action(self.agent), self._action_qos())
        self._publish_metadata(use or spec.policy.use, layout_sha256(perception.layouts()))
        self._inputs = [
            self.create_subscription(
                Observation, topics.observation(self.agent, name), partial(self._hear, name, ObservationReader()),
                qos.observation(self.pace), raw=True,
            )
            for name in self._inboxes
        ]
        if self.pace == LOCKSTEP:
            assert isinstance(self.alarms, SimulatedAlarms)
            self.alarms.listen(self._catch_up)
        else:
            self._thread = InferenceThread(self._decide, self._figures.missed)

    def _action_qos(self) -> Any:
        """Return the profile offered for actions; engagement time that is not wall time sets no time limits."""
        if self.context_of_engagement.simulated:
            return qos.action(self.pace)
        spec = self.engagement.roles[self.role]
        return qos.action(self.pace, period=spec.trigger.period, valid_for=spec.valid_for + self._action_latency.high)

    def _policy_parameters(self) -> dict[str, Any]:
        text = self.values["policy_parameters"]
        if not text:
            return {}
        try:
            return dict(json.loads(text))
        except (json.JSONDecodeError, TypeError, ValueError) as fault:
            raise RosError("parameter policy_parameters", "must be a JSON object", text) from fault

    def cleanup(self) -> None:
        """Destroy topics and the inference thread."""
        if isinstance(self.alarms, SimulatedAlarms):
            self.alarms.unlisten(self._catch_up)
        for publisher in (self._actions, self._metadata):
            self.destroy_publisher(publisher)
        for subscription in self._inputs:
            self.destroy_subscription(subscription)
        if self._thread is not None:
            self._thread.close()

    def _publish_metadata(self, use: str, layout: str) -> None:
        """Publish what decides, latched."""
        spec = self.engagement.roles[self.role]
        parameters = self._policy_parameters() if self.values["policy"] else spec.policy.parameters
        message = metadata_message(
            self._policy, self._action, spec, agent=self.agent, role=self.role, use=use, parameters=parameters,
            layout_sha256=layout,
        )
        message.action_latency = duration_message(self._latency)
        message.header.stamp = time_message(self.context_of_engagement.now())
        self._metadata = self.create_publisher(PolicyMetadata, topics.metadata(self.agent), qos.metadata(self.pace))
        self._metadata.publish(message)

    def _reset_counters(self) -> None:
        self._upcoming = self._after(-1)
        self._newest_decided = -1
        self._heard = dict.fromkeys(self._inboxes, -1)
        self._figures.begin(self.context_of_engagement.now())

    def begin(self, roots: np.ndarray[Any, Any]) -> None:
        """Forget everything of the last episode."""
        with self._lock:
            for inbox in self._inboxes.values():
                inbox.clear(None)
            self._action_latency.redraw(roots, None)
            self._latency = self._action_latency.only()
            self._policy.reset(roots, None)
            self._triggers.reset(roots, None)
            self._reset_counters()

    def begin_running(self, start: int) -> None:
        """Take the first decision when it is due."""
        if self.pace != LOCKSTEP and self._decide_on is None:
            self._schedule(0, self.episode, start)

    def _schedule(self, number: int, episode: int, start: int) -> None:
        due = self._instant(self._triggers.schedule.schedule.due(number))
        self.alarms.at(start + due, partial(self._on_due, number, episode, start, due))

    def _instant(self, due: int) -> int:
        """Return the first tick at or after a due time [ns]: the instant that the world decides at too."""
        tick = self.engagement.world.tick
        return ceil_tick(due, tick) * tick

    def _on_due(self, number: int, episode: int, start: int, due: int) -> None:
        if episode != self.episode or not self.running:
            return
        # Due times that have passed meanwhile (a suspended machine) are missed, not made up for.
        now = self.context_of_engagement.now() - start
        following = max(number + 1, self._triggers.schedule.schedule.count(now))
        with self._lock:
            self._figures.missed(following - number - 1)
        self._ask(episode, due)
        self._schedule(following, episode, start)

    def _hear(self, name: str, reader: ObservationReader, data: bytes) -> None:
        message = reader.read(data)
        if message.episode != self.episode or self.start is None:
            return
        self._figures.heard[name] += 1
        with self._lock:
            received = None if self.pace == LOCKSTEP else self.context_of_engagement.now() - self.start
            reading = message.reading(self.start, received)
            inbox = self._inboxes[name]
            if reading.values.shape[0] != self._widths[name]:
                self.fault = f"{name}: a reading of {reading.values.shape[0]} values, expected {self._widths[name]}"
                return
            self._heard[name] = max(self._heard[name], message.sequence)
            newest = self._figures.newest_stamp
            newest[name] = max(newest[name], int(reading.stamp[0]))
            # In lockstep nothing later than the instant decided for can have been measured yet.
            inbox.put(reading, reading.stamp if received is None else np.asarray([received]))
        if self.pace == LOCKSTEP:
            self._catch_up()
        elif name == self._decide_on and not message.dropped:
            self.alarms.at(message.available, partial(self._ask_now, self.episode))

    def _ask_now(self, episode: int) -> None:
        """Decide at the present instant."""
        if self.start is not None:
            self._ask(episode, self.context_of_engagement.now() - self.start)

    def _catch_up(self) -> None:
        """In lockstep: take every decision that is due by the time heard and whose readings are all here."""
        if self.start is None or not self.active:
            return
        elapsed = self.context_of_engagement.now() - self.start
        last = min(elapsed // self._tick, self._horizon)
        while self._upcoming <= last and self._complete(self._upcoming):
            tick = self._upcoming
            self._upcoming = self._after(tick)
            # A policy that decides on a sensor's readings is asked at every tick whether one has come.
            if self._decide_on is None or self._triggers.due(np.asarray([tick]), tick) is not None:
                self._ask(self.episode, tick * self._tick)

    def _after(self, tick: int) -> int:
        """Return the next tick at which a decision may be due; behind the horizon for never."""
        if self._decide_on is not None:
            return tick + 1
        place = bisect_right(self._due_ticks, tick)
        return self._due_ticks[place] if place < len(self._due_ticks) else self._horizon + 1

    def _complete(self, tick: int) -> bool:
        """Return whether every reading taken by a tick has been heard."""
        return all(self._heard[name] >= newest[tick] for name, newest in self._newest_taken.items())

    def _ask(self, episode: int, instant: int) -> None:
        """Decide on what has arrived by an instant of engagement time [ns]."""
        if episode != self.episode or not self.active:
            return
        now = np.asarray([instant], np.int64)
        with self._lock:
            for inbox in self._inboxes.values():
                inbox.deliver(now)
            views = {name: inbox.view(now) for name, inbox in self._inboxes.items()}
        if self._decide_on is not None and self.pace != LOCKSTEP and not self._is_news(views):
            return
        if self._thread is None:
            self._decide(episode, instant, views)
        else:
            self._thread.put(episode, instant, views)

    def _is_news(self, views: Views) -> bool:
        """Return whether the deciding sensor has a reading that no decision was taken on."""
        sequence = int(views[str(self._decide_on)].sequence[0, 0])
        fresh = sequence > self._newest_decided
        self._newest_decided = max(self._newest_decided, sequence)
        return fresh

    def _decide(self, episode: int, instant: int, views: Views) -> None:
        """Run the policy and submit its action."""
        began = time.perf_counter_ns()
        if self.values["extra_inference_time"]:
            time.sleep(self.values["extra_inference_time"])
        try:
            values = self._policy.decide(views, np.asarray([instant], np.int64), self._everyone)
        except Exception as fault:  # noqa: BLE001 - whatever a policy raises, the node lives; the watchdog stops the agent
            self.fault = f"policy: {type(fault).__name__}: {fault}"
            logger(self).error(self.fault)
            return
        spent = time.perf_counter_ns() - began
        with self._lock:
            if episode != self.episode or self.start is None:
                return
            message = self._encode(instant, views, values, spent)
            self._figures.decided(spent)
        self._actions.publish(message)

    def _encode(self, instant: int, views: Views, values: Any, spent: int) -> bytes:
        """Return a decision as a message, with the readings it was taken on."""
        assert self.start is not None
        stamps = [int(view.stamp[0, 0]) for view in views.values()]
        return self._writer.encode(
            stamp=self.start + instant,
            episode=self.episode,
            sequence=self._figures.sequence,
            values=values[:, 0, 0],
            effective=self.start + instant + self._latency,
            stamps=[self.start + stamp if stamp >= 0 else 0 for stamp in stamps],
            sequences=[int(view.sequence[0, 0]) for view in views.values()],
            spent=spent,
        )

    def fill_status(self, message: AgentStatus) -> None:
        """Report rates, ages, decisions and inference times."""
        with self._lock:
            self._figures.fill(message, self.context_of_engagement.now(), self.start)

    def add_to_summary(self, summary: AgentSummary) -> None:
        """Add decisions and inference times."""
        self._figures.add_to(summary)

    def destroy_node(self) -> None:
        """End the inference thread, then destroy the node."""
        if isinstance(self.alarms, SimulatedAlarms):
            self.alarms.unlisten(self._catch_up)
        if self._thread is not None:
            self._thread.close()
        super().destroy_node()


def main(args: list[str] | None = None) -> int:
    """Run the node until it is told to end."""
    return run(PolicyNode, args, name="policy_node")


if __name__ == "__main__":
    sys.exit(main())
