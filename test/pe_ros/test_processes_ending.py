"""Every node process, told to end in flight, ends cleanly within five seconds, and its agent is stopped."""

from __future__ import annotations

import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: install pe-ros[ros]")

from pe_ros.bag.reader import BagReader
from pe_ros.msg import EngagementState

from .conftest import CONFIG
from .processes import PROGRAM, is_stop, listening, processes, speed

pytestmark = pytest.mark.ros

SIGNALS = [signal.SIGINT, signal.SIGTERM]


@pytest.mark.parametrize("number", SIGNALS)
def test_each_node_of_a_running_engagement(ros_domain: int, tmp_path: Path, number: signal.Signals) -> None:
    with processes(tmp_path) as started, listening() as listener:
        states = listener.states()
        pursuer, evader = listener.commands("pursuer_0"), listener.commands("evader_0")
        flown = {agent: listener.odometry(agent) for agent in ("pursuer_0", "evader_0")}
        recorder = started.start("recorder_node", directory=str(tmp_path / "bag"))
        own = {"agent": "pursuer_0"}
        gate = started.start("gate_node", name="pursuer_0_gate", **own)
        policy = started.start("policy_node", name="pursuer_0_policy", **own)
        sensors = started.start("sensor_node", name="pursuer_0_sensors", **own)
        agent = started.start("agent_node", agent="evader_0")
        sim = started.start("sim_node", recorder="recorder")
        states.wait(lambda state: state.phase == EngagementState.PHASE_RUNNING)
        for ear in flown.values():
            ear.wait(lambda message: speed(message) > 2.0)

        policy.end(number)
        pursuer.wait(is_stop, "the stop after the policy's end")
        sensors.end(number)
        gate.end(number)
        agent.end(number)
        evader.wait(is_stop, "the stop of the agent process")
        for name, ear in flown.items():
            ear.wait(lambda message: speed(message) < 0.1, f"standstill of {name}", later=True)
        sim.end(number)
        states.wait(lambda state: state.phase == EngagementState.PHASE_STOPPED)
        recorder.end(number)
    assert any(is_stop(one.message) for one in BagReader(tmp_path / "bag").messages(["/evader_0/command"]))


ROOT = Path(__file__).resolve().parents[2]
EXECUTABLES = (
    "recorder_node", "gate_node", "policy_node", "sensor_node", "agent_node", "sim_node", "referee_node", "pe-ros",
)  # fmt: skip


@pytest.fixture
def executable(tmp_path: Path) -> Callable[[str], Path]:
    """Makes the file that an installation has for an executable."""
    template = (ROOT / "build_support" / "executable.in").read_text()

    def make(name: str) -> Path:
        module = "cli" if name == "pe-ros" else name
        path = tmp_path / name
        path.write_text(template.replace("@NODE_PYTHON@", sys.executable).replace("@MODULE@", f"pe_ros.{module}"))
        path.chmod(0o755)
        return path

    return make


@pytest.mark.parametrize("seed", [1, 2])
def test_at_any_moment_of_starting(
    ros_domain: int, tmp_path: Path, executable: Callable[[str], Path], seed: int
) -> None:
    draw = random.Random(seed)
    file = str(CONFIG / "kinematic_3v1.yaml")
    common = ["--ros-args", "-p", f"engagement:={file}"]
    special = {"pe-ros": ["engage", file], "recorder_node": ["--ros-args", "-p", f"directory:={tmp_path / 'bag'}"]}
    with processes(tmp_path) as started:
        begun = {}
        for name in EXECUTABLES:
            agent = ["-p", "agent:=pursuer_0"] if name.startswith(("gate", "policy", "sensor", "agent")) else []
            begun[name] = started.run([str(executable(name)), *special.get(name, [*common, *agent])])
        waits = sorted((draw.choice([0.1, 6.0]) * draw.random(), name) for name in EXECUTABLES)
        passed = 0.0
        for wait, name in waits:
            time.sleep(wait - passed)
            passed = wait
            begun[name].popen.send_signal(draw.choice(SIGNALS))
        for name, process in begun.items():
            assert (process.wait(), "Traceback" in process.output) == (0, False), f"{name}:\n{process.output}"


def test_an_engagement_in_one_process_stops_its_agents_and_keeps_its_bag(ros_domain: int, tmp_path: Path) -> None:
    with processes(tmp_path) as started, listening() as listener:
        command = listener.commands("evader_0")
        file = str(CONFIG / "kinematic_3v1.yaml")
        engage = started.run([sys.executable, "-c", PROGRAM.format("cli"), "engage", file, "--record", "bag"])
        command.wait(lambda one: not is_stop(one))
        engage.end(signal.SIGTERM)
        command.wait(is_stop)
    assert "stopped" in engage.output, engage.output
    last = list(BagReader(tmp_path / "bag").messages(["/evader_0/command"]))[-1]
    assert is_stop(last.message)
