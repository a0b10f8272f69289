"""Messages by hand, and what a bag of them must contain."""

from __future__ import annotations

import struct
from pathlib import Path

from mcap.reader import make_reader

from pe_ros.bag.record_queue import ReceivedMessage


def cdr_string(text: str) -> bytes:
    """Serialized std_msgs/msg/String."""
    data = text.encode() + b"\0"
    return b"\x00\x01\x00\x00" + struct.pack("<I", len(data)) + data


def payloads(count: int) -> list[bytes]:
    """Serialized strings, each of which occurs once in a file."""
    return [cdr_string(f"message number {i:06d} " + "x" * (i % 40)) for i in range(count)]


def messages(count: int) -> list[ReceivedMessage]:
    """The messages of a bag from ``make_bag``, in order."""
    topics = ("/a", "/b")
    numbered = enumerate(payloads(count))
    return [ReceivedMessage(topics[i % 2], i * 10**7, i * 10**7 + 1, data, i) for i, data in numbered]


def read_mcap(path: Path) -> list[ReceivedMessage]:
    """Read all messages, in the file's order, with the MCAP library alone."""
    with path.open("rb") as file:
        return [
            ReceivedMessage(channel.topic, m.log_time, m.publish_time, m.data, m.sequence)
            for _, channel, m in make_reader(file, validate_crcs=True).iter_messages(log_time_order=False)
        ]
