from __future__ import annotations

import re

import pytest

from pe_ros.bag.definitions import SEPARATOR, contained_types, find_definition, split_type
from pe_sim.errors import BagError


def test_text_holds_every_contained_type_once():
    text = find_definition("nav_msgs/msg/Odometry").text
    sections = re.findall(r"^MSG: (\S+)$", text, re.MULTILINE)
    assert sorted(sections) == sorted(set(sections))
    assert set(sections) == {
        "std_msgs/Header",
        "builtin_interfaces/Time",
        "geometry_msgs/PoseWithCovariance",
        "geometry_msgs/Pose",
        "geometry_msgs/Point",
        "geometry_msgs/Quaternion",
        "geometry_msgs/TwistWithCovariance",
        "geometry_msgs/Twist",
        "geometry_msgs/Vector3",
    }
    assert text.count(SEPARATOR + "\n") == len(sections)


def test_type_of_the_same_package_is_found():
    pytest.importorskip("pe_ros.msg")
    assert "MSG: pe_ros/SensorLayout" in find_definition("pe_ros/msg/ObservationLayout").text


def test_type_hash_is_that_of_the_installation():
    info = find_definition("std_msgs/msg/String")
    assert re.fullmatch(r"RIHS01_[0-9a-f]{64}", info.type_hash)


def test_environment_is_not_needed(monkeypatch):
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    find_definition.cache_clear()
    assert find_definition("std_msgs/msg/String").text


def test_short_name_means_the_same_type():
    assert find_definition("std_msgs/String").type == "std_msgs/msg/String"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Point32[] points", ["here/Point32"]),
        ("geometry_msgs/Point[<=3] points # std_msgs/String x", ["geometry_msgs/Point"]),
        ("geometry_msgs/msg/Point[3] points", ["geometry_msgs/Point"]),
        ("string<=10[<=5] names", []),
        ('string NAME="Pose x"', []),
        ("uint8 MODE=0", []),
        ("wstring w", []),
        ("# Pose x", []),
        ("  Pose  pose", ["here/Pose"]),
        ("float64[36] covariance", []),
        ("Pose a\nPose b", ["here/Pose"]),
        ("", []),
    ],
)
def test_contained_types(line, expected):
    assert contained_types("here", line) == expected


def test_unknown_package_is_named():
    with pytest.raises(BagError, match=r"no_such_msgs/msg/Thing.*package 'no_such_msgs' is not installed") as caught:
        find_definition("no_such_msgs/msg/Thing")
    assert "ros-<distribution>-no-such-msgs" in caught.value.cure


def test_unknown_type_of_a_known_package_is_named():
    with pytest.raises(BagError, match=r"package 'std_msgs' in .* has no msg/Strin\.msg"):
        find_definition("std_msgs/msg/Strin")


@pytest.mark.parametrize(
    "name", ["", "String", "std_srvs/srv/Empty", "a/action/B_Feedback", "a/msg/B/c", "../msg/x", "a/msg/../../b"]
)
def test_what_is_no_message_type_is_refused(name):
    with pytest.raises(BagError, match="package/msg/Name"):
        split_type(name)
