"""An episode starts when every node of every agent is ready for it, and nothing else is missing."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: install pe-ros[ros]")

from pe_ros import readiness
from pe_ros.agent_lifecycle import NO_EPISODE
from pe_ros.msg import AgentStatus
from pe_ros.readiness import SETTLING, Readiness

NODES = ("hawk_0_gate", "hawk_0_policy", "hawk_0_sensors")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time that readiness sees [s], in a list of one."""
    now = [100.0]
    monkeypatch.setattr(readiness.time, "monotonic", lambda: now[0])
    return now


def status(node: str, state: int = AgentStatus.STATE_ACTIVE, message: str = "") -> AgentStatus:
    return AgentStatus(node=node, state=state, message=message)


def waiting(*conditions: object) -> Readiness:
    made = Readiness(["hawk_0"], conditions)  # type: ignore[arg-type]
    made.begin()
    return made


def test_all_nodes_have_to_be_active_in_the_episode(clock: list[float]) -> None:
    ready = waiting()
    for node in NODES:
        assert node in ready.missing()
        ready.hear(status(node, AgentStatus.STATE_INACTIVE), again=False)
        ready.hear(status(node, message=NO_EPISODE), again=False)
        assert node in ready.missing()
        stopped = node == "hawk_0_gate"  # a latched stop does not keep the episode from starting
        ready.hear(status(node, AgentStatus.STATE_STOPPED if stopped else AgentStatus.STATE_ACTIVE), again=False)
    assert ready.missing() == ""


def test_a_fault_is_told_and_counts_also_after_the_node_was_ready(clock: list[float]) -> None:
    ready = waiting()
    for node in NODES:
        ready.hear(status(node), again=False)
    ready.hear(status(NODES[1], AgentStatus.STATE_FAULT, "no wings"), again=False)
    assert ready.missing() == "hawk_0_policy says: no wings"
    ready.hear(status("owl_0_policy", AgentStatus.STATE_FAULT, "is not of this engagement"), again=False)
    assert ready.missing() == "hawk_0_policy says: no wings"
    ready.hear(status(NODES[1]), again=False)
    assert ready.missing() == ""


def test_other_conditions_come_after_the_nodes(clock: list[float]) -> None:
    missing = ["no clock"]
    ready = waiting(lambda: "", lambda: missing[0])
    assert "no word from" in ready.missing()
    for node in NODES:
        ready.hear(status(node), again=False)
    assert ready.missing() == "no clock"
    missing[0] = ""
    assert ready.missing() == ""


def test_of_an_episode_anew_the_first_words_may_be_of_the_time_before(clock: list[float]) -> None:
    ready = waiting()
    for node in NODES:
        ready.hear(status(node), again=True)
    assert ready.missing()
    clock[0] += SETTLING
    for node in NODES:
        ready.hear(status(node), again=True)
    assert ready.missing() == ""


def test_what_is_missing_is_told_once_per_limit(clock: list[float]) -> None:
    ready = waiting()
    assert ready.overdue(30.0) == ""
    clock[0] += 30.5
    assert ready.overdue(30.0) == ready.missing() != ""
    assert ready.overdue(30.0) == ""
    clock[0] += 30.5
    assert ready.overdue(30.0)
