"""A simulated engagement under the upstream `ros2 launch`: real processes, to the outcome, to the bit, to the end."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: install pe-ros[ros]")

from rosbags.highlevel import AnyReader

from pe_ros.bag.reader import BagReader
from pe_ros.launch_arguments import PURSUIT_SIM
from pe_sim.engagement import load
from pe_sim.evaluation.rollout import rollout
from test.pe_ros.conftest import CONFIG
from test.pe_ros.processes import END_LIMIT, Process, Processes, is_stop, listening, speed, wait_until

from .conftest import Ros2

pytestmark = [pytest.mark.ros, pytest.mark.timeout(240)]

LAUNCH = ("launch", "pe_ros", "pursuit_sim.launch.py")


def last_states(bag: Path, topic: str) -> list[Any]:
    """Return the states of a bag that tell of a trajectory, as a reader that knows nothing of pe_ros finds them."""
    with AnyReader([bag]) as reader:
        connections = [one for one in reader.connections if one.topic == topic]
        states = [reader.deserialize(data, one.msgtype) for one, _, data in reader.messages(connections)]
    return [state for state in states if state.trajectory_sha256]


def started_processes(output: str) -> dict[str, int]:
    """Return name -> number of the processes that a launch says it has started."""
    found = re.findall(r"\[(\w+)-\d+\]: process started with pid \[(\d+)\]", output)
    return {name: int(number) for name, number in found}


def gone(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return True
    return False


def test_arguments_are_shown(ros2: Ros2) -> None:
    shown = ros2(*LAUNCH, "--show-args")
    assert shown.returncode == 0, shown.stdout
    for one in PURSUIT_SIM:
        assert f"'{one.name}':\n        {one.description}" in shown.stdout


@pytest.mark.parametrize(
    ("name", "composed"),
    [("grid_1v1", "false"), ("kinematic_3v1", "true"), ("multirate_2v2", "true"), ("fixed_wing_1v1", "true")],
)
def test_lockstep_across_processes_gives_the_trajectories_of_a_rollout(
    ros2: Ros2, tmp_path: Path, name: str, composed: str
) -> None:
    bag = tmp_path / "bag"
    settings = [f"engagement:={name}", "pace:=lockstep", "episodes:=1", "seed:=5", f"composed:={composed}"]
    done = ros2(*LAUNCH, *settings, f"record:={bag}", "namespace:=arena")
    assert done.returncode == 0, done.stdout
    expected = [one.trajectory_sha256 for one in rollout(load(CONFIG / f"{name}.yaml"), 1, 5)]
    assert [state.trajectory_sha256 for state in last_states(bag, "/arena/engagement/state")] == expected
    agents = len(load(CONFIG / f"{name}.yaml").agents)
    assert len(started_processes(done.stdout)) == 2 + agents * (1 if composed == "true" else 3)


def test_real_time_to_the_outcome_with_a_bag_in_a_directory_of_its_own(ros2: Ros2, tmp_path: Path) -> None:
    overrides = "{roles.pursuer.count: 1, rules.time_limit: 2 s}"
    done = ros2(*LAUNCH, "world:=kinematic", "pace:=realtime", f"overrides:={overrides}", "record:=true")
    assert done.returncode == 0, done.stdout
    assert "episode 0: timeout after 2.00 s" in done.stdout
    (bag,) = tmp_path.glob("kinematic_3v1_20*")
    assert [state.outcome for state in last_states(bag, "/engagement/state")] == ["timeout"]
    reader = BagReader(bag)
    assert "time_limit" in reader.provenance.engagement_file
    assert reader.provenance.policies.keys() == {"pursuer_0", "evader_0"}
    speeds = [speed(one.message) for one in reader.messages(["/pursuer_0/odom"])]
    assert max(speeds) > 5.0
    assert "Traceback" not in done.stdout


def test_fixed_wing_in_real_time(ros2: Ros2, tmp_path: Path) -> None:
    bag, overrides = tmp_path / "bag", "{rules.time_limit: 2 s}"
    done = ros2(*LAUNCH, "world:=fixed_wing", f"overrides:={overrides}", f"record:={bag}")
    assert done.returncode == 0, done.stdout
    assert "episode 0: timeout after 2.00 s" in done.stdout
    agents = load(CONFIG / "fixed_wing_1v1.yaml").agents
    for agent in agents:
        speeds = [speed(one.message) for one in BagReader(bag).messages([f"/{agent}/odom"])]
        assert min(speeds) > 100.0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_told_to_end_it_ends_its_nodes_which_stop_their_agents(
    start: Processes, tmp_path: Path, number: signal.Signals
) -> None:
    with listening(namespace="arena") as listener:
        odometry, command = listener.odometry("evader_0"), listener.commands("evader_0")
        overrides = "{roles.pursuer.count: 1}"
        bag = tmp_path / "bag"
        settings = [f"overrides:={overrides}", "episodes:=0", f"record:={bag}", "namespace:=arena"]
        launch = start.run(["ros2", *LAUNCH, *settings])
        odometry.wait(lambda message: speed(message) > 2.0)
        processes = started_processes(launch.output)
        assert processes.keys() == {"recorder", "pursuer_0", "evader_0", "sim"}
        command.forget()
        launch.end(number)
        command.wait(is_stop)
    assert all(gone(process) for process in processes.values())
    assert launch.output.count("process has finished cleanly") == len(processes), launch.output
    for agent in ("pursuer_0", "evader_0"):
        recorded = list(BagReader(bag).messages([f"/arena/{agent}/command"]))
        assert is_stop(recorded[-1].message)


def test_killed_its_nodes_end_by_themselves(start: Processes) -> None:
    launch = start.run(["ros2", *LAUNCH, "world:=grid", "begin:=false"])
    wait_until(lambda: len(started_processes(launch.output)) == 3, why=lambda: launch.output)
    processes = started_processes(launch.output)
    launch.kill()
    began = time.monotonic()
    wait_until(lambda: all(gone(process) for process in processes.values()), why="the nodes live on")
    assert time.monotonic() - began < 2 * END_LIMIT  # they may have been starting


def test_a_killed_agent_lets_the_others_go_on_and_shows_in_the_exit_code(start: Processes) -> None:
    with listening() as listener:
        odometry = {agent: listener.odometry(agent) for agent in ("pursuer_0", "evader_0")}
        overrides = "{roles.pursuer.count: 1, rules.time_limit: 6 s, rules.capture.radius: 0.1}"
        launch = start.run(["ros2", *LAUNCH, f"overrides:={overrides}"])
        odometry["pursuer_0"].wait(lambda message: speed(message) > 2.0)
        os.kill(started_processes(launch.output)["pursuer_0"], signal.SIGKILL)
        odometry["pursuer_0"].wait(lambda message: speed(message) < 0.01, "standstill", later=True)
        odometry["evader_0"].wait(later=True)
        launch.says("pursuer_0 has ended with signal SIGKILL; the others go on")
        assert launch.wait() == 1
    assert "episode 0: timeout" in launch.output


def refusal(launch: Process) -> str:
    assert launch.wait() == 1, launch.output
    return launch.output


def test_wrong_arguments_are_refused(start: Processes, tmp_path: Path) -> None:
    (tmp_path / "bag").mkdir()
    wrong = {
        "enagement:=grid_1v1": "no such argument (got 'enagement'); did you mean 'engagement'?",
        "engagement:=grid_1v2": "did you mean 'grid_1v1'?",
        "realtime_factor:=-3": "parameter realtime_factor of sim: must be at least 0.01 (got -3.0)",
        f"record:={tmp_path / 'bag'}": "exists already",
    }
    launches = {argument: start.run(["ros2", *LAUNCH, argument]) for argument in wrong}
    for argument, message in wrong.items():
        output = refusal(launches[argument])
        assert message in output
        assert "Traceback" not in output


def test_a_node_alone_by_ros2_run(ros2: Ros2) -> None:
    refused = ros2("run", "pe_ros", "sim_node", "--ros-args", "-p", "engagment:=grid_1v1")
    assert refused.returncode == 2
    assert "parameter engagment of sim: no such parameter; did you mean 'engagement'?" in refused.stdout
    missing = ros2("run", "pe_ros", "sim_nod")
    assert missing.returncode != 0
    assert "No executable found" in missing.stdout
