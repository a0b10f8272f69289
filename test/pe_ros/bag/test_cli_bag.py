from __future__ import annotations

import json
from array import array

import numpy as np
import pytest

pytest.importorskip("pe_ros.msg", reason="the messages are not built")

from rclpy.serialization import serialize_message
from typer.testing import CliRunner

from pe_ros.bag.info import Spread, summarise
from pe_ros.bag.provenance import Provenance
from pe_ros.bag.sequences import Gap, SequenceCheck
from pe_ros.bag.writer import BagWriter
from pe_ros.cli_bag import bag_app
from pe_ros.msg import Action, EngagementState, Observation

MS = 10**6


def run(*arguments):
    return CliRunner().invoke(bag_app, [str(a) for a in arguments])


@pytest.fixture
def engagement_bag(tmp_path):
    """Readings 0-9 without 3, 4 and 7; ten decisions, the k-th on a reading k ms old, in effect 5 ms later."""
    provenance = Provenance(engagement="three on one", engagement_sha256="ef" * 32, seed=7, policies={"p": "ab" * 32})
    with BagWriter(tmp_path / "bag", provenance) as writer:
        writer.add_topic("/p/observation/radar", "pe_ros/msg/Observation")
        for role in ("action", "command", "applied"):
            writer.add_topic(f"/p/{role}", "pe_ros/msg/Action")
        writer.add_topic("/engagement/state", "pe_ros/msg/EngagementState")
        for k in range(10):
            if k not in {3, 4, 7}:
                reading = Observation(agent="p", sensor="radar", episode=1, sequence=k, dropped=k == 9)
                writer.write("/p/observation/radar", k * 50 * MS, k * 50 * MS, serialize_message(reading))
            for role in ("action", "command", "applied"):
                action = decision(k)
                action.gate = Action.GATE_CLIPPED if role == "command" and k < 4 else 0
                writer.write(f"/p/{role}", k * 50 * MS, k * 50 * MS, serialize_message(action))
        state = EngagementState(
            episode=1, phase=EngagementState.PHASE_ENDED, outcome="capture", trajectory_sha256="12" * 32
        )
        state.elapsed.sec = 3
        writer.write("/engagement/state", 500 * MS, 500 * MS, serialize_message(state))
    return tmp_path / "bag"


def decision(k: int) -> Action:
    action = Action(agent="p", sequence=k, sensors=["odom", "radar"], policy_sha256="ab" * 32)
    action.header.stamp.sec = 100
    action.effective.sec, action.effective.nanosec = 100, 5 * MS
    action.inference_time.nanosec = 2 * MS
    old, never = Observation().header.stamp, Observation().header.stamp
    old.sec, old.nanosec = (100, 0) if k == 0 else (99, 10**9 - k * MS)
    never.sec = 100
    action.observation_stamps = [old, never]
    action.observation_sequences = [k, -1]
    return action


def test_summary_counts_what_is_there_and_what_is_not(engagement_bag):
    info = summarise(engagement_bag)
    check = info.sensors["p", "radar"]
    assert (check.readings, check.missing, check.out_of_order, check.lost_on_the_way) == (7, 3, 0, 1)
    assert check.gaps == [Gap(1, 3, 2), Gap(1, 7, 1)]
    agent = info.agents["p"]
    assert (agent.decisions, agent.commands, agent.interventions, agent.applied) == (10, 10, 4, 10)
    np.testing.assert_allclose(agent.ages, np.arange(10) * 1e-3, atol=1e-12)
    np.testing.assert_allclose(agent.delays, 5e-3)
    np.testing.assert_allclose(agent.inference, 2e-3)
    assert info.topics["/p/action"].rate == pytest.approx(20.0)
    assert info.episodes[1].outcome == "capture"
    assert info.provenance.engagement == "three on one"


def test_decision_before_any_reading_has_no_age(tmp_path):
    with BagWriter(tmp_path / "bag") as writer:
        writer.add_topic("/p/action", "pe_ros/msg/Action")
        action = decision(0)
        action.observation_sequences = [-1, -1]
        writer.write("/p/action", 0, 0, serialize_message(action))
    agent = summarise(tmp_path / "bag").agents["p"]
    assert (agent.decisions, agent.without_reading, len(agent.ages)) == (1, 1, 0)


def test_json_holds_the_same(engagement_bag):
    result = run("info", engagement_bag, "--json")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["messages"] == 38
    assert document["sensors"][0]["gaps"] == [
        {"episode": 1, "first": 3, "count": 2},
        {"episode": 1, "first": 7, "count": 1},
    ]
    assert document["agents"][0]["delay"] == {"median": 0.005, "p99": 0.005, "largest": 0.005}
    assert document["provenance"]["policies"] == {"p": "ab" * 32}
    assert document["episodes"] == [
        {"episode": 1, "outcome": "capture", "elapsed": 3.0, "trajectory_sha256": "12" * 32}
    ]


def test_tables_show_it(engagement_bag):
    result = run("info", engagement_bag)
    assert result.exit_code == 0
    for expected in ("three on one", "capture", "radar", "/p/action", "complete", "age of reading [ms]", "elapsed [s]"):
        assert expected in result.stdout


def test_bag_without_our_messages_is_shown(make_bag):
    result = run("info", make_bag(count=5))
    assert result.exit_code == 0
    assert "std_msgs/msg/String" in result.stdout
    assert "decisions" not in result.stdout


@pytest.mark.parametrize("state", ["missing", "file", "empty directory", "damaged", "no file", "not mcap"])
def test_what_cannot_be_shown_is_one_line_that_says_what_to_do(make_bag, tmp_path, state):
    bag = tmp_path / "bag"
    expected = {
        "missing": "does not exist",
        "file": "is not a directory",
        "empty directory": "has no metadata.yaml",
        "damaged": f"run: pe-ros bag repair {bag}",
        "no file": "has no bag_0.mcap, which its metadata names",
        "not mcap": f"run: pe-ros bag repair {bag}",
    }[state]
    if state == "file":
        bag.write_text("")
    elif state == "empty directory":
        bag.mkdir()
    elif state != "missing":
        file = make_bag() / "bag_0.mcap"
        data = file.read_bytes()
        file.unlink()
        if state != "no file":
            file.write_bytes(data[:1000] if state == "damaged" else b"hello")
    result = run("info", bag)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert len(result.stderr.strip().splitlines()) == 1
    assert expected in result.stderr


def test_repair_tells_what_it_did(make_bag):
    bag = make_bag(count=50)
    assert "healthy, 50 messages; nothing to do" in run("repair", bag).stdout
    file = bag / "bag_0.mcap"
    file.write_bytes(file.read_bytes()[:2500])
    result = run("repair", bag, "--keep-damaged")
    assert result.exit_code == 0
    assert "chunk cut off" in result.stdout
    assert f"{bag}: recovered" in result.stdout
    assert (bag / "bag_0.mcap.damaged").stat().st_size == 2500
    assert "nothing to do" in run("repair", bag).stdout


def test_repair_of_what_is_no_bag_is_one_line(tmp_path):
    result = run("repair", tmp_path)
    assert result.exit_code == 2
    assert len(result.stderr.strip().splitlines()) == 1


def test_sequences_start_anew_in_each_episode():
    check = SequenceCheck()
    for episode, numbers in ((0, (0, 1, 2)), (1, (1, 2, 2, 5)), (2, (0,))):
        for number in numbers:
            check.count(episode, number, dropped=False)
    assert (check.readings, check.episodes, check.missing, check.out_of_order) == (8, 3, 3, 1)
    assert check.gaps == [Gap(1, 0, 1), Gap(1, 3, 2)]


def test_spread_of_nothing_is_nothing():
    assert Spread.of(array("d")) is None
