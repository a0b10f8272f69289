"""Nothing moves before it is activated; whoever is deactivated stops; the services start, stop and reset."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: install pe-ros[ros]")

from lifecycle_msgs.msg import Transition

from pe_ros.msg import Action, AgentStatus, EngagementState

from .processes import Ear, is_stop, listening, processes, speed

pytestmark = pytest.mark.ros

NODES = ("pursuer_0_sensors", "pursuer_0_policy", "pursuer_0_gate")
READY, RUNNING, STOPPED = (
    EngagementState.PHASE_READY, EngagementState.PHASE_RUNNING, EngagementState.PHASE_STOPPED,
)  # fmt: skip


def moves(ear: Ear) -> None:
    ear.wait(lambda message: speed(message) > 2.0, "motion", later=True)


def stands(ear: Ear) -> None:
    ear.wait(lambda message: speed(message) < 0.01, "standstill", later=True)


def test_lifecycle(ros_domain: int, tmp_path: Path) -> None:
    with processes(tmp_path) as started, listening() as listener:
        states, odometry = listener.states(), listener.odometry("pursuer_0")
        actions, commands = listener.actions("pursuer_0"), listener.commands("pursuer_0")
        own = {"agent": "pursuer_0", "autostart": False}
        for name, executable in zip(NODES, ("sensor_node", "policy_node", "gate_node"), strict=True):
            started.start(executable, name=name, **own)
        started.start("agent_node", agent="evader_0")
        sim = started.start("sim_node", ready_limit=1.0)
        sim.says("no word from pursuer_0_gate, pursuer_0_policy, pursuer_0_sensors")

        for node in NODES:
            assert listener.change_state(node, Transition.TRANSITION_CONFIGURE)
            assert not listener.change_state(node, Transition.TRANSITION_DEACTIVATE)  # it is not active
        for node in NODES[:2]:
            assert listener.change_state(node, Transition.TRANSITION_ACTIVATE)
        states.forget()
        for _ in range(5):
            states.wait(later=True)
        assert {state.phase for state in states.messages} == {READY}
        assert not actions.messages
        assert not commands.messages

        assert listener.change_state("pursuer_0_gate", Transition.TRANSITION_ACTIVATE)
        states.wait(lambda state: state.phase == RUNNING)
        moves(odometry)

        assert listener.change_state("pursuer_0_gate", Transition.TRANSITION_DEACTIVATE)
        stands(odometry)
        assert is_stop(commands.messages[-1])
        actions.wait(later=True)
        count = len(commands.messages)
        actions.wait(later=True)
        assert len(commands.messages) == count, "a command of a gate that is not active"
        assert listener.change_state("pursuer_0_gate", Transition.TRANSITION_ACTIVATE)
        moves(odometry)

        assert listener.change_state("pursuer_0_policy", Transition.TRANSITION_DEACTIVATE)
        stands(odometry)
        assert commands.messages[-1].gate & Action.GATE_WATCHDOG
        assert listener.change_state("pursuer_0_policy", Transition.TRANSITION_CLEANUP)
        assert listener.change_state("pursuer_0_policy", Transition.TRANSITION_CONFIGURE)
        assert listener.change_state("pursuer_0_policy", Transition.TRANSITION_ACTIVATE)
        moves(odometry)

        assert listener.change_state("pursuer_0_gate", Transition.TRANSITION_ACTIVE_SHUTDOWN)
        stands(odometry)


def test_services(ros_domain: int, tmp_path: Path) -> None:
    with processes(tmp_path) as started, listening() as listener:
        states, odometry = listener.states(), listener.odometry("pursuer_0")
        actions, commands = listener.actions("pursuer_0"), listener.commands("pursuer_0")
        events = listener.safety_events("pursuer_0")
        statuses = {agent: listener.statuses(agent) for agent in ("pursuer_0", "evader_0")}
        for agent in statuses:
            started.start("agent_node", agent=agent)
        started.start("sim_node", begin=False, episodes=0)

        assert not listener.trigger("engagement/stop").success
        states.wait()
        assert {state.phase for state in states.messages} == {EngagementState.PHASE_IDLE}
        assert listener.trigger("engagement/start").success
        assert not listener.trigger("engagement/start").success  # it is under way
        moves(odometry)

        commands.forget()
        assert listener.trigger("pursuer_0/stop").success
        stands(odometry)
        assert events.wait(lambda event: event.gate & Action.GATE_STOP_LATCHED).rule == "latched stop"
        assert is_stop(commands.wait(lambda one: one.gate & Action.GATE_STOP_LATCHED))
        assert listener.trigger("pursuer_0/release").success
        assert not listener.trigger("pursuer_0/release").success  # it was not stopped
        moves(odometry)

        before = states.messages[-1]
        for ear in (states, actions):
            ear.forget()
        assert listener.trigger("engagement/reset").success
        again = states.wait(lambda state: state.phase == RUNNING and state.start != before.start)
        assert (before.episode, again.episode) == (0, 0)
        actions.wait(lambda one: (one.episode, one.sequence) == (0, 0), "decision 0 of the episode anew")
        moves(odometry)

        states.forget()
        assert listener.trigger("engagement/stop").success
        assert states.wait(lambda state: state.phase == STOPPED).outcome == "stopped"
        assert listener.trigger("engagement/start").success
        states.wait(lambda state: state.phase == RUNNING and state.episode == 1)
        moves(odometry)

        assert listener.trigger("engagement/stop_all").success
        states.wait(lambda state: (state.phase, state.episode) == (STOPPED, 1))
        for agent, ear in statuses.items():
            gate = f"{agent}_gate"
            ear.wait(lambda one, gate=gate: (one.node, one.state) == (gate, AgentStatus.STATE_STOPPED), later=True)
