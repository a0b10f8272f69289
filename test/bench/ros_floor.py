"""The floor: what bare rclpy costs per message, and how long a relay chain takes, for each executor.

    python test/bench/ros_floor.py cost --nodes 15          # microseconds of processor time per message
    python test/bench/ros_floor.py chain --hops 4           # latency of a chain in one process
    python test/bench/ros_floor.py chain --hops 4 --processes 2
    python test/bench/ros_floor.py idle --nodes 15          # processor time of nodes that have nothing to do

No node of pe_ros takes part; of pe_ros only the executor is measured, as `event`.
"""

from __future__ import annotations

import argparse
import importlib
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import rclpy
from rclpy.executors import Executor, MultiThreadedExecutor, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future


def _event(context: Any = None) -> Executor:
    from pe_ros.executor import EventExecutor

    return EventExecutor(context=context)


def _experimental(context: Any = None) -> Executor:
    from rclpy.experimental import EventsExecutor

    return EventsExecutor(context=context)


EXECUTORS: dict[str, Callable[..., Executor]] = {
    "event": _event,
    "single": SingleThreadedExecutor,
    "multi": MultiThreadedExecutor,
    "experimental": _experimental,
}
QOS = QoSProfile(depth=10)


def message_type(name: str) -> Any:
    """The message class of a name like std_msgs/Float64."""
    package, kind = name.split("/")
    return getattr(importlib.import_module(f"{package}.msg"), kind)


def example(kind: Any) -> Any:
    """A message of typical size: eight values where the type is an observation or action of pe_ros."""
    message = kind()
    if hasattr(message, "values"):
        message.values = [0.5] * 8
    if hasattr(message, "valid"):
        message.valid = [True] * 8
    if hasattr(message, "layout_sha256"):
        message.layout_sha256 = "0" * 64
    return message


@contextmanager
def graph(nodes: int, executor: str) -> Iterator[tuple[list[Node], Executor]]:
    """Nodes in this process and the executor that runs them."""
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    made = [Node(f"floor_{os.getpid()}_{index}") for index in range(nodes)]
    runner = EXECUTORS[executor]()
    for node in made:
        runner.add_node(node)
    try:
        yield made, runner
    finally:
        runner.shutdown()
        for node in made:
            node.destroy_node()
        rclpy.shutdown()


def spin_until(runner: Executor, future: Future, timeout: float = 60.0) -> None:
    """Spin as `rclpy.spin_until_future_complete` does; the experimental executor runs callbacks only so."""
    end = time.monotonic() + timeout
    while not future.done():
        if time.monotonic() > end:
            raise TimeoutError
        runner.spin_once(timeout_sec=0.5)


def cost(nodes: int, executor: str, kind: Any, messages: int) -> tuple[float, float]:
    """Processor and wall time [us] per message (publish, take, callback) going round a ring of four topics."""
    with graph(nodes, executor) as (made, runner):
        ring = 4
        publishers = [made[index % nodes].create_publisher(kind, f"ring_{index}", QOS) for index in range(ring)]
        left = messages
        done = Future()

        def relay(index: int) -> Callable[[Any], None]:
            following = publishers[(index + 1) % ring]

            def callback(message: Any) -> None:
                nonlocal left
                left -= 1
                if left > 0:
                    following.publish(message)
                elif not done.done():
                    done.set_result(True)
                    if executor == "event":
                        runner.shutdown()

            return callback

        for index in range(ring):
            made[(index + 1) % nodes].create_subscription(kind, f"ring_{index}", relay(index), QOS)
        settle = time.monotonic() + 0.5
        while time.monotonic() < settle:
            runner.spin_once(timeout_sec=0.05)
        processor, wall = time.process_time(), time.perf_counter()
        publishers[0].publish(example(kind))
        if executor == "event":
            runner.spin()
        else:
            spin_until(runner, done)
        return (time.process_time() - processor) / messages * 1e6, (time.perf_counter() - wall) / messages * 1e6


def idle(nodes: int, executor: str, seconds: float) -> float:
    """Processor time [% of a core] of nodes without work."""
    with graph(nodes, executor) as (_, runner):
        settle = time.monotonic() + 1.0
        while time.monotonic() < settle:
            runner.spin_once(timeout_sec=0.05)
        before, end = time.process_time(), time.monotonic() + seconds
        while time.monotonic() < end:
            runner.spin_once(timeout_sec=end - time.monotonic())
        return (time.process_time() - before) / seconds * 100


def relays(node: Node, kind: Any, hops: range) -> None:
    """Relay hop_i to hop_{i+1}."""
    for hop in hops:
        onward = node.create_publisher(kind, f"hop_{hop + 1}", QOS)
        node.create_subscription(kind, f"hop_{hop}", onward.publish, QOS)


def chain(hops: int, processes: int, executor: str, kind: Any, messages: int, rate: float) -> list[float]:
    """Latencies [ms] of messages sent one at a time through a chain; with two processes every other relay is remote."""
    remote = None
    if processes == 2:
        command = [sys.executable, __file__, "relay", "--hops", str(hops), "--executor", executor, "--message"]
        remote = subprocess.Popen([*command, f"{kind.__module__.split('.')[0]}/{kind.__name__}"])
    latencies: list[float] = []
    try:
        with graph(hops + 1, executor) as (made, runner):
            back = Future()
            for hop in range(0, hops - 1, 1 if processes == 1 else 2):
                local = hop if processes == 1 else hop + 1
                if local < hops - 1:
                    relays(made[hop], kind, range(local, local + 1))
            start = made[-1].create_publisher(kind, "hop_0", QOS)
            made[-1].create_subscription(kind, f"hop_{hops - 1}", lambda _: back.set_result(None), QOS)
            message = example(kind)
            deadline = time.monotonic() + 20
            while not back.done():  # discovery
                if time.monotonic() > deadline:
                    raise TimeoutError
                start.publish(message)
                runner.spin_once(timeout_sec=0.2)
            settle = time.monotonic() + 1.0
            while time.monotonic() < settle:
                runner.spin_once(timeout_sec=0.05)
            for _ in range(messages):
                back = Future()
                begin = time.perf_counter()
                start.publish(message)
                spin_until(runner, back, 10)
                latencies.append((time.perf_counter() - begin) * 1e3)
                time.sleep(1 / rate)
    finally:
        if remote is not None:
            remote.terminate()
            remote.wait()
    return latencies


def relay_process(hops: int, executor: str, kind: Any) -> None:
    """The remote half of a two-process chain: every even hop."""
    with graph(1, executor) as (made, runner):
        for hop in range(0, hops - 1, 2):
            relays(made[0], kind, range(hop, hop + 1))
        while True:
            runner.spin_once(timeout_sec=1.0)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["cost", "chain", "idle", "relay"])
    parser.add_argument("--executor", default="event,single")
    parser.add_argument("--nodes", type=int, default=15)
    parser.add_argument("--hops", type=int, default=2)
    parser.add_argument("--processes", type=int, choices=[1, 2], default=1)
    parser.add_argument("--message", default="std_msgs/Float64")
    parser.add_argument("--messages", type=int, default=3000)
    parser.add_argument("--rate", type=float, default=200.0)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    kind = message_type(arguments.message)
    if arguments.what == "relay":
        relay_process(arguments.hops, arguments.executor, kind)
        return
    for _ in range(arguments.repeat):
        for executor in arguments.executor.split(","):
            print(f"{arguments.message:22} {executor:13}", end=" ")
            if arguments.what == "cost":
                processor, wall = cost(arguments.nodes, executor, kind, arguments.messages)
                print(f"{arguments.nodes} nodes: {processor:7.1f} us processor, {wall:7.1f} us wall per message")
            elif arguments.what == "idle":
                print(f"{arguments.nodes} nodes: {idle(arguments.nodes, executor, 5.0):.2f} % of a core")
            else:
                measured = chain(
                    arguments.hops, arguments.processes, executor, kind, arguments.messages, arguments.rate
                )
                p99 = statistics.quantiles(measured, n=100)[98]
                where = f"{arguments.hops} hops, {arguments.processes} process(es)"
                print(f"{where}: p50 {statistics.median(measured):.3f} ms, p99 {p99:.3f} ms")


if __name__ == "__main__":
    main()
