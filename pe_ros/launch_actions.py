"""What the launch files have in common: processes from node specifications, and how the whole of them ends.

Needs the packages `launch` and `launch_ros`, which only a ROS 2 installation has; nothing else imports this module.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from launch import Action, LaunchContext, LaunchDescription
from launch.actions import DeclareLaunchArgument, EmitEvent, LogInfo, OpaqueFunction, RegisterEventHandler, Shutdown
from launch.event_handlers import OnProcessExit, OnShutdown
from launch.events import Shutdown as ShutdownEvent
from launch.events.process import ProcessExited, SignalProcess
from launch.utilities import AsyncSafeSignalManager
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from pe_ros.discovery import PROFILE_VARIABLES, use_profile
from pe_ros.end_request import SIGNALS
from pe_ros.end_request import VARIABLE as END_WITH_PARENT
from pe_ros.launch_arguments import LaunchArgument, check_names
from pe_ros.launch_plans import Launch
from pe_ros.run_node import MISCONFIGURED
from pe_ros.specs import NodeSpec
from pe_sim.errors import RosError

OF_LAUNCH = (
    "launch-prefix", "launch-prefix-filter", "emulate_tty", "sigterm_timeout", "sigkill_timeout", "ros_namespace",
)  # fmt: skip
"""Arguments that launch and launch_ros read themselves."""


def describe(
    file: Path, arguments: Sequence[LaunchArgument], plan: Callable[[dict[str, str]], Launch]
) -> LaunchDescription:
    """Return the description that a launch file gives.

    Args:
        file: the launch file.
        arguments: its arguments.
        plan: given their values, says what to start.
    """

    def start(context: LaunchContext) -> list[Action]:
        if _is_launched(file):
            _end_on_sigterm(context)
            given = [argument.partition(":=")[0] for argument in context.argv]
            check_names([name for name in given if name not in OF_LAUNCH], arguments)
        values = {one.name: context.launch_configurations[one.name] for one in arguments}
        launch = plan(values)
        return [*(LogInfo(msg=note) for note in launch.notes), *_Processes(launch, values).actions()]

    return LaunchDescription([*map(_declaration, arguments), OpaqueFunction(function=start)])


def _declaration(one: LaunchArgument) -> DeclareLaunchArgument:
    """Return the declaration of an argument; its choices are checked later, with the nearest one in the message."""
    described = one.description + (f" One of: {', '.join(one.choices)}." if one.choices else "")
    return DeclareLaunchArgument(one.name, default_value=one.default, description=described)


def _is_launched(file: Path) -> bool:
    """Whether `ros2 launch` was called with this file; included by another, it cannot tell whose an argument is."""
    return any(Path(word).name == file.name for word in sys.argv)


class _Processes:
    """The processes of one launch, and what happens when one of them ends.

    The simulation ends the launch. So does a process that has been given something wrong, and a recorder that cannot
    record. If an agent's process dies in flight the others go on; the launch tells of it in its exit code.
    """

    def __init__(self, launch: Launch, values: dict[str, str]) -> None:
        self._values = values
        self._launch = launch
        self._nodes = [self._node(spec) for spec in launch.specs]
        self._running = len(self._nodes)
        self._failures: list[str] = []

    def actions(self) -> list[Action]:
        """Return the actions that start and watch the processes."""
        watch = [
            RegisterEventHandler(OnProcessExit(target_action=node, on_exit=self._on_exit(spec)))
            for spec, node in zip(self._launch.specs, self._nodes, strict=True)
        ]
        return [
            RegisterEventHandler(OnShutdown(on_shutdown=self._on_shutdown)),
            *watch,
            *self._nodes,
        ]

    def _node(self, spec: NodeSpec) -> Node:
        # A name given to a process of several nodes would be given to each of them.
        return Node(
            package="pe_ros", executable=spec.executable, exec_name=spec.name, output="screen",
            name=spec.name if len(spec.nodes) == 1 else None,
            namespace=self._values["namespace"] or None,
            parameters=[{name: _typed(value) for name, value in spec.parameters.items()}],
            remappings=self._launch.remappings,
            ros_arguments=["--log-level", self._values["log_level"]],
            additional_env=_environment(),
        )  # fmt: skip

    def _on_exit(self, spec: NodeSpec) -> Callable[[ProcessExited, LaunchContext], list[Action]]:
        def handle(event: ProcessExited, context: LaunchContext) -> list[Action]:
            code = event.returncode
            if context.is_shutdown and -code in SIGNALS:
                code = 0  # told to end before it could even hear that
            self._running -= 1
            if code:
                self._failures.append(f"{spec.name} has ended with {_how(code)}")
            if _ends_all(spec, code) or context.is_shutdown or not self._running:
                self._fail_if_any_has()
                return [] if context.is_shutdown else [Shutdown(reason="the engagement is over")]
            return [LogInfo(msg=f"{spec.name} has ended with {_how(code)}; the others go on")]

        return handle

    def _fail_if_any_has(self) -> None:
        """Raise what has failed since the last time: the one way to an exit code of `ros2 launch` other than 0.

        It also ends the others.
        """
        failures, self._failures = self._failures, []
        if failures:
            raise RosError("launch", "; ".join(failures), cure="the messages above say why")

    def _on_shutdown(self, event: ShutdownEvent, context: LaunchContext) -> list[Action]:
        """Pass Ctrl-C on: launch trusts that a terminal does, but the signal may have been sent to it alone.

        To the nodes two signals at once are one request.
        """
        if context.noninteractive or not event.due_to_sigint:
            return []  # launch does it
        running = [node for node in self._nodes if (node.process_details or {}).get("pid")]
        return [EmitEvent(event=SignalProcess(signal_number=signal.SIGINT, process_matcher=lambda one: one in running))]


def _ends_all(spec: NodeSpec, code: int) -> bool:
    """Whether the end of a process with an exit code is the end of all."""
    return spec.executable == "sim_node" or code == MISCONFIGURED or (spec.executable == "recorder_node" and code > 0)


def _how(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def _typed(value: Any) -> Any:
    """Return a parameter whose type is kept: launch would read a text such as '{a: 1}' or '12' as YAML."""
    return ParameterValue(value, value_type=str) if isinstance(value, str) else value


def _environment() -> dict[str, str]:
    """Return what the processes get: quick discovery, and an end when the launch is gone."""
    environment = dict(os.environ)
    use_profile(environment)
    chosen = {name: environment[name] for name in PROFILE_VARIABLES if name in environment}
    return {END_WITH_PARENT: os.environ.get(END_WITH_PARENT, str(os.getpid())), **chosen}


def _end_on_sigterm(context: LaunchContext) -> None:
    """Have SIGTERM (systemd, a container that is stopped) end the launch as Ctrl-C does: nodes first, exit code 0.

    `ros2 launch` by itself dies of SIGTERM and leaves its processes behind. What handles its signals has no public
    name; where it is not found that stays so, and the nodes notice that they are orphans and end by themselves.
    """
    manager = getattr(AsyncSafeSignalManager, "_AsyncSafeSignalManager__current", None)
    if manager is None or threading.current_thread() is not threading.main_thread():
        return

    def end(_: int) -> None:
        if not context.is_shutdown:
            context.emit_event_sync(ShutdownEvent(reason="SIGTERM"))

    manager.handle(signal.SIGTERM, end)
    signal.signal(signal.SIGTERM, lambda *_: None)  # the manager hears only of signals that are not left to kill
