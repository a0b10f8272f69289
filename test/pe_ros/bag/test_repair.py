from __future__ import annotations

import errno
import itertools
import shutil
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcap.records import Chunk, Message
from mcap.stream_reader import StreamReader, breakup_chunk
from rosbags.highlevel import AnyReader

from pe_ros.bag import repair
from pe_ros.bag.chunks import ZERO_TAIL
from pe_ros.bag.provenance import REPAIRED, Provenance
from pe_ros.bag.reader import BagReader
from pe_ros.bag.repair import repair_bag
from pe_ros.bag.storage_file import StorageFile
from pe_ros.bag.writer import BagWriter, Compression
from pe_sim.errors import BagError

from .contents import cdr_string, messages, payloads, read_mcap

COUNT = 60
FILE = "bag_0.mcap"
PROVENANCE = Provenance(engagement="three on one", engagement_file="world: {}\n", seed=3, policies={"p": "ab"})


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """A complete bag of several chunks, by compression."""
    bags = {}
    for compression in Compression:
        bags[compression] = tmp_path_factory.mktemp(compression.value) / "bag"
        with BagWriter(bags[compression], PROVENANCE, compression=compression, chunk_bytes=700) as writer:
            writer.add_topic("/a", "std_msgs/msg/String")
            writer.add_topic("/b", "std_msgs/msg/String")
            for message in messages(COUNT):
                writer.write(*message)
    return bags


@contextmanager
def changed(original: Path, data: bytes):
    """A copy of a bag with other contents of its MCAP file."""
    with tempfile.TemporaryDirectory() as directory:
        bag = Path(directory) / "bag"
        shutil.copytree(original, bag)
        (bag / FILE).write_bytes(data)
        yield bag


def whole_chunks(path: Path) -> list[tuple[int, int]]:
    """For each chunk: where its record ends in the file, and how many messages the file holds up to there."""
    ends: list[tuple[int, int]] = []
    count = 0
    with path.open("rb") as file:
        for record in StreamReader(file, emit_chunks=True).records:
            if isinstance(record, Chunk):
                count += sum(isinstance(inside, Message) for inside in breakup_chunk(record))
                ends.append((file.tell(), count))
    return ends


def in_whole_chunks(path: Path, cut: int) -> int:
    """Messages in the chunks that end before a cut."""
    return max((count for end, count in whole_chunks(path) if end <= cut), default=0)


def before(data: bytes, cut: int) -> int:
    """Messages of an uncompressed file that end before a cut: each one's data occurs in it once."""
    return sum(data.index(payload) + len(payload) <= cut for payload in payloads(COUNT))


def check_repaired(bag: Path, expected_count: int | None = None) -> int:
    """Check that a bag is complete for every reader and holds the first of the messages; return how many."""
    found = read_mcap(bag / FILE)
    assert found == messages(COUNT)[: len(found)]
    reader = BagReader(bag)
    assert reader.metadata.message_count == len(found)
    assert sum(1 for _ in reader.messages()) == len(found)
    with AnyReader([bag]) as rosbags_reader:
        assert rosbags_reader.message_count == len(found)
        assert [data for _, _, data in rosbags_reader.messages()] == [m.data for m in found]
    assert expected_count is None or len(found) == expected_count
    assert sorted(p.name for p in bag.iterdir()) == [FILE, "metadata.yaml"]
    assert repair_bag(bag).was_healthy
    return len(found)


@given(cut=st.floats(0, 1, exclude_max=True))
@settings(max_examples=100, deadline=None)
def test_all_messages_before_the_cut_are_recovered(originals, cut):
    data = (originals[Compression.NONE] / FILE).read_bytes()
    at = int(cut * len(data))
    with changed(originals[Compression.NONE], data[:at]) as bag:
        report = repair_bag(bag)
        assert report.rewrote_file
        check_repaired(bag, before(data, at))


@pytest.mark.parametrize("compression", list(Compression))
@given(cut=st.floats(0, 1, exclude_max=True))
@settings(max_examples=40, deadline=None)
def test_all_messages_of_whole_chunks_are_recovered(originals, compression, cut):
    data = (originals[compression] / FILE).read_bytes()
    at = int(cut * len(data))
    with changed(originals[compression], data[:at]) as bag:
        repair_bag(bag)
        assert check_repaired(bag) >= in_whole_chunks(originals[compression] / FILE, at)


@pytest.mark.parametrize("compression", list(Compression))
def test_cuts_at_and_beside_every_boundary(originals, compression):
    original = originals[compression]
    data = (original / FILE).read_bytes()
    ends = [end for end, _ in whole_chunks(original / FILE)]
    for at in sorted({max(0, end + d) for end in (0, 8, *ends, len(data)) for d in (-9, -1, 0, 1, 9)}):
        if at >= len(data):
            continue
        with changed(original, data[:at]) as bag:
            repair_bag(bag)
            assert check_repaired(bag) >= in_whole_chunks(original / FILE, at)


@given(cut=st.floats(0, 1, exclude_max=True), zeros=st.integers(ZERO_TAIL, 5000))
@settings(max_examples=40, deadline=None)
def test_file_that_the_disk_filled_with_zeros(originals, cut, zeros):
    """What a loss of power leaves: the length of the file is stored, its last data are not."""
    original = originals[Compression.NONE]
    data = (original / FILE).read_bytes()
    at = int(cut * len(data))
    with changed(original, data[:at] + bytes(zeros)) as bag:
        repair_bag(bag)
        assert in_whole_chunks(original / FILE, at) <= check_repaired(bag) <= before(data, at)


@pytest.mark.parametrize("compression", list(Compression))
@given(at=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
@settings(max_examples=50, deadline=None)
def test_flipped_bit_gives_no_false_message_and_no_traceback(originals, compression, at, bit):
    data = bytearray((originals[compression] / FILE).read_bytes())
    data[int(at * len(data))] ^= 1 << bit
    with changed(originals[compression], bytes(data)) as bag:
        try:
            repair_bag(bag)
        except BagError:
            return
        true = {(m.log_time, m.data) for m in messages(COUNT)}
        found = read_mcap(bag / FILE)
        assert {(m.log_time, m.data) for m in found} <= true
        assert BagReader(bag).metadata.message_count == len(found)


@given(garbage=st.binary(max_size=300), cut=st.floats(0, 1))
@settings(max_examples=50, deadline=None)
def test_garbage_at_the_end_gives_no_traceback(originals, garbage, cut):
    original = originals[Compression.ZSTD]
    data = (original / FILE).read_bytes()
    at = int(cut * len(data))
    with changed(original, data[:at] + garbage) as bag:
        try:
            repair_bag(bag)
        except BagError:
            assert at < 8
            return
        assert len(read_mcap(bag / FILE)) >= in_whole_chunks(original / FILE, at)


def test_damaged_chunk_in_the_middle_costs_only_itself(originals):
    original = originals[Compression.NONE]
    data = bytearray((original / FILE).read_bytes())
    ends = whole_chunks(original / FILE)
    (_, first), (_, second) = ends[2], ends[3]
    data[bytes(data).index(payloads(COUNT)[first]) + 6] ^= 1
    with changed(original, bytes(data)) as bag:
        report = repair_bag(bag)
        assert [damage.reason for damage in report.damage] == ["chunk with a wrong checksum"]
        assert read_mcap(bag / FILE) == messages(COUNT)[:first] + messages(COUNT)[second:]


def test_healthy_bag_is_left_alone(originals):
    for bag in originals.values():
        before_repair = {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in bag.iterdir()}
        report = repair_bag(bag)
        assert report.was_healthy
        assert report.messages == COUNT
        assert {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in bag.iterdir()} == before_repair


@pytest.mark.parametrize("with_metadata", [True, False])
def test_provenance_and_engagement_file_are_recovered(originals, with_metadata):
    data = (originals[Compression.ZSTD] / FILE).read_bytes()
    with changed(originals[Compression.ZSTD], data[: len(data) // 2]) as bag:
        if not with_metadata:
            (bag / "metadata.yaml").unlink()
        repair_bag(bag)
        reader = BagReader(bag)
        assert reader.engagement_file() == PROVENANCE.engagement_file
        found = reader.provenance
        assert (found.engagement, found.seed, found.policies) == ("three on one", 3, {"p": "ab"})
        assert found.recording == REPAIRED


@pytest.mark.parametrize("state", ["missing", "empty", "of the start"])
def test_metadata_of_a_whole_file_is_rebuilt(originals, state):
    original = originals[Compression.ZSTD]
    with changed(original, (original / FILE).read_bytes()) as bag:
        complete = (bag / "metadata.yaml").read_text()
        if state == "missing":
            (bag / "metadata.yaml").unlink()
        else:
            (bag / "metadata.yaml").write_text("" if state == "empty" else complete.replace("complete", "in progress"))
        report = repair_bag(bag)
        assert (report.rewrote_metadata, report.rewrote_file) == (True, False)
        assert (bag / "metadata.yaml").read_text() == complete
        assert repair_bag(bag).was_healthy


def test_file_without_index_gets_one(originals):
    """As ``ros2 bag record --storage-preset-profile fastwrite`` leaves it, or a writer that cannot seek."""
    original = originals[Compression.NONE]
    data = (original / FILE).read_bytes()
    end_of_data = whole_chunks(original / FILE)[-1][0]
    footer = b"\x02" + (20).to_bytes(8, "little") + bytes(20)
    with changed(original, data[:end_of_data] + footer + data[:8]) as bag:
        repair_bag(bag)
        check_repaired(bag, COUNT)


def test_damaged_file_is_kept_on_request(originals):
    data = (originals[Compression.NONE] / FILE).read_bytes()[:3000]
    with changed(originals[Compression.NONE], data) as bag:
        repair_bag(bag, keep_damaged=True)
        assert (bag / (FILE + ".damaged")).read_bytes() == data
        assert repair_bag(bag).was_healthy
        assert (bag / (FILE + ".damaged")).read_bytes() == data


class FullDisk(StorageFile):
    """A file on a disk with room for a few bytes more."""

    def write(self, data):
        if self.tell() + len(data) > 1500:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(data)


def test_full_disk_leaves_the_damaged_bag_as_it_was(originals, monkeypatch):
    data = (originals[Compression.NONE] / FILE).read_bytes()[:3000]
    with changed(originals[Compression.NONE], data) as bag:
        before_repair = {p.name: p.read_bytes() for p in bag.iterdir()}
        monkeypatch.setattr(repair, "StorageFile", FullDisk)
        with pytest.raises(BagError, match=r"No space left on device; it is as it was.*make room"):
            repair_bag(bag)
        assert {p.name: p.read_bytes() for p in bag.iterdir()} == before_repair


class Interrupted(BaseException):
    pass


def interrupt_at(monkeypatch, number):
    """Interrupt the repair at its number-th change of a name in the directory."""
    changes = itertools.count()

    def interrupting(function):
        def change(*arguments, **keywords):
            if next(changes) == number:
                raise Interrupted
            return function(*arguments, **keywords)

        return change

    for name in ("rename", "replace", "unlink"):
        monkeypatch.setattr(Path, name, interrupting(getattr(Path, name)))


@pytest.mark.parametrize("number", range(6))
def test_interrupted_repair_can_be_run_again(originals, number):
    data = (originals[Compression.NONE] / FILE).read_bytes()
    at = len(data) // 2
    with changed(originals[Compression.NONE], data[:at]) as bag:
        with pytest.MonkeyPatch.context() as monkeypatch:
            interrupt_at(monkeypatch, number)
            with suppress(Interrupted):
                repair_bag(bag)
        repair_bag(bag)
        for left in bag.glob("*.damaged"):
            left.unlink()
        check_repaired(bag, before(data, at))


def test_bag_being_recorded_is_left_alone(tmp_path):
    with BagWriter(tmp_path / "bag") as writer:
        writer.add_topic("/a", "std_msgs/msg/String")
        writer.write("/a", 1, 1, cdr_string("one"))
        with pytest.raises(BagError, match="is being recorded now"):
            repair_bag(tmp_path / "bag")
        with pytest.raises(BagError, match="is being recorded now"):
            BagReader(tmp_path / "bag")
    assert repair_bag(tmp_path / "bag").was_healthy


def test_what_is_no_bag_is_refused(tmp_path):
    with pytest.raises(BagError, match="does not exist"):
        repair_bag(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(BagError, match="is not a directory"):
        repair_bag(tmp_path / "file")
    with pytest.raises(BagError, match="has no MCAP file"):
        repair_bag(tmp_path)
    (tmp_path / "x.mcap").write_bytes(b"SQLite format 3\0")
    with pytest.raises(BagError, match="not an MCAP file"):
        repair_bag(tmp_path)
    (tmp_path / "y.mcap").write_bytes(b"")
    with pytest.raises(BagError, match=r"several MCAP files.*x\.mcap.*y\.mcap"):
        repair_bag(tmp_path)


def test_bag_of_another_recorder_is_repaired(tmp_path):
    """One that rosbags wrote, without provenance or type hash inside the file."""
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_JAZZY)
    string = store.types["std_msgs/msg/String"]
    with Writer(tmp_path / "bag", version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection("/a", "std_msgs/msg/String", typestore=store)
        for i in range(10):
            writer.write(connection, i, store.serialize_cdr(string(f"{i}"), "std_msgs/msg/String"))
    assert repair_bag(tmp_path / "bag").was_healthy
    file = tmp_path / "bag" / "bag.mcap"
    file.write_bytes(file.read_bytes()[:-100])
    assert repair_bag(tmp_path / "bag").messages == 10
    assert [m.message.data for m in BagReader(tmp_path / "bag").messages()] == [f"{i}" for i in range(10)]
