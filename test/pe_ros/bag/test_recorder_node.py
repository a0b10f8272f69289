# ruff: noqa: E402  skipped before the imports that need ROS
from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest
import yaml

rclpy = pytest.importorskip("rclpy", reason="the recorder needs ROS: install pe-ros[ros]")
pytest.importorskip("pe_ros.msg", reason="the messages are not built")

from nav_msgs.msg import Odometry
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy, qos_profile_sensor_data
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String

from pe_ros.bag.log_time import CLOCK_TOPIC
from pe_ros.bag.reader import BagReader
from pe_ros.bag.taps import HISTORY, TopicTap
from pe_ros.msg import EngagementState, Observation, PolicyMetadata
from pe_ros.recorder_node import RecordedTopic, RecorderNode
from pe_sim.engagement import load
from pe_sim.errors import BagError, PeError

pytestmark = pytest.mark.ros

ENGAGEMENT = str(Path(__file__).parents[3] / "config" / "engagements" / "grid_1v1.yaml")
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
RELIABLE = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)


@pytest.fixture
def node(ros_environment):
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=int(ros_environment["ROS_DOMAIN_ID"]))
    made = Node("talker", context=context)
    yield made
    made.destroy_node()
    rclpy.shutdown(context=context)


@pytest.fixture
def record(node, tmp_path):
    """Make a recorder beside the talker; it is never spun, as it needs no executor."""
    recorders = []

    def make(topics=None, parameters=(), **arguments) -> RecorderNode:
        recorder = RecorderNode(
            topics,
            directory=tmp_path / "bag",
            context=node.context,
            parameter_overrides=[Parameter(name, value=value) for name, value in dict(parameters).items()],
            **arguments,
        )
        recorders.append(recorder)
        return recorder

    yield make
    for recorder in recorders:
        recorder.destroy_node()


def until(condition, timeout=30.0):
    """Wait for something that must happen; fail where it does not."""
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def heard(publisher):
    until(lambda: publisher.get_subscription_count() > 0)


def counts(directory: Path) -> dict[str, int]:
    return {topic.name: count for topic, count in BagReader(directory).metadata.counts.items()}


def test_given_topics_are_recorded_from_the_first_message(node, record, tmp_path):
    topics = [RecordedTopic("/p/odom", "nav_msgs/msg/Odometry", RELIABLE)]
    publisher = node.create_publisher(Odometry, "/p/odom", RELIABLE)
    recorder = record(topics)
    heard(publisher)
    sent = [Odometry(child_frame_id=f"{i}") for i in range(500)]
    for message in sent:
        publisher.publish(message)
    recorder.destroy_node()
    found = list(BagReader(tmp_path / "bag").messages())
    assert [m.message.child_frame_id for m in found] == [f"{i}" for i in range(500)]
    assert [m.sequence for m in found] == list(range(1, 501))
    assert all(m.publish_time <= m.log_time for m in found)


def test_topics_are_found_and_their_qualities_of_service_met(node, record, tmp_path):
    best_effort = node.create_publisher(Observation, "/p/observation/radar", qos_profile_sensor_data)
    latched = node.create_publisher(PolicyMetadata, "/p/policy_metadata", LATCHED)
    latched.publish(PolicyMetadata(agent="p", policy_sha256="ab" * 32))
    hidden = node.create_publisher(String, "/_hidden", RELIABLE)
    recorder = record(parameters={"exclude": ["/rosout", "/parameter_.*"]})
    late = node.create_publisher(String, "/late", RELIABLE)
    for publisher in (best_effort, latched, late):
        heard(publisher)
    best_effort.publish(Observation(agent="p", sensor="radar"))
    late.publish(String(data="x"))
    hidden.publish(String(data="x"))
    until(lambda: recorder.written == 3)
    recorder.destroy_node()
    assert counts(tmp_path / "bag") == {"/p/observation/radar": 1, "/p/policy_metadata": 1, "/late": 1}
    offered = {t.name: t.offered_qos[0] for t in BagReader(tmp_path / "bag").metadata.counts}
    assert offered["/p/observation/radar"].reliability == "best_effort"
    assert offered["/p/policy_metadata"].durability == "transient_local"
    assert BagReader(tmp_path / "bag").provenance.policies == {"p": "ab" * 32}


def test_reliable_subscription_gives_way_to_a_best_effort_publisher(node, record, tmp_path):
    recorder = record([RecordedTopic("/a", "std_msgs/msg/String", RELIABLE)])
    publisher = node.create_publisher(String, "/a", qos_profile_sensor_data)
    heard(publisher)
    publisher.publish(String(data="heard"))
    until(lambda: recorder.written == 1)
    recorder.destroy_node()
    assert counts(tmp_path / "bag") == {"/a": 1}


def test_only_the_namespace_is_recorded(node, record, tmp_path):
    inside = node.create_publisher(String, "/team/a", RELIABLE)
    outside = node.create_publisher(String, "/other/a", RELIABLE)
    recorder = record(namespace="/team")
    heard(inside)
    inside.publish(String(data="x"))
    outside.publish(String(data="x"))
    until(lambda: recorder.written == 1)
    recorder.destroy_node()
    assert counts(tmp_path / "bag") == {"/team/a": 1}


def test_names_are_resolved_and_remapped_once(node, record, tmp_path):
    publisher = node.create_publisher(String, "/robot/odometry", RELIABLE)
    arguments = ["--ros-args", "-r", "odom:=/robot/odometry", "-r", "/robot/odometry:=/wrong"]
    recorder = record([RecordedTopic("odom", "std_msgs/msg/String", RELIABLE)], namespace="/p", cli_args=arguments)
    heard(publisher)
    publisher.publish(String(data="x"))
    until(lambda: recorder.written == 1)
    recorder.destroy_node()
    assert counts(tmp_path / "bag") == {"/robot/odometry": 1}


def test_engagement_seed_and_policies_are_learnt_from_the_graph(node, record, tmp_path):
    state = node.create_publisher(EngagementState, "/renamed/state", LATCHED)
    policy = node.create_publisher(PolicyMetadata, "/p/policy_metadata", LATCHED)
    recorder = record()
    for publisher in (state, policy):
        heard(publisher)
    state.publish(EngagementState(engagement="three on one", engagement_sha256="cd" * 32, seed=2**64 - 1))
    policy.publish(PolicyMetadata(agent="p", policy_sha256="ab" * 32))
    until(lambda: recorder.written >= 2)
    recorder.destroy_node()
    known = BagReader(tmp_path / "bag").provenance
    assert (known.engagement, known.engagement_sha256, known.seed) == ("three on one", "cd" * 32, 2**64 - 1)
    assert known.policies == {"p": "ab" * 32}
    assert known.clock == "system"


@pytest.mark.parametrize(("simulated", "parameters"), [(None, {"use_sim_time": True}), (True, {})])
def test_log_times_are_simulated_times(node, record, tmp_path, simulated, parameters):
    clock = node.create_publisher(Clock, CLOCK_TOPIC, QoSProfile(depth=1000))
    publisher = node.create_publisher(String, "/a", RELIABLE)
    topics = [RecordedTopic("/a", "std_msgs/msg/String", RELIABLE)]
    recorder = record(topics, simulated=simulated, parameters=parameters)
    for each in (clock, publisher):
        heard(each)
    publisher.publish(String(data="before"))
    for second in range(5, 25):
        message = Clock()
        message.clock.sec = second
        clock.publish(message)
        time.sleep(0.002)  # a message and a tick are ordered by their arrival
        publisher.publish(String(data=str(second)))
        time.sleep(0.002)
    recorder.destroy_node()
    found = [(m.message.data, m.log_time) for m in BagReader(tmp_path / "bag").messages(topics=["/a"])]
    assert found == [("before", 5 * 10**9)] + [(str(second), second * 10**9) for second in range(5, 25)]
    assert BagReader(tmp_path / "bag").provenance.clock == "simulated"


def test_spinning_the_recorder_takes_nothing_from_it(node, record, tmp_path):
    publisher = node.create_publisher(String, "/a", RELIABLE)
    recorder = record([RecordedTopic("/a", "std_msgs/msg/String", RELIABLE)])
    executor = rclpy.executors.SingleThreadedExecutor(context=node.context)
    executor.add_node(recorder)
    spinning = threading.Thread(target=executor.spin)
    spinning.start()
    heard(publisher)
    for i in range(200):
        publisher.publish(String(data=str(i)))
    until(lambda: recorder.written == 200)
    executor.shutdown()
    spinning.join(10)
    recorder.destroy_node()
    assert [m.message.data for m in BagReader(tmp_path / "bag").messages()] == [str(i) for i in range(200)]


def test_existing_directory_is_refused_and_the_node_is_gone(node, record, tmp_path):
    (tmp_path / "bag").mkdir()
    with pytest.raises(BagError, match="exists already"):
        record()
    assert "recorder" not in node.get_node_names()


def test_unknown_type_is_refused_before_anything_is_created(node, record, tmp_path):
    with pytest.raises(BagError, match="'no_such_msgs' is not installed"):
        record([RecordedTopic("/a", "no_such_msgs/msg/Thing")])
    assert not (tmp_path / "bag").exists()


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("flush_period", 2.0, "must be at most 1"),
        ("flush_period", "soon", "must be of type float"),
        ("max_queue", 5, "must be at least 100"),
        ("max_queue", 1.5, "must be of type int"),
        ("compression", "gzip", "unknown value"),
        ("topics", ["/a"], "must name a topic and its message type"),
        ("exclude", ["("], "not a regular expression"),
        ("engagement", "/nowhere.yaml", "nowhere.yaml"),
        ("overrides", "{", "not a JSON object"),
        ("compresion", "zstd", "no such parameter.*compression"),
    ],
)
def test_wrong_parameters_are_named(record, tmp_path, name, value, rule):
    parameters = {"engagement": ENGAGEMENT, name: value}
    with pytest.raises(PeError, match=rule) as caught:
        record(parameters=parameters)
    assert name in str(caught.value) or name == "engagement"
    assert not (tmp_path / "bag").exists()


def test_integer_stands_for_a_double(record):
    record(parameters={"flush_period": 1}).destroy_node()


def test_engagement_is_kept_as_it_was_run(record, tmp_path):
    changes = json.dumps({"rules.time_limit": "7 s"})
    record(parameters={"engagement": ENGAGEMENT, "overrides": changes, "pace": "lockstep"}).destroy_node()
    reader = BagReader(tmp_path / "bag")
    engagement = load(ENGAGEMENT, {"rules.time_limit": "7 s"})
    assert yaml.safe_load(reader.engagement_file()) == yaml.safe_load(yaml.safe_dump(engagement.resolved()))
    known = reader.provenance
    assert (known.engagement, known.engagement_sha256, known.pace) == ("grid_1v1", engagement.sha256, "lockstep")


def test_context_that_ends_first_leaves_a_complete_bag(ros_environment, tmp_path):
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=int(ros_environment["ROS_DOMAIN_ID"]))
    topics = [RecordedTopic("/a", "std_msgs/msg/String", RELIABLE)]
    recorder = RecorderNode(topics, directory=tmp_path / "bag", context=context)
    rclpy.shutdown(context=context)
    recorder.destroy_node()
    assert counts(tmp_path / "bag") == {"/a": 0}


def tap_of(sequences):
    tap = TopicTap.__new__(TopicTap)
    tap.lost, tap._newest, tap._one_publisher = 0, None, True
    for sequence in sequences:
        tap._count_lost(sequence)
    return tap


@pytest.mark.parametrize(
    ("sequences", "lost"),
    [
        ([1, 2, 3], 0),
        ([7, 8, 9], 0),
        ([1, 2, 5, 6, 9], 4),
        ([1, 101, 2, 102, 3], 0),
        ([1, 5, 1, 2, 9], 0),
        ([0, 0, 0], 0),
    ],
    ids=["all", "joined late", "gaps", "two publishers", "publisher restarted", "middleware without numbers"],
)
def test_gaps_in_the_numbers_of_one_publisher_are_losses(sequences, lost):
    assert tap_of(sequences).lost == lost


def test_losses_are_told(node, record, tmp_path):
    """More messages than the middleware keeps for the recorder, all before its next round."""
    publisher = node.create_publisher(String, "/a", RELIABLE)
    recorder = record([RecordedTopic("/a", "std_msgs/msg/String", RELIABLE)])
    heard(publisher)
    recorder._recorder._stopping.set()
    recorder._recorder._thread.join()
    for tap in recorder._recorder._taps.values():
        list(tap.take())
        publisher.publish(String(data="first"))
        list(tap.take())
        for _ in range(HISTORY + 500):
            publisher.publish(String(data="x"))
        assert len(list(tap.take())) == HISTORY
    assert recorder._recorder.lost == 500
