"""Nodes as processes of their own, and a node of the test that hears and calls them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import rclpy
from lifecycle_msgs.srv import ChangeState
from nav_msgs.msg import Odometry
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from std_srvs.srv import Trigger

from pe_ros import qos, topics
from pe_ros.discovery import use_profile
from pe_ros.msg import Action, AgentStatus, EngagementState, Observation, SafetyEvent

from .conftest import CONFIG

PATIENCE = 60.0
"""Longest wait for what must come [s]; only a failing test waits so long."""

END_LIMIT = 5.0
"""The contract: a process that is told to end has ended after so long [s]."""

FAR = {
    "roles.pursuer.count": 1,
    "world.arena": {"low": [-2000, -2000, 2], "high": [2000, 2000, 400], "edge": "clip"},
    "world.obstacles": [],
    "roles.pursuer.start": {"points": [[-500, 0, 50]]},
    "roles.evader.start": {"points": [[500, 0, 50]]},
    "roles.pursuer.sensors.radar.max_range": "4000 m",
    "rules.time_limit": "300 s",
}
"""kinematic_3v1 as one against one that lasts: at 10 m/s against 8 m/s they are far from meeting."""

PROGRAM = "import sys; from pe_ros.program import run_program; sys.exit(run_program('pe_ros.{}'))"
"""What the installed executables run."""


@dataclass
class Process:
    """A running node process.

    Attributes:
        popen: the process.
        log: file of what it writes.
    """

    popen: subprocess.Popen[bytes]
    log: Path

    @property
    def output(self) -> str:
        """What it has written so far."""
        return self.log.read_text(errors="replace")

    def says(self, text: str, patience: float = PATIENCE) -> None:
        """Wait until it has written a text."""
        wait_until(lambda: text in self.output, patience, lambda: f"{text!r} is not in:\n...{self.output[-2000:]}")

    def wait(self, patience: float = PATIENCE) -> int:
        """Return its exit code."""
        return self.popen.wait(patience)

    def end(self, number: signal.Signals) -> None:
        """Signal it; it must end cleanly in time."""
        began = time.monotonic()
        self.popen.send_signal(number)
        code = self.popen.wait(PATIENCE)
        took = time.monotonic() - began
        assert code == 0, f"exit code {code} on {number.name}:\n{self.output}"
        assert "Traceback" not in self.output, self.output
        assert took < END_LIMIT, f"took {took:.1f} s to end on {number.name}"

    def kill(self) -> None:
        """Kill it without notice."""
        self.popen.kill()
        self.popen.wait(PATIENCE)


class Processes:
    """Starts node processes of one engagement.

    Args:
        directory: for what they write.
        engagement: the engagement file.
        overrides: keys of it to replace.
        common: parameters of all of them.
    """

    def __init__(self, directory: Path, engagement: Path, overrides: dict[str, Any], **common: Any) -> None:
        self._directory = directory
        self._common = {"engagement": str(engagement), **common}
        if overrides:
            self._common["overrides"] = json.dumps(overrides)
        self.all: list[Process] = []

    def start(self, executable: str, *arguments: str, name: str = "", **parameters: Any) -> Process:
        """Start one; ``name`` renames its node."""
        given = {**self._common, **parameters}
        rename = ["-r", f"__node:={name}"] if name else []
        settings = [part for key, value in given.items() for part in ("-p", f"{key}:={_text(value)}")]
        program = [sys.executable, "-c", PROGRAM.format(executable)]
        return self.run([*program, "--ros-args", *rename, *settings, *arguments])

    def run(self, command: list[str], **environment: str) -> Process:
        """Start any command."""
        log = self._directory / f"process_{len(self.all)}.txt"
        with log.open("wb") as file:
            popen = subprocess.Popen(
                command, stdout=file, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                env={**os.environ, **environment}, cwd=self._directory, start_new_session=True,
            )  # fmt: skip
        self.all.append(Process(popen, log))
        return self.all[-1]

    def close(self) -> None:
        """Kill what is left."""
        for process in self.all:
            if process.popen.poll() is None:
                process.kill()


def _text(value: Any) -> str:
    """Return a parameter value as the command line takes it; a text is quoted, so that it stays one."""
    return json.dumps(value) if not isinstance(value, str) else "'" + value.replace("'", "''") + "'"


def wait_until(done: Callable[[], object], patience: float = PATIENCE, why: Callable[[], str] | str = "") -> None:
    """Wait for a condition; fail with a reason when it does not come true."""
    limit = time.monotonic() + patience
    while not done():
        if time.monotonic() > limit:
            raise AssertionError(why() if callable(why) else why or "waited in vain")
        time.sleep(0.02)


@dataclass
class Ear:
    """Messages of one topic, as they came in."""

    messages: list[Any] = field(default_factory=list)

    def forget(self) -> None:
        """Forget what came so far: what is waited for next comes from now on."""
        self.messages.clear()

    def wait(self, fits: Callable[[Any], object] = lambda _: True, what: str = "", *, later: bool = False) -> Any:
        """Return the first message that fits, once it is there; ``later``: of those that come from now on."""
        looked_at = len(self.messages) if later else 0
        found: list[Any] = []

        def look() -> bool:
            nonlocal looked_at
            new = self.messages[looked_at:]
            looked_at += len(new)
            found.extend(message for message in new if fits(message))
            return bool(found)

        wait_until(look, why=lambda: f"no message fits {what}; {len(self.messages)} came, last {self.messages[-1:]}")
        return found[0]


class Listener:
    """A node of the test in a context of its own, spun in a thread.

    Args:
        pace: of the engagement.
        namespace: of its nodes.
    """

    def __init__(self, pace: str = "realtime", namespace: str = "") -> None:
        self._pace = pace
        self._closing = threading.Event()
        self._context = Context()
        rclpy.init(context=self._context)
        self.node = Node("listener", context=self._context, namespace=namespace, use_global_arguments=False)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()

    def _spin(self) -> None:
        with suppress(ExternalShutdownException):
            while not self._closing.is_set():
                self._executor.spin_once(timeout_sec=0.1)

    def hear(self, kind: Any, topic: str, profile: Any) -> Ear:
        """Listen to a topic."""
        ear = Ear()
        self.node.create_subscription(kind, topic, ear.messages.append, profile)
        return ear

    def states(self) -> Ear:
        """Listen to the referee."""
        return self.hear(EngagementState, topics.ENGAGEMENT_STATE, qos.engagement_state(self._pace))

    def odometry(self, agent: str) -> Ear:
        """Listen to an agent's odometry."""
        return self.hear(Odometry, topics.odom(agent), qos.odom(self._pace))

    def actions(self, agent: str) -> Ear:
        """Listen to what its policy decides."""
        return self.hear(Action, topics.action(agent), qos.action(self._pace))

    def commands(self, agent: str) -> Ear:
        """Listen to what its gate lets through."""
        return self.hear(Action, topics.command(agent), qos.command(self._pace))

    def applied(self, agent: str) -> Ear:
        """Listen to what has taken effect."""
        return self.hear(Action, topics.applied(agent), qos.applied(self._pace))

    def observations(self, agent: str, sensor: str) -> Ear:
        """Listen to one of its sensors."""
        return self.hear(Observation, topics.observation(agent, sensor), qos.observation(self._pace))

    def statuses(self, agent: str) -> Ear:
        """Listen to the reports of its nodes."""
        return self.hear(AgentStatus, topics.status(agent), qos.status(self._pace))

    def safety_events(self, agent: str) -> Ear:
        """Listen to its gate's interventions."""
        return self.hear(SafetyEvent, topics.safety_event(agent), qos.safety_event(self._pace))

    def trigger(self, service: str) -> Trigger.Response:
        """Call a std_srvs/Trigger."""
        return self._call(Trigger, service, Trigger.Request())

    def change_state(self, node: str, transition: int) -> bool:
        """Ask a lifecycle node for a transition; return whether it was made."""
        request = ChangeState.Request()
        request.transition.id = transition
        return bool(self._call(ChangeState, f"{node}/change_state", request).success)

    def _call(self, kind: Any, service: str, request: Any) -> Any:
        client = self.node.create_client(kind, service)
        try:
            wait_until(client.service_is_ready, why=f"nobody serves {service}")
            future = client.call_async(request)
            wait_until(future.done, why=f"{service} does not answer")
            return future.result()
        finally:
            self.node.destroy_client(client)

    def close(self) -> None:
        """End."""
        self._closing.set()
        self._thread.join(5.0)
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.try_shutdown(context=self._context)


@contextmanager
def listening(pace: str = "realtime", namespace: str = "") -> Iterator[Listener]:
    """Give a listener, and end it."""
    use_profile()
    listener = Listener(pace, namespace)
    try:
        yield listener
    finally:
        listener.close()


@contextmanager
def processes(
    directory: Path, name: str = "kinematic_3v1", overrides: dict[str, Any] | None = None, **common: Any
) -> Iterator[Processes]:
    """Give a starter of node processes, and end what is left of them."""
    started = Processes(directory, CONFIG / f"{name}.yaml", FAR if overrides is None else overrides, **common)
    try:
        yield started
    finally:
        started.close()


def speed(message: Odometry) -> float:
    """Return the speed that odometry tells [m/s]."""
    linear = message.twist.twist.linear
    return float((linear.x**2 + linear.y**2 + linear.z**2) ** 0.5)


def is_stop(command: Action) -> bool:
    """Whether a command brings the agent to a stop."""
    return bool(command.mode == Action.MODE_STOP)
