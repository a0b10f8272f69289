from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from rosbags.rosbag2 import Reader

from pe_ros.bag import metadata as metadata_file
from pe_ros.bag.metadata import NO_TIME, BagMetadata, TopicMetadata
from pe_ros.bag.offered_qos import INFINITE, OfferedQos
from pe_ros.bag.provenance import Provenance
from pe_sim.errors import BagError

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
times = st.integers(0, 2**62)
qos = st.builds(
    OfferedQos,
    depth=st.integers(0, 1000),
    reliability=st.sampled_from(["reliable", "best_effort"]),
    durability=st.sampled_from(["volatile", "transient_local"]),
    deadline=st.integers(1, INFINITE),
    lifespan=st.integers(1, INFINITE),
)
profiles_of_a_topic = st.lists(qos, max_size=3).map(tuple)
topics = st.builds(TopicMetadata, name=text, type=text, offered_qos=profiles_of_a_topic, type_hash=text)


@given(st.dictionaries(topics, st.integers(0, 10**6), max_size=4), times, times, st.dictionaries(text, text), text)
def test_what_is_written_is_read(counts, start, duration, custom_data, distro):
    any_message = any(counts.values())
    written = BagMetadata(
        file="bag_0.mcap",
        counts=counts,
        start=start if any_message else NO_TIME,
        end=start + duration if any_message else 0,
        custom_data=custom_data,
        ros_distro=distro,
    )
    document = yaml.safe_load(metadata_file.render(written))
    assert metadata_file.parse(document["rosbag2_bagfile_information"]) == written
    assert yaml.safe_load(metadata_file.serialized(written)) == document["rosbag2_bagfile_information"]


@given(profiles_of_a_topic)
def test_profiles_of_a_channel_are_read_back(profiles):
    assert metadata_file.parse_offered_qos(metadata_file.offered_qos_text(profiles)) == profiles


def test_keys_are_those_of_rosbag2_version_9():
    counts = {TopicMetadata("/a", "std_msgs/msg/String", (OfferedQos(),), "RIHS01_x"): 2}
    information = yaml.safe_load(metadata_file.render(BagMetadata("b_0.mcap", counts, 5, 9)))[
        "rosbag2_bagfile_information"
    ]
    assert information == {
        "version": 9,
        "storage_identifier": "mcap",
        "duration": {"nanoseconds": 4},
        "starting_time": {"nanoseconds_since_epoch": 5},
        "message_count": 2,
        "topics_with_message_count": [
            {
                "topic_metadata": {
                    "name": "/a",
                    "type": "std_msgs/msg/String",
                    "serialization_format": "cdr",
                    "offered_qos_profiles": [
                        {
                            "history": "unknown",
                            "depth": 0,
                            "reliability": "reliable",
                            "durability": "volatile",
                            "deadline": {"sec": 9223372036, "nsec": 854775807},
                            "lifespan": {"sec": 9223372036, "nsec": 854775807},
                            "liveliness": "automatic",
                            "liveliness_lease_duration": {"sec": 9223372036, "nsec": 854775807},
                            "avoid_ros_namespace_conventions": False,
                        }
                    ],
                    "type_description_hash": "RIHS01_x",
                },
                "message_count": 2,
            }
        ],
        "compression_format": "",
        "compression_mode": "",
        "relative_file_paths": ["b_0.mcap"],
        "files": [
            {
                "path": "b_0.mcap",
                "starting_time": {"nanoseconds_since_epoch": 5},
                "duration": {"nanoseconds": 4},
                "message_count": 2,
            }
        ],
        "custom_data": {},
        "ros_distro": "",
    }


def test_profiles_with_numbers_are_read():
    before_version_9 = {**OfferedQos().to_mapping(), "history": 1, "reliability": 2, "durability": 1, "liveliness": 1}
    assert OfferedQos.from_mapping(before_version_9) == OfferedQos(
        history="keep_last", reliability="best_effort", durability="transient_local"
    )


@given(
    st.builds(
        Provenance,
        engagement=text,
        engagement_sha256=text,
        engagement_file=text,
        seed=st.none() | st.integers(0, 2**64 - 1),
        clock=st.sampled_from(["system", "simulated"]),
        pace=text,
        policies=st.dictionaries(text, text, max_size=4),
        pe_ros_version=text,
        recording=text,
        dropped=st.integers(0, 10**9),
        lost=st.integers(0, 10**9),
    )
)
def test_provenance_survives_its_bag(provenance):
    assert Provenance.from_custom_data(provenance.to_custom_data()) == provenance


INFORMATION = "rosbag2_bagfile_information: "
BROKEN = ("", "{}", "[1]", "a: b: c", "\x00", INFORMATION + "3", INFORMATION + "{version: 9}")


@pytest.mark.parametrize("broken", BROKEN)
def test_broken_metadata_is_an_error_that_names_the_repair(tmp_path, broken):
    (tmp_path / "metadata.yaml").write_text(broken)
    with pytest.raises(BagError, match=r"metadata\.yaml.*pe-ros bag repair"):
        metadata_file.read(tmp_path)


def test_other_storage_is_refused(tmp_path):
    (tmp_path / "metadata.yaml").write_text(
        metadata_file.render(BagMetadata("b_0.db3")).replace("storage_identifier: mcap", "storage_identifier: sqlite3")
    )
    with pytest.raises(BagError, match="sqlite3"):
        metadata_file.read(tmp_path)


def test_rosbags_reads_the_metadata_of_a_bag(make_bag):
    with Reader(make_bag(count=3)) as reader:
        assert [(c.topic, c.msgtype, c.msgcount) for c in reader.connections] == [
            ("/a", "std_msgs/msg/String", 2),
            ("/b", "std_msgs/msg/String", 1),
        ]
        assert reader.start_time == 0
        assert reader.duration == 2 * 10**7 + 1
