"""A node process ends cleanly however it is told to, with a stop sent first; what a user can mend is one message."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: install pe-ros[ros]")

import rclpy
from rclpy.context import Context
from std_msgs.msg import Int64

from pe_ros.end_request import VARIABLE
from pe_ros.executor import EventExecutor

pytestmark = pytest.mark.ros

PATIENCE = 60.0  # [s]; only a failing test waits so long

PROGRAM = """
import os, sys, threading, time
import rclpy
from rclpy.node import Node
from std_msgs.msg import Int64
from pe_ros.run_node import run
from pe_sim.errors import RosError

class Mover(Node):
    def __init__(self):
        super().__init__("mover")
        self.stops = self.create_publisher(Int64, "stops", 1)
        self.create_timer(0.01, self.first)
        self.spun = False

    def first(self):
        if not self.spun:
            self.spun = True
            print("ready", flush=True)

    def stop_motion(self):
        self.stops.publish(Int64(data=7))
        print("stopped", flush=True)

{body}
sys.exit(run({factory}, name="probe"))
"""

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def environment(ros_domain: int, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.delenv(VARIABLE, raising=False)
    return dict(os.environ)


@pytest.fixture
def start(environment: dict[str, str]) -> Iterator[Start]:
    """Start a program that runs nodes."""
    processes: list[subprocess.Popen[str]] = []

    def starting(factory: str = "Mover", *arguments: str, body: str = "") -> subprocess.Popen[str]:
        program = PROGRAM.format(body=textwrap.dedent(body), factory=factory)
        processes.append(
            subprocess.Popen(
                [sys.executable, "-c", program, *arguments],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        return processes[-1]

    yield starting
    for process in processes:
        process.kill()
        process.communicate()


def wait_for(process: subprocess.Popen[str], line: str = "ready") -> None:
    assert process.stdout is not None
    heard = process.stdout.readline().strip()
    assert heard == line, f"{heard!r}, {process.stderr.read() if process.stderr and not heard else ''}"


class TestEnding:
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_on_a_signal_is_clean_and_sends_a_stop(self, start: Start, ros_domain: int, number: signal.Signals) -> None:
        context = Context()
        rclpy.init(context=context, domain_id=ros_domain)
        node = rclpy.create_node("listener", context=context)
        heard: list[int] = []
        node.create_subscription(Int64, "stops", lambda message: heard.append(message.data), 1)
        with EventExecutor(context=context) as executor:
            executor.add_node(node)
            process = start(
                "Heard",
                body="""
                class Heard(Mover):
                    def first(self):
                        if self.stops.get_subscription_count() == 1:
                            super().first()
            """,
            )
            wait_for(process)
            process.send_signal(number)
            output, errors = process.communicate(timeout=PATIENCE)
            executor.spin_once(timeout_sec=PATIENCE)
        node.destroy_node()
        rclpy.shutdown(context=context)
        assert heard == [7]
        assert (process.returncode, output, errors) == (0, "stopped\n", "")

    def test_stops_pass_through_the_nodes_of_the_process(self, start: Start) -> None:
        body = """
            class Gate(Node):
                def __init__(self):
                    super().__init__("gate")
                    self.create_subscription(Int64, "stops", lambda message: print("gate", message.data, flush=True), 1)
        """
        process = start("lambda: [Mover(), Gate()]", body=body)
        wait_for(process)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=PATIENCE)
        assert (process.returncode, output, errors) == (0, "stopped\ngate 7\n", "")

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_while_starting_is_clean(self, start: Start, number: signal.Signals) -> None:
        process = start(
            "slow",
            body="""
            def slow():
                print("starting", flush=True)
                time.sleep(1000)
        """,
        )
        wait_for(process, "starting")
        process.send_signal(number)
        output, errors = process.communicate(timeout=PATIENCE)
        assert (process.returncode, output, errors) == (0, "", "")

    def test_needs_no_work_to_notice(self, start: Start) -> None:
        process = start(
            "idle",
            body="""
            def idle():
                print("idle", flush=True)
                return Node("idle")
        """,
        )
        wait_for(process, "idle")
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=PATIENCE)
        assert (process.returncode, output, errors) == (0, "", "")

    def test_by_two_signals_at_once_is_one_request(self, start: Start) -> None:
        process = start()
        wait_for(process)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=PATIENCE)
        assert (process.returncode, output, errors) == (0, "stopped\n", "")

    def test_is_forced_by_a_later_signal(self, start: Start) -> None:
        process = start(
            "Stubborn",
            body="""
            class Stubborn(Mover):
                def stop_motion(self):
                    super().stop_motion()
                    time.sleep(1.0)
                    print("still ending", flush=True)
                    time.sleep(1000)
        """,
        )
        wait_for(process)
        process.send_signal(signal.SIGINT)
        wait_for(process, "stopped")
        wait_for(process, "still ending")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 128 + signal.SIGTERM

    def test_is_forced_when_it_takes_too_long(self, start: Start) -> None:
        process = start(
            "Stubborn",
            body="""
            class Stubborn(Mover):
                def stop_motion(self):
                    time.sleep(1000)
        """,
        )
        wait_for(process)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 1
        assert "ended by force" in errors

    def test_of_ros_by_a_callback_is_clean(self, start: Start) -> None:
        process = start(
            "Leaving",
            body="""
            class Leaving(Node):
                def __init__(self):
                    super().__init__("leaving")
                    self.create_timer(0.01, rclpy.shutdown)
        """,
        )
        _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
        assert "Traceback" not in errors


ORPHAN = """
class Orphan(Mover):
    def first(self):
        super().first()
        if os.getppid() != PARENT:
            self.ticks = getattr(self, "ticks", 0) + 1
            if self.ticks == 200:  # two seconds
                print("lives on", flush=True)
                os._exit(0)
PARENT = os.getppid()
"""
#: Starts its arguments and waits; named ros2, it looks like the command.
PARENT = "import subprocess, sys; subprocess.run(sys.argv[1:])"


class TestOrphans:
    @pytest.mark.parametrize(
        ("parent", "choice", "end"),
        [
            ("shell", "", "lives on"),
            ("ros2", "", "stopped"),
            ("ros2", "0", "lives on"),
            ("shell", "1", "stopped"),
        ],
    )
    def test_end_with_the_launch_that_started_them_and_outlive_a_shell(
        self, tmp_path: Path, environment: dict[str, str], parent: str, choice: str, end: str
    ) -> None:
        (tmp_path / parent).write_text(PARENT)
        program = PROGRAM.format(body=ORPHAN, factory="Orphan")
        process = subprocess.Popen(
            [sys.executable, str(tmp_path / parent), sys.executable, "-c", program],
            env={**environment, VARIABLE: choice},
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            wait_for(process)
        finally:
            process.kill()
        output, _ = process.communicate(timeout=PATIENCE)  # until the orphan, too, has closed its end
        assert output == f"{end}\n"


class TestFaults:
    def test_of_configuration_are_one_message(self, start: Start) -> None:
        process = start(
            "faulty",
            body="""
            def faulty():
                raise RosError("parameter rate", "must be positive", -1.0, "set rate to 20.0")
        """,
        )
        _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 2
        assert errors == "probe: parameter rate: must be positive (got -1.0); set rate to 20.0\n"

    def test_unforeseen_while_starting_are_in_the_log(self, start: Start) -> None:
        process = start(
            "faulty",
            body="""
            def faulty():
                raise ValueError("unforeseen")
        """,
        )
        _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 1
        assert "FATAL" in errors
        assert "ValueError: unforeseen" in errors

    def test_unforeseen_while_running_are_in_the_log_and_a_stop_is_sent(self, start: Start) -> None:
        process = start(
            "Faulty",
            body="""
            class Faulty(Mover):
                def first(self):
                    raise ValueError("unforeseen")
        """,
        )
        output, errors = process.communicate(timeout=PATIENCE)
        assert (process.returncode, output) == (1, "stopped\n")
        assert "ValueError: unforeseen" in errors

    def test_foreseen_while_running_are_one_message_and_a_stop_is_sent(self, start: Start) -> None:
        process = start(
            "Faulty",
            body="""
            class Faulty(Mover):
                def first(self):
                    self.timers.__next__().cancel()
                    raise RosError("/clock", "must be published")
        """,
        )
        output, errors = process.communicate(timeout=PATIENCE)
        assert (process.returncode, output, errors) == (1, "stopped\n", "probe: /clock: must be published\n")

    def test_while_stopping_do_not_keep_others_from_stopping(self, start: Start) -> None:
        process = start(
            "lambda: [Faulty(), Mover()]",
            body="""
            class Faulty(Node):
                def __init__(self):
                    super().__init__("faulty")

                def stop_motion(self):
                    raise ValueError("no brakes")
        """,
        )
        wait_for(process)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=PATIENCE)
        assert (process.returncode, output) == (1, "stopped\n")
        assert "no brakes" in errors


class TestArguments:
    def test_of_ros_reach_the_node(self, start: Start) -> None:
        body = """
            class Told(Node):
                def __init__(self):
                    super().__init__("told")
                    speed = self.declare_parameter("speed", 1.0).value
                    print(self.get_fully_qualified_name(), self.resolve_topic_name("odom"), speed, flush=True)
                    self.create_timer(0.01, rclpy.shutdown)
        """
        ros = ["-r", "__ns:=/team", "-r", "__node:=renamed", "-r", "odom:=/robot/odom", "-p", "speed:=2.5"]
        process = start("Told", "--ros-args", *ros, body=body)
        output, errors = process.communicate(timeout=PATIENCE)
        assert (process.returncode, output, errors) == (0, "/team/renamed /robot/odom 2.5\n", "")

    @pytest.mark.parametrize(
        ("arguments", "complaint"),
        [
            (["speed:=2"], "unknown argument 'speed:=2'"),
            (["--ros-args", "-p", "speed:=2", "--", "--fast"], "unknown argument '--fast'"),
            (["--ros-args", "--bogus"], "--bogus"),
            (["--ros-args", "-p", "speed"], "speed"),
        ],
    )
    def test_that_are_wrong_are_refused(self, start: Start, arguments: list[str], complaint: str) -> None:
        process = start("Mover", *arguments)
        output, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 2
        assert output == ""
        assert errors.startswith("probe: ")
        assert complaint in errors
        assert "Traceback" not in errors

    def test_may_ask_for_help(self, start: Start) -> None:
        process = start("Mover", "--help")
        output, errors = process.communicate(timeout=PATIENCE)
        assert (process.returncode, errors) == (0, "")
        assert output.startswith("usage: probe [--ros-args")
