"""Whoever is killed without notice, its agent comes to a stop, the others go on, and the bag is kept."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: install pe-ros[ros]")

from pe_ros.bag.reader import BagReader
from pe_ros.bag.repair import repair_bag
from pe_ros.conversions import nanoseconds
from pe_ros.msg import Action, EngagementState
from pe_sim.timing import NANOSECONDS

from .processes import FAR, is_stop, listening, processes, speed

pytestmark = pytest.mark.ros

WATCHDOG = 3 * NANOSECONDS // 10
"""Of kinematic_3v1's pursuers: an action is valid for 200 ms, and two decision periods of 50 ms pass."""

HELD = {**FAR, "roles.pursuer.action.on_expiry": "hold", "roles.evader.action.on_expiry": "stop"}
"""The pursuer flies on for ever with its last command: only its gate can stop it. The evader stops by itself."""


def test_killed_sensors_policy_agent_and_recorder(ros_domain: int, tmp_path: Path) -> None:
    with processes(tmp_path, overrides=HELD) as started, listening() as listener:
        states, events = listener.states(), listener.safety_events("pursuer_0")
        actions, commands = listener.actions("pursuer_0"), listener.commands("pursuer_0")
        evader = listener.actions("evader_0")
        flown = {agent: listener.odometry(agent) for agent in ("pursuer_0", "evader_0")}
        recorder = started.start("recorder_node", directory=str(tmp_path / "bag"))
        started.start("gate_node", name="pursuer_0_gate", agent="pursuer_0")
        policy = started.start("policy_node", name="pursuer_0_policy", agent="pursuer_0")
        sensors = started.start("sensor_node", name="pursuer_0_sensors", agent="pursuer_0")
        agent = started.start("agent_node", agent="evader_0")
        sim = started.start("sim_node", recorder="recorder")
        for ear in flown.values():
            ear.wait(lambda message: speed(message) > 5.0)

        sensors.kill()
        blind = events.wait(lambda one: one.gate & Action.GATE_WATCHDOG)
        assert "decided on nothing newer than 1.0" in blind.message
        flown["pursuer_0"].wait(lambda message: speed(message) < 0.01, "standstill of the blind", later=True)
        actions.wait(later=True)  # its policy has not noticed
        started.start("sensor_node", name="pursuer_0_sensors", agent="pursuer_0")
        flown["pursuer_0"].wait(lambda message: speed(message) > 5.0, "motion with new sensors", later=True)

        for ear in (events, commands):
            ear.forget()
        policy.kill()
        stop = commands.wait(is_stop)
        last = nanoseconds(actions.messages[-1].effective)
        assert stop.gate & Action.GATE_WATCHDOG
        assert WATCHDOG <= nanoseconds(stop.header.stamp) - last < WATCHDOG + NANOSECONDS
        event = events.wait(lambda one: one.gate & Action.GATE_WATCHDOG)
        assert (event.agent, event.rule) == ("pursuer_0", "watchdog")
        assert "no action for 0.30 s" in event.message
        flown["pursuer_0"].wait(lambda message: speed(message) < 0.01, "standstill", later=True)
        evader.wait(later=True)
        assert speed(flown["evader_0"].messages[-1]) > 5.0
        assert states.messages[-1].phase == EngagementState.PHASE_RUNNING

        agent.kill()
        flown["evader_0"].wait(lambda message: speed(message) < 0.01, "standstill by the world's expiry", later=True)

        killed_at = time.time_ns()
        recorder.kill()
        states.wait(lambda state: state.phase == EngagementState.PHASE_RUNNING, later=True)
        assert sim.popen.poll() is None
        repair_bag(tmp_path / "bag")
    odometry = BagReader(tmp_path / "bag").messages(["/pursuer_0/odom"])
    kept = [nanoseconds(one.message.header.stamp) for one in odometry]
    assert kept[-1] > killed_at - NANOSECONDS
    assert max(after - before for before, after in pairwise(kept)) <= NANOSECONDS // 20  # none is missing before that
