"""What people get wrong is said in words that name it: nothing stays silent, and nothing starts that should not."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: install pe-ros[ros]")

from pe_ros import qos
from pe_ros.msg import EngagementState
from pe_ros.topics import ENGAGEMENT_STATE
from pe_sim.engagement import load

from .conftest import CONFIG
from .processes import FAR, listening, processes

pytestmark = pytest.mark.ros


def test_who_is_missing_differs_or_is_twice_there_is_named_and_holds_up_the_start(
    ros_domain: int, tmp_path: Path
) -> None:
    with processes(tmp_path) as started, listening() as listener:
        states = listener.states()
        sim = started.start("sim_node", ready_limit=0.5)
        sim.says("episode 0 cannot start: no word from evader_0_gate, evader_0_policy, evader_0_sensors, pursuer_0_")

        wrong = started.start("agent_node", agent="pursuer_0", overrides='{"rules.time_limit": "7 s"}')
        says = "the referee runs kinematic_3v1 with another content than this node's file"
        wrong.says(f"{says}; start all nodes with one file")
        sim.says(f"pursuer_0_gate says: {says}")
        wrong.popen.terminate()

        rivals = [started.start("agent_node", agent="pursuer_0") for _ in range(2)]
        twice = "2 publishers on /pursuer_0/action, where there must be one: /pursuer_0_policy, /pursuer_0_policy"
        for rival in rivals:
            rival.says(twice)
        sim.says(f"pursuer_0_gate says: {twice}")
        assert all(state.phase != EngagementState.PHASE_RUNNING for state in states.messages)

        rivals[1].popen.terminate()
        started.start("agent_node", agent="evader_0")
        states.wait(lambda state: state.phase == EngagementState.PHASE_RUNNING)


def test_time_that_never_comes_is_said_to_be_missing(ros_domain: int, tmp_path: Path) -> None:
    engagement = load(CONFIG / "kinematic_3v1.yaml", FAR)
    with processes(tmp_path, use_sim_time=True) as started, listening() as listener:
        state = EngagementState(
            engagement=engagement.engagement, engagement_sha256=engagement.sha256, seed=1,
            phase=EngagementState.PHASE_RUNNING, agents=list(engagement.agents),
        )  # fmt: skip
        state.start.sec = 1
        referee = listener.node.create_publisher(EngagementState, ENGAGEMENT_STATE, qos.engagement_state("realtime"))
        referee.publish(state)
        policy = started.start("policy_node", agent="pursuer_0")
        policy.says("time is simulated, but nothing comes on /clock while the episode runs")


def test_a_misspelt_parameter_is_refused_with_the_nearest_name(ros_domain: int, tmp_path: Path) -> None:
    agent = {"agent": "pursuer_0"}
    given = {
        "sim_node": ("realtime_facter", {}, "realtime_factor"),
        "referee_node": ("episode", {}, "episodes"),
        "sensor_node": ("world_fram", agent, "world_frame"),
        "policy_node": ("polcy", agent, "policy"),
        "gate_node": ("watchdg", agent, "watchdog"),
        "agent_node": ("autostrt", agent, "autostart"),
        "recorder_node": ("directry", {}, "directory"),
    }
    with processes(tmp_path) as started:
        begun = {
            executable: started.start(executable, **parameters, **{wrong: 1.5})
            for executable, (wrong, parameters, _) in given.items()
        }
        for executable, process in begun.items():
            wrong, _, right = given[executable]
            assert process.wait() == 2, process.output
            assert f"parameter {wrong} of" in process.output
            assert f"no such parameter; did you mean '{right}'?" in process.output
            assert "Traceback" not in process.output


WRONG_VALUES = [
    ("agent_node", {"agent": "pursuer_9"}, "names no agent of the engagement (got 'pursuer_9'); did you mean"),
    ("sim_node", {"engagement": "nowhere.yaml"}, "nowhere.yaml"),
    ("sim_node", {"pace": "fast"}, "parameter pace of sim: unknown value (got 'fast')"),
    ("sim_node", {"overrides": "{"}, "parameter overrides: is no JSON"),
    ("gate_node", {"agent": "pursuer_0", "watchdog": -1.0}, "parameter watchdog of gate: must be at least 0"),
    ("policy_node", {"agent": "pursuer_0", "policy": "guidance/fle"}, "did you mean 'flee'?"),
]


def test_a_wrong_value_is_refused_in_one_message(ros_domain: int, tmp_path: Path) -> None:
    with processes(tmp_path) as started:
        begun = [(started.start(executable, **given), message) for executable, given, message in WRONG_VALUES]
        for process, message in begun:
            assert process.wait() == 2, process.output
            assert message in process.output
            assert "Traceback" not in process.output
