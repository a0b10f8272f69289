"""The recorder node: an engagement's topics into a bag that a killed recorder does not lose."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy

import pe_ros
from pe_ros.bag.discovery import RecordedTopic, TopicDiscovery
from pe_ros.bag.graph_recorder import GraphRecorder
from pe_ros.bag.log_time import CLOCK_TOPIC, SimulatedLogTimes, SystemLogTimes
from pe_ros.bag.provenance import SIMULATED_CLOCK, SYSTEM_CLOCK, Provenance
from pe_ros.bag.provenance_collector import ProvenanceCollector
from pe_ros.bag.record_queue import RecordQueue
from pe_ros.bag.recorder_parameters import RecorderParameters, declare_parameters
from pe_ros.bag.taps import load_message_class
from pe_ros.bag.writer import BagWriter
from pe_ros.run_node import FAILED, run
from pe_sim.errors import BagError

__all__ = ["RecordedTopic", "RecorderNode", "main"]

LINGER = 1.0
"""Longest time to go on when told to end [s]."""
CLOCK_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
CLOCK = RecordedTopic(CLOCK_TOPIC, "rosgraph_msgs/msg/Clock", CLOCK_QOS)


class RecorderNode(Node):
    """Records topics into a rosbag2 directory from its construction until ``stop`` or ``destroy_node``.

    Messages are taken and written in threads of the recorder's own, so it neither needs an executor nor holds one up;
    spinning it serves its parameters only. Log times are the system time of arrival, or the simulated time then.
    """

    def __init__(
        self,
        topics: Sequence[RecordedTopic] | None = None,
        *,
        directory: Path | str | None = None,
        provenance: Provenance | None = None,
        simulated: bool | None = None,
        node_name: str = "recorder",
        **node_arguments: Any,
    ) -> None:
        """Create the bag and begin.

        Args:
            topics: topics to record; None for the parameter ``topics``, and all of the namespace where that is empty.
            directory: the bag; None for the parameter ``directory``.
            provenance: what is known of the engagement; the graph's messages complete it.
            simulated: whether log times are simulated times, by ``/clock``; None for the parameter ``use_sim_time``.
                It needs no executor, nor that the node's own clock be simulated.
            node_name: name of the node.
            **node_arguments: as of ``rclpy.node.Node``.

        Raises:
            BagError: the directory exists or cannot be written, or a message type is not installed.
            RosError: a parameter is of the wrong type or out of its range.
        """
        super().__init__(node_name, **node_arguments)
        self._recorder: GraphRecorder | None = None
        self._queue: RecordQueue | None = None
        try:
            parameters = declare_parameters(self, directory)
            if simulated is None:
                simulated = bool(self.get_parameter("use_sim_time").value)
            wanted = parameters.topics if topics is None else list(topics)
            self._start(parameters, wanted, provenance or parameters.provenance, simulated)
        except BaseException:
            if self._queue is not None:
                self._queue.close()
            Node.destroy_node(self)
            raise

    @property
    def _log(self) -> Any:
        node: Node = self
        return node.get_logger()

    @property
    def directory(self) -> Path:
        """The bag."""
        return self._directory

    @property
    def failure(self) -> BagError | None:
        """The fault that ended the recording early, or None."""
        return self._queue.failure if self._queue is not None else None

    @property
    def dropped(self) -> int:
        """Messages received but not written."""
        return self._queue.dropped if self._queue is not None else 0

    @property
    def written(self) -> int:
        """Messages written so far."""
        return self._queue.written if self._queue is not None else 0

    def linger(self) -> None:
        """Go on recording while those recorded end, a second at most: on Ctrl-C their stops come last."""
        limit = time.monotonic() + LINGER
        while self._recorder is not None and self._recorder.others_publish() and time.monotonic() < limit:
            time.sleep(LINGER / 20)

    def stop(self) -> None:
        """Take what has arrived, write it and close the bag; stopping again does nothing."""
        recorder, self._recorder = self._recorder, None
        if recorder is None or self._queue is None:
            return
        topics = recorder.topic_count
        recorder.stop()
        lost = recorder.lost
        closed = self._queue.close()
        text = f"{self.written} messages on {topics} topics in {self._directory}"
        text += f", {self.dropped} dropped, {lost} lost on the way"
        if not closed:
            self._log.error(f"the disk did not answer: {text}; run pe-ros bag repair {self._directory}")
        elif self.failure is None:
            self._log.info(f"recorded {text}")

    def destroy_node(self) -> None:
        """Close the bag, then destroy the node."""
        self.stop()
        Node.destroy_node(self)

    def _start(
        self, parameters: RecorderParameters, topics: Sequence[RecordedTopic], known: Provenance, simulated: bool
    ) -> None:
        self._directory = parameters.directory
        discovery = None if topics else TopicDiscovery(self, parameters.exclude)
        for topic in topics:
            load_message_class(topic.type_name)
        writer = BagWriter(
            self._directory,
            replace(
                known,
                clock=SIMULATED_CLOCK if simulated else SYSTEM_CLOCK,
                pe_ros_version=known.pe_ros_version or pe_ros.__version__,
            ),
            compression=parameters.compression,
            flush_period=parameters.flush_period,
            synchronise=parameters.synchronise,
        )
        self._queue = RecordQueue(writer, max_messages=parameters.max_queue, on_failure=self._say_failure)
        self._recorder = GraphRecorder(
            self,
            self._queue,
            SimulatedLogTimes(self._simulated_now) if simulated else SystemLogTimes(),
            ProvenanceCollector(self._queue),
            [*topics, CLOCK] if simulated else topics,
            discovery,
        )
        self._log.info(f"recording into {self._directory}")

    def _simulated_now(self) -> int:
        """Return the time of a clock that is set within the process, 0 where it is not [ns]."""
        clock: Any = self.get_clock()
        return int(clock.now().nanoseconds) if clock.ros_time_is_active else 0

    def _say_failure(self, error: BagError) -> None:
        self._log.error(str(error))


def main(args: Sequence[str] | None = None) -> int:
    """Record until SIGINT or SIGTERM, then close the bag.

    Args:
        args: arguments without the program's name; those of the process where None.

    Returns:
        As ``pe_ros.run_node.run``, and 1 also when the recording ended early.
    """
    made: list[RecorderNode] = []

    def make() -> RecorderNode:
        made.append(RecorderNode())
        return made[0]

    code = run(make, args, name="recorder")
    return FAILED if made and made[0].failure is not None else code


if __name__ == "__main__":
    sys.exit(main())
