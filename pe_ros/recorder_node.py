"""The recorder node: an engagement's topics into a bag that a killed recorder does not lose."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import try_shutdown

import pe_ros
from pe_ros.bag.discovery import RecordedTopic, TopicDiscovery
from pe_ros.bag.graph_recorder import GraphRecorder
from pe_ros.bag.log_time import CLOCK_TOPIC, LogTimes, SimulatedLogTimes, SystemLogTimes
from pe_ros.bag.provenance import SIMULATED_CLOCK, SYSTEM_CLOCK, Provenance
from pe_ros.bag.provenance_collector import ProvenanceCollector
from pe_ros.bag.record_queue import RecordQueue
from pe_ros.bag.recorder_parameters import RecorderParameters, declare_parameters
from pe_ros.bag.taps import load_message_class
from pe_ros.bag.writer import BagWriter
from pe_sim.errors import BagError, PeError

__all__ = ["RecordedTopic", "RecorderNode", "main"]

CLOCK_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
CLOCK = RecordedTopic(CLOCK_TOPIC, "rosgraph_msgs/msg/Clock", CLOCK_QOS)


class RecorderNode(Node):
    """Records topics into a rosbag2 directory from its construction until ``stop`` or ``destroy_node``.

    Messages are taken and written in threads of the recorder's own, so it neither needs an executor nor holds one up;
    spinning it serves its parameters only. The node gives its log times by its clock: the system time of arrival, or
    with ``use_sim_time`` the simulated time at that instant.
    """

    def __init__(
        self,
        topics: Sequence[RecordedTopic] | None = None,
        *,
        directory: Path | str | None = None,
        provenance: Provenance | None = None,
        node_name: str = "recorder",
        **node_arguments: Any,
    ) -> None:
        """Create the bag and begin.

        Args:
            topics: topics to record; None for the parameter ``topics``, and all of the namespace where that is empty.
            directory: the bag; None for the parameter ``directory``.
            provenance: what is known of the engagement; the graph's messages complete it.
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
            self._start(parameters, list(topics) if topics is not None else parameters.topics, provenance)
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
        self, parameters: RecorderParameters, topics: Sequence[RecordedTopic], provenance: Provenance | None
    ) -> None:
        self._directory = parameters.directory
        simulated = bool(self.get_parameter("use_sim_time").value)
        discovery = None if topics else TopicDiscovery(self, parameters.exclude)
        for topic in topics:
            load_message_class(topic.type_name)
        known = provenance or parameters.provenance()
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
            self._log_times(simulated),
            ProvenanceCollector(self._queue),
            [*topics, CLOCK] if simulated else topics,
            discovery,
        )
        self._log.info(f"recording into {self._directory}")

    def _log_times(self, simulated: bool) -> LogTimes:
        if not simulated:
            return SystemLogTimes()
        return SimulatedLogTimes(lambda: int(self.get_clock().now().nanoseconds))

    def _say_failure(self, error: BagError) -> None:
        self._log.error(str(error))


def main(args: list[str] | None = None) -> int:
    """Record until SIGINT or SIGTERM, then close the bag.

    Returns:
        0 when the bag is complete, 1 when there is none or the recording ended early.
    """
    rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    ended: list[int] = []

    def end(number: int, _: FrameType | None) -> None:
        ended.append(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    try:
        node = RecorderNode()
    except PeError as error:
        print(f"recorder: {error}", file=sys.stderr)
        try_shutdown()
        return 1
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    try:
        while not ended:
            executor.spin_once(timeout_sec=0.2)
    except ExternalShutdownException:
        pass
    finally:
        executor.shutdown(timeout_sec=0.5)
        node.destroy_node()
        try_shutdown()
    return 0 if node.failure is None else 1


if __name__ == "__main__":
    sys.exit(main())
