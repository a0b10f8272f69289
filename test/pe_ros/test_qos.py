"""Every publisher is heard by every subscription of its topic, and by the tools that people use."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2: install pe-ros[ros]")

from hypothesis import given
from hypothesis import strategies as st
from rclpy.duration import Duration, Infinite
from rclpy.qos import (
    DurabilityPolicy,
    QoSCompatibility,
    QoSProfile,
    ReliabilityPolicy,
    qos_check_compatible,
    qos_profile_sensor_data,
)

from pe_ros import qos
from pe_sim.errors import RosError

Profile = Callable[[str], QoSProfile]

#: topic -> what publishers offer, what subscriptions request
TOPICS: dict[str, tuple[Profile, Profile]] = {
    "odom": (qos.odom, qos.odom),
    "observation": (qos.observation, qos.observation),
    "action": (qos.action, qos.action),
    "command": (qos.command, qos.command),
    "applied": (qos.applied, qos.applied),
    "status": (qos.status, qos.status),
    "safety_event": (qos.safety_event, qos.safety_event),
    "engagement_state": (qos.engagement_state, qos.engagement_state),
    "layout": (qos.layout, qos.layout),
    "metadata": (qos.metadata, qos.metadata),
    "markers": (qos.markers, qos.markers),
    "diagnostics": (qos.diagnostics, qos.diagnostics),
    "clock": (qos.clock, qos.clock_heard),
}
LATCHED = {"engagement_state", "layout", "metadata"}
#: What `rclcpp`, `rclpy` and most drivers offer and request unless told otherwise.
DEFAULT = QoSProfile(depth=10)
#: The default of RViz's displays.
RVIZ = QoSProfile(depth=5)
RVIZ_BEST_EFFORT = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
PACES = pytest.mark.parametrize("pace", qos.PACES)


def hear(offered: QoSProfile, requested: QoSProfile) -> bool:
    """Whether a subscription hears a publisher; own profiles leave no doubt, those of others may rest on defaults."""
    return bool(qos_check_compatible(offered, requested)[0] != QoSCompatibility.ERROR)


def unlimited(duration: Duration) -> bool:
    return duration.nanoseconds == 0 or duration == Infinite


@PACES
@pytest.mark.parametrize("topic", TOPICS)
def test_own_publishers_and_subscriptions_hear_each_other(topic: str, pace: str) -> None:
    offered, requested = TOPICS[topic]
    assert qos_check_compatible(offered(pace), requested(pace)) == (QoSCompatibility.OK, "")


@PACES
@pytest.mark.parametrize(("topic", "function"), [("action", qos.action), ("command", qos.command)])
@given(period=st.integers(1, 10**12), valid_for=st.integers(1, 10**12))
def test_decisions_with_time_limits_are_heard(
    topic: str, function: Callable[..., QoSProfile], pace: str, period: int, valid_for: int
) -> None:
    offered = function(pace, period, valid_for)
    assert hear(offered, function(pace))
    assert hear(offered, function(pace, period, valid_for))
    assert hear(offered, DEFAULT)
    assert hear(DEFAULT, function(pace))  # a policy of another package that offers no deadline
    if pace == qos.LOCKSTEP:
        assert unlimited(offered.deadline)
        assert unlimited(offered.lifespan)
    else:
        assert offered.deadline.nanoseconds == 2 * period
        assert offered.lifespan.nanoseconds == valid_for


def test_a_deadline_tighter_than_offered_would_not_be_heard() -> None:
    assert not hear(qos.action("wall", 100_000_000), qos.action("wall", 50_000_000))


@pytest.mark.parametrize("topic", TOPICS)
def test_nothing_is_lost_or_expires_in_lockstep(topic: str) -> None:
    for profile in (function(qos.LOCKSTEP) for function in TOPICS[topic][:1]):
        assert profile.reliability == ReliabilityPolicy.RELIABLE
        assert unlimited(profile.deadline)
        assert unlimited(profile.lifespan)
        if topic not in {"layout", "metadata", "markers", "diagnostics", "clock"}:  # nothing waits for these
            assert profile.depth == qos.DEEP


@PACES
@pytest.mark.parametrize("topic", TOPICS)
def test_exactly_what_late_comers_need_is_latched(topic: str, pace: str) -> None:
    durability = TOPICS[topic][0](pace).durability
    assert (durability == DurabilityPolicy.TRANSIENT_LOCAL) == (topic in LATCHED)


@PACES
@pytest.mark.parametrize("topic", TOPICS)
def test_rviz_and_topic_echo_hear_everything(topic: str, pace: str) -> None:
    """RViz by default, except that odometry in real time is displayed with best effort, as config/rviz says."""
    offered = TOPICS[topic][0](pace)
    best_effort = offered.reliability == ReliabilityPolicy.BEST_EFFORT
    assert best_effort == (topic in {"odom", "observation"} and pace != qos.LOCKSTEP)
    assert hear(offered, RVIZ_BEST_EFFORT if best_effort else RVIZ)


@PACES
def test_odometry_of_any_robot_is_heard_while_time_is_real(pace: str) -> None:
    heard = [hear(offered, qos.odom(pace)) for offered in (DEFAULT, qos_profile_sensor_data, RVIZ_BEST_EFFORT)]
    assert all(heard) == (pace != qos.LOCKSTEP)
    assert heard[0]


@PACES
def test_every_clock_is_heard_and_ours_by_everyone(pace: str) -> None:
    best_effort = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
    for offered, requested in itertools.product((qos.clock(pace), DEFAULT, best_effort), (qos.clock_heard(pace),)):
        assert hear(offered, requested)
    for requested in (DEFAULT, best_effort, RVIZ):
        assert hear(qos.clock(pace), requested)


@pytest.mark.parametrize("function", [function for pair in TOPICS.values() for function in pair])
def test_an_unknown_pace_is_refused(function: Profile) -> None:
    with pytest.raises(RosError, match="realtime, lockstep, wall"):
        function("fast")


@pytest.mark.parametrize("limits", [{"period": 0}, {"valid_for": -1}])
def test_a_time_limit_that_is_no_time_is_refused(limits: dict[str, int]) -> None:
    with pytest.raises(RosError, match="must be positive"):
        qos.action("wall", **limits)
