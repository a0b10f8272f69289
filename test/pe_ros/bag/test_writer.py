from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace

import pytest
import yaml
from mcap.reader import make_reader
from rosbags.highlevel import AnyReader

from pe_ros.bag import metadata
from pe_ros.bag import writer as writer_module
from pe_ros.bag.provenance import COMPLETE, Provenance
from pe_ros.bag.reader import BagReader
from pe_ros.bag.repair import repair_bag
from pe_ros.bag.writer import BagWriter, Compression
from pe_sim.errors import BagError

from .contents import cdr_string, messages, read_mcap

STRING = "std_msgs/msg/String"


@pytest.mark.parametrize("compression", list(Compression))
def test_messages_come_back_as_written(make_bag, compression):
    bag = make_bag(count=50, compression=compression)
    assert read_mcap(bag / "bag_0.mcap") == messages(50)
    decoded = list(BagReader(bag).messages())
    assert [(m.topic, m.log_time, m.publish_time, m.sequence) for m in decoded] == [
        (m.topic, m.log_time, m.publish_time, m.sequence) for m in messages(50)
    ]
    assert decoded[7].message.data == "message number 000007 " + "x" * 7


def test_rosbags_decodes_by_the_definitions_in_the_bag(make_bag):
    with AnyReader([make_bag(count=10)]) as reader:
        texts = [reader.deserialize(data, c.msgtype).data for c, _, data in reader.messages()]
    assert texts == [f"message number {i:06d} " + "x" * i for i in range(10)]


def test_reading_needs_no_ros(make_bag):
    bag = make_bag(count=10)
    program = f"""
import sys
from pe_ros.bag.info import summarise
from pe_ros.bag.reader import BagReader
from pe_ros.bag.repair import repair_bag
import pe_ros.cli_bag
from rosbags.highlevel import AnyReader
from pathlib import Path
assert summarise({str(bag)!r}).messages == 10
assert [m.message.data[:7] for m in BagReader({str(bag)!r}).messages()] == ["message"] * 10
assert repair_bag({str(bag)!r}).was_healthy
with AnyReader([Path({str(bag)!r})]) as reader:
    assert sum(1 for _ in reader.messages()) == 10
loaded = {{name.split(".")[0] for name in sys.modules}}
assert not loaded & {{"rclpy", "std_msgs", "rosidl_parser"}}, loaded
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_provenance_lies_in_metadata_and_file(tmp_path):
    known = Provenance(
        engagement="drei gegen eins – 三对一",
        engagement_sha256="ab" * 32,
        engagement_file="world: {backend: kinematic}\n# Größe \U0001f600\n",
        clock="simulated",
        pace="lockstep",
        pe_ros_version="0.1.0",
    )
    with BagWriter(tmp_path / "bag", known) as writer:
        writer.set_provenance(replace(known, seed=2**64 - 1).with_policy("pursuer_0", "cd" * 32))
    reader = BagReader(tmp_path / "bag")
    expected = replace(known, seed=2**64 - 1, policies={"pursuer_0": "cd" * 32}, recording=COMPLETE)
    assert reader.provenance == expected
    assert reader.engagement_file() == known.engagement_file
    with reader.path.open("rb") as file:
        records = {m.name: m.metadata for m in make_reader(file).iter_metadata()}
    assert records["pe_ros"] == expected.to_custom_data()
    assert yaml.safe_load(records["rosbag2"]["serialized_metadata"])["custom_data"] == expected.to_custom_data()


def test_empty_bag_is_complete(tmp_path):
    BagWriter(tmp_path / "bag").close()
    reader = BagReader(tmp_path / "bag")
    assert list(reader.messages()) == []
    assert reader.metadata.message_count == 0
    assert reader.metadata.duration == 0
    with AnyReader([tmp_path / "bag"]) as rosbags_reader:
        assert rosbags_reader.message_count == 0
    assert repair_bag(tmp_path / "bag").was_healthy


def test_topic_without_messages_is_listed(tmp_path):
    with BagWriter(tmp_path / "bag") as writer:
        writer.add_topic("/quiet", STRING)
    assert {t.name: n for t, n in BagReader(tmp_path / "bag").metadata.counts.items()} == {"/quiet": 0}
    with AnyReader([tmp_path / "bag"]) as reader:
        assert reader.topics["/quiet"].msgcount == 0


@pytest.mark.parametrize("name", ["Größe", "三对一", "with space", "a.b", "'quote\"", "\U0001f600"])
def test_names_of_any_script(tmp_path, name):
    with BagWriter(tmp_path / name) as writer:
        writer.add_topic("/a", STRING)
        writer.write("/a", 1, 1, cdr_string("é\U0001f600"))
    assert [m.message.data for m in BagReader(tmp_path / name).messages()] == ["é\U0001f600"]
    with AnyReader([tmp_path / name]) as reader:
        assert reader.message_count == 1


@pytest.mark.parametrize("existing", ["empty directory", "bag", "file"])
def test_nothing_is_overwritten(tmp_path, make_bag, existing):
    bag = tmp_path / "bag"
    if existing == "bag":
        make_bag(count=3)
    elif existing == "file":
        bag.write_text("precious")
    else:
        bag.mkdir()
    before = {p: p.read_bytes() for p in bag.rglob("*")}
    with pytest.raises(BagError, match="exists already; a recording never overwrites") as caught:
        BagWriter(bag)
    assert "name a new directory" in caught.value.cure
    assert {p: p.read_bytes() for p in bag.rglob("*")} == before


def test_second_recorder_on_one_directory_is_refused_and_the_first_goes_on(tmp_path):
    with BagWriter(tmp_path / "bag") as first:
        first.add_topic("/a", STRING)
        first.write("/a", 1, 1, cdr_string("one"))
        with pytest.raises(BagError, match="exists already"):
            BagWriter(tmp_path / "bag")
        first.write("/a", 2, 2, cdr_string("two"))
    assert [m.message.data for m in BagReader(tmp_path / "bag").messages()] == ["one", "two"]


def test_parents_are_created(tmp_path):
    BagWriter(tmp_path / "runs" / "today" / "bag").close()
    assert BagReader(tmp_path / "runs" / "today" / "bag").metadata.message_count == 0


def test_unknown_type_names_its_package(tmp_path):
    with BagWriter(tmp_path / "bag") as writer, pytest.raises(BagError, match="'no_such_msgs' is not installed"):
        writer.add_topic("/a", "no_such_msgs/msg/Thing")


def test_topic_keeps_its_type(tmp_path):
    with BagWriter(tmp_path / "bag") as writer:
        writer.add_topic("/a", STRING)
        writer.add_topic("/a", STRING)
        with pytest.raises(BagError, match="has type std_msgs/msg/String"):
            writer.add_topic("/a", "std_msgs/msg/Header")


def test_topic_must_be_announced(tmp_path):
    with BagWriter(tmp_path / "bag") as writer, pytest.raises(BagError, match="not announced"):
        writer.write("/a", 1, 1, cdr_string(""))


def test_closed_bag_takes_nothing(tmp_path):
    writer = BagWriter(tmp_path / "bag")
    writer.add_topic("/a", STRING)
    writer.close()
    writer.close()
    with pytest.raises(BagError, match="closed"):
        writer.write("/a", 1, 1, cdr_string(""))


class FakeClock:
    now = 0

    def monotonic_ns(self):
        return self.now

    def time_ns(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    fake = FakeClock()
    monkeypatch.setattr(writer_module, "time", fake)
    return fake


def test_messages_stay_in_the_process_for_one_period_at_most(tmp_path, clock):
    """The closed form: at any instant, what lies in the file is what was written at the last flush."""
    writer = BagWriter(tmp_path / "bag", flush_period=500)
    writer.add_topic("/a", STRING)
    for clock.now in range(0, 2000, 30):
        writer.write("/a", clock.now, clock.now, cdr_string(str(clock.now)))
        safe = metadata.read(tmp_path / "bag").message_count
        oldest_in_process = 30 * safe
        assert clock.now - oldest_in_process < 500
    writer.close()


def test_timer_flushes_when_no_message_comes(tmp_path, clock):
    writer = BagWriter(tmp_path / "bag", flush_period=500)
    writer.add_topic("/a", STRING)
    writer.write("/a", 1, 1, cdr_string("last words"))
    clock.now = 499
    writer.flush_if_due()
    assert metadata.read(tmp_path / "bag").message_count == 0
    clock.now = 500
    writer.flush_if_due()
    assert metadata.read(tmp_path / "bag").message_count == 1
    writer.close()


def test_metadata_agrees_with_the_file_at_every_flush(tmp_path, clock):
    writer = BagWriter(tmp_path / "bag", flush_period=500)
    writer.add_topic("/a", STRING)
    for i in range(20):
        writer.write("/a", i, i, cdr_string(str(i)))
        if i % 7 == 6:
            writer.flush()
            flushed = i + 1
    # The copy is what is left of a writer killed here.
    shutil.copytree(tmp_path / "bag", tmp_path / "killed")
    assert metadata.read(tmp_path / "killed").message_count == flushed
    assert repair_bag(tmp_path / "killed").messages == flushed
    writer.close()
