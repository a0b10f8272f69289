"""Sensor node: turns odometry of oneself and of others into the readings of one agent's sensors.

It does not know whether the odometry comes from a simulation or from vehicles.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import numpy as np
from nav_msgs.msg import Odometry

from pe_ros import qos, topics
from pe_ros.agent_lifecycle import AgentLifecycleNode
from pe_ros.agent_summary import AgentSummary
from pe_ros.conversions import duration_message, time_message
from pe_ros.engagement_node import LOCKSTEP, WALL
from pe_ros.msg import AgentStatus, Observation, ObservationLayout, SensorLayout
from pe_ros.observation_codec import ObservationWriter
from pe_ros.odometry_codec import decode
from pe_ros.run_node import run
from pe_sim.arrays import namespace
from pe_sim.perception import Perception
from pe_sim.sensors.channel import Reading, SensorChannel, layout_sha256
from pe_sim.state import COMPONENTS, State
from pe_sim.timing import NEVER, seconds

KEPT_STAMPS = 16
"""Instants whose odometry may be incomplete at once; older ones are given up."""


class Snapshot:
    """Odometry of the agents at one instant, filled as messages arrive.

    Attributes:
        block: canonical state of the agents, (13, N, 1).
        alive: who is in play, (N, 1).
        known: whose odometry has come.
        due: sensor -> number of the reading that is due at this instant and not taken yet.
    """

    def __init__(self, agents: int, due: dict[str, int]) -> None:
        self.block = np.zeros((COMPONENTS, agents, 1))
        self.alive = np.zeros((agents, 1), dtype=np.bool_)
        self.known: set[int] = set()
        self.due = due

    def put(self, index: int, column: tuple[float, ...], playing: bool) -> None:
        """Take the odometry of an agent."""
        self.block[:, index, 0] = column
        self.alive[index, 0] = playing
        self.known.add(index)


class SensorNode(AgentLifecycleNode):
    """Publishes /<agent>/observation/<sensor> at each sensor's own rate.

    Attributes:
        outputs: sensor -> publisher of its readings.
    """

    def __init__(self, **node_arguments: Any) -> None:
        self._snapshots: dict[int, Snapshot] = {}
        super().__init__("sensors", **node_arguments)

    def configure(self) -> None:
        """Create the channels, the publishers and the subscriptions to the odometry they need."""
        perception = Perception(self.engagement, self.role, 1, namespace(), [self.number])
        self._channels: dict[str, SensorChannel] = perception.channels
        self._layout = layout_sha256(perception.layouts())
        own = self.engagement.agents.index(self.agent)
        self._needs = {
            name: {own, *(channel.targets[0] if channel.targets else ())} for name, channel in self._channels.items()
        }
        schedules = {name: channel.timing.schedule for name, channel in self._channels.items()}
        self._tables = {name: (schedule.due, schedule.newest) for name, schedule in schedules.items()}
        self._frames = {
            name: self.values["world_frame"] if channel.layout().frame == "world" else f"{self.agent}/base_link"
            for name, channel in self._channels.items()
        }
        self.outputs = {
            name: self.create_publisher(
                Observation, topics.observation(self.agent, name), qos.observation(self.pace)
            )
            for name in self._channels
        }
        self._writers = {
            name: ObservationWriter(self.agent, name, self._frames[name], self._layout, channel.width)
            for name, channel in self._channels.items()
        }
        self._newest: dict[int, tuple[tuple[float, ...], bool]] = {}
        self._rates = {name: [0, 0] for name in self._channels}
        self._sequence = dict.fromkeys(self._channels, -1)
        self._missing = dict.fromkeys(self._channels, 0)
        self._taken = dict.fromkeys(self._channels, 0)
        self._publish_layout(perception)
        needed = sorted(set().union(*self._needs.values())) if self._needs else []
        self._inputs = [
            self.create_subscription(
                Odometry, topics.odom(self.engagement.agents[i]), partial(self._hear_odom, i),
                qos.odom(self.pace), raw=True,
            )
            for i in needed
        ]

    def exclusive_topics(self) -> list[str]:
        """Return the odometry it hears: of a vehicle or of a simulation, not of both."""
        seen = set[int]().union(*self._needs.values())
        return [topics.odom(self.engagement.agents[i]) for i in sorted(seen)]

    def cleanup(self) -> None:
        """Destroy publishers and subscriptions."""
        for publisher in (*self.outputs.values(), self._layout_publisher):
            self.destroy_publisher(publisher)
        for subscription in self._inputs:
            self.destroy_subscription(subscription)

    def _publish_layout(self, perception: Perception) -> None:
        """Publish what the readings mean, latched."""
        message = ObservationLayout(agent=self.agent, role=self.role, layout_sha256=self._layout)
        message.header.stamp = time_message(self.context_of_engagement.now())
        for name, channel in perception.channels.items():
            layout = channel.layout()
            message.sensors.append(
                SensorLayout(
                    sensor=name, kind=layout.kind, frame=self._frames[name], fields=list(layout.fields),
                    units=list(layout.units), rate=float(channel.spec.rate),
                    phase=duration_message(channel.spec.phase), latency=duration_message(channel.spec.latency),
                )
            )
        self._layout_publisher = self.create_publisher(
            ObservationLayout, topics.layout(self.agent), qos.layout(self.pace)
        )
        self._layout_publisher.publish(message)

    def begin(self, roots: np.ndarray[Any, Any]) -> None:
        """Take the episode's noise streams."""
        self._snapshots.clear()
        self._newest.clear()
        for name, channel in self._channels.items():
            channel.reset(roots, None)
            self._sequence[name] = -1

    def begin_running(self, start: int) -> None:
        """On vehicles, sample by the clock: their odometry keeps no common instants."""
        if self.pace == WALL:
            for name in self._channels:
                self._schedule(name, 0, self.episode, start)

    def _hear_odom(self, index: int, message: bytes) -> None:
        if not self.active:
            return
        heard = decode(message)
        if self.pace == WALL:
            self._newest[index] = (heard.column, heard.in_play)
            return
        if self.start is None:
            return
        stamp = heard.stamp - self.start
        if stamp < 0:  # the end of the episode before
            return
        snapshot = self._snapshots.get(stamp) or self._begin_snapshot(stamp)
        snapshot.put(index, heard.column, heard.in_play)
        for name, sequence in tuple(snapshot.due.items()):
            if self._needs[name] <= snapshot.known:
                del snapshot.due[name]
                self._take(name, snapshot, stamp, sequence)

    def _begin_snapshot(self, stamp: int) -> Snapshot:
        """Return an empty snapshot of an instant [ns], with what is due then."""
        tick, off = divmod(stamp, self.engagement.world.tick)
        due = {}
        if not off and tick <= self.engagement.horizon:
            due = {name: int(newest[tick]) for name, (taken, newest) in self._tables.items() if taken[tick]}
        snapshot = self._snapshots[stamp] = Snapshot(len(self.engagement.agents), due)
        while len(self._snapshots) > KEPT_STAMPS:
            del self._snapshots[min(self._snapshots)]
        return snapshot

    def _take(self, name: str, snapshot: Snapshot, stamp: int, sequence: int) -> None:
        instant, number = np.asarray([stamp]), np.asarray([sequence])
        reading = self._channels[name].sample(State(snapshot.block), snapshot.alive, instant, number, None)
        self._missing[name] += max(0, sequence - self._sequence[name] - 1)
        self._sequence[name] = sequence
        self._rates[name][0] += 1
        self._taken[name] += 1
        assert self.start is not None
        self._send(name, self._writers[name].encode(reading, self.start, self.episode), reading)

    def _send(self, name: str, message: bytes, reading: Reading) -> None:
        """Publish a reading when it is due to arrive; in lockstep at once, its receiver waits for that instant."""
        assert self.start is not None
        if self.pace == LOCKSTEP:
            self.outputs[name].publish(message)
            return
        arrival = int(reading.arrival[0, 0])
        if arrival >= NEVER or self.start + arrival <= self.context_of_engagement.now():
            self.outputs[name].publish(message)
        else:
            self.alarms.at(self.start + arrival, partial(self.outputs[name].publish, message))

    def _schedule(self, name: str, number: int, episode: int, start: int) -> None:
        """Sample on vehicles: take reading ``number`` when it is due, from the newest odometry."""
        due = self._channels[name].timing.schedule.schedule.due(number)
        self.alarms.at(start + due, partial(self._sample_newest, name, number, episode, start, due))

    def _sample_newest(self, name: str, number: int, episode: int, start: int, due: int) -> None:
        if episode != self.episode or not self.running or not self.active:
            return
        if self._needs[name] <= self._newest.keys():
            snapshot = Snapshot(len(self.engagement.agents), {})
            for index, (column, playing) in self._newest.items():
                snapshot.put(index, column, playing)
            self._take(name, snapshot, due, number)
        self._schedule(name, number + 1, episode, start)

    def fill_status(self, message: AgentStatus) -> None:
        """Report rates and gaps per sensor."""
        now = self.context_of_engagement.now()
        for name, counts in self._rates.items():
            elapsed = seconds(now - counts[1]) if counts[1] else 0.0
            message.sensors.append(name)
            message.rates.append(counts[0] / elapsed if elapsed > 0 else 0.0)
            message.missing.append(self._missing[name])
            self._rates[name] = [0, now]

    def add_to_summary(self, summary: AgentSummary) -> None:
        """Add readings and gaps."""
        summary.readings.update(self._taken)
        summary.missing.update(self._missing)


def main(args: list[str] | None = None) -> int:
    """Run the node until it is told to end."""
    return run(SensorNode, args, name="sensor_node")


if __name__ == "__main__":
    sys.exit(main())
