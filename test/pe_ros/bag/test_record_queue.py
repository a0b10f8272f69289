from __future__ import annotations

import errno
import threading

import pytest

from pe_ros.bag import metadata, record_queue
from pe_ros.bag.provenance import COMPLETE, Provenance
from pe_ros.bag.reader import BagReader
from pe_ros.bag.record_queue import RecordQueue
from pe_ros.bag.repair import repair_bag
from pe_ros.bag.storage_file import StorageFile
from pe_ros.bag.writer import BagWriter
from pe_sim.errors import BagError

from .contents import messages, read_mcap

STRING = "std_msgs/msg/String"


def never(error):
    raise AssertionError(error)


def test_everything_put_in_is_written_in_order(tmp_path):
    queue = RecordQueue(BagWriter(tmp_path / "bag"), on_failure=never)
    queue.announce("/a", STRING)
    queue.announce("/b", STRING)
    for begin in range(0, 1000, 50):
        assert queue.put(messages(1000)[begin : begin + 50]) == 0
    assert queue.close()
    assert read_mcap(tmp_path / "bag" / "bag_0.mcap") == messages(1000)
    assert (queue.written, queue.dropped, queue.failure) == (1000, 0, None)


def test_provenance_given_until_the_end_is_kept(tmp_path):
    queue = RecordQueue(BagWriter(tmp_path / "bag", Provenance(engagement="e")), on_failure=never)
    queue.set_provenance(queue.provenance.with_policy("p", "ab"))
    queue.close()
    found = BagReader(tmp_path / "bag").provenance
    assert (found.engagement, found.policies, found.recording) == ("e", {"p": "ab"}, COMPLETE)


class HeldWriter(BagWriter):
    """A writer whose disk does not answer until it is released."""

    def __init__(self, directory):
        super().__init__(directory)
        self.released = threading.Event()
        self.waiting = threading.Event()

    def write(self, *arguments):
        self.waiting.set()
        self.released.wait(30)
        super().write(*arguments)


def test_what_does_not_fit_is_dropped_and_counted_without_waiting(tmp_path):
    writer = HeldWriter(tmp_path / "bag")
    queue = RecordQueue(writer, max_messages=100, on_failure=never)
    queue.announce("/a", STRING)
    queue.announce("/b", STRING)
    sent = messages(500)
    assert queue.put(sent[:1]) == 0
    assert writer.waiting.wait(30)
    assert queue.put(sent[1:]) == len(sent) - 1 - 100
    assert queue.dropped == len(sent) - 1 - 100
    writer.released.set()
    assert queue.close(30)
    assert read_mcap(tmp_path / "bag" / "bag_0.mcap") == sent[:101]
    assert BagReader(tmp_path / "bag").provenance.dropped == len(sent) - 1 - 100


def test_bytes_are_bounded_too(tmp_path):
    writer = HeldWriter(tmp_path / "bag")
    sent = messages(50)
    queue = RecordQueue(writer, max_bytes=sum(len(m.data) for m in sent[1:11]), on_failure=never)
    queue.announce("/a", STRING)
    queue.announce("/b", STRING)
    queue.put(sent[:1])
    assert writer.waiting.wait(30)
    assert queue.put(sent[1:11]) == 0
    assert queue.put(sent[11:]) == len(sent) - 11
    writer.released.set()
    assert queue.close(30)


def test_disk_that_does_not_answer_holds_up_closing_for_the_given_time_only(tmp_path):
    writer = HeldWriter(tmp_path / "bag")
    queue = RecordQueue(writer, on_failure=never)
    queue.announce("/a", STRING)
    queue.announce("/b", STRING)
    queue.put(messages(1))
    assert writer.waiting.wait(30)
    assert not queue.close(timeout=0.0)
    writer.released.set()
    assert queue.close(timeout=30)


def test_full_disk_is_reported_once_and_what_was_flushed_is_kept(tmp_path, monkeypatch):
    write = StorageFile.write

    def write_until_full(file, data):
        if file.tell() + len(data) > 20_000:
            room = 20_000 - file.tell()
            write(file, data[:room])
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, data)

    monkeypatch.setattr(StorageFile, "write", write_until_full)
    failures = []
    reported = threading.Event()

    def note(error):
        failures.append(error)
        reported.set()

    queue = RecordQueue(BagWriter(tmp_path / "bag", chunk_bytes=2000), on_failure=note)
    queue.announce("/a", STRING)
    queue.announce("/b", STRING)
    sent = messages(3000)
    queue.put(sent)
    assert reported.wait(30)
    assert queue.put(sent[:10]) == 0
    assert queue.close(30)
    assert len(failures) == 1
    assert f"{tmp_path / 'bag'}: recording stopped: No space left on device" in str(failures[0])
    assert queue.failure is failures[0]
    assert f"pe-ros bag repair {tmp_path / 'bag'}" in failures[0].cure
    assert queue.dropped >= 10
    known = metadata.read(tmp_path / "bag")
    assert known.custom_data["recording"] == "stopped early: No space left on device"
    monkeypatch.undo()
    report = repair_bag(tmp_path / "bag")
    found = read_mcap(tmp_path / "bag" / "bag_0.mcap")
    assert report.messages == len(found) > known.message_count
    assert found == sent[: len(found)]


def test_internal_fault_is_reported_and_not_silent(tmp_path, monkeypatch):
    failures = []
    reported = threading.Event()
    writer = BagWriter(tmp_path / "bag")
    monkeypatch.setattr(writer, "write", lambda *arguments: 1 / 0)
    queue = RecordQueue(writer, on_failure=lambda error: (failures.append(error), reported.set()))
    queue.announce("/a", STRING)
    queue.put(messages(1))
    assert reported.wait(30)
    queue.close(30)
    assert "ZeroDivisionError" in str(failures[0])


def test_unknown_type_and_second_type_are_refused_at_once(tmp_path):
    queue = RecordQueue(BagWriter(tmp_path / "bag"), on_failure=never)
    queue.announce("/a", STRING)
    with pytest.raises(BagError, match="'no_such_msgs' is not installed"):
        queue.announce("/b", "no_such_msgs/msg/Thing")
    with pytest.raises(BagError, match="recorded with type std_msgs/msg/String"):
        queue.announce("/a", "std_msgs/msg/Header")
    assert queue.close(30)


def test_writing_thread_flushes_when_no_message_comes(tmp_path):
    """The writing thread needs nobody to drive it: what was put in is safe although the queue is never closed."""
    writer = BagWriter(tmp_path / "bag", flush_period=10**7)
    flushed = threading.Event()
    flush = writer.flush

    def noting_flush():
        flush()
        if writer.message_count:
            flushed.set()

    writer.flush = noting_flush
    queue = RecordQueue(writer, on_failure=never)
    queue.announce("/a", STRING)
    queue.put(messages(1))
    assert flushed.wait(30)
    assert metadata.read(tmp_path / "bag").message_count == 1
    queue.close(30)
    assert record_queue.WAKE_PERIOD < 0.5
