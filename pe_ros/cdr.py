"""Messages as bytes: read and written in place, without the message object.

Building the Python object of a message costs several times its sending. But one publisher's messages always have the
same texts and lengths, so each of their fields always lies at the same place: found once from one message, then read
and written there. Bytes whose texts or lengths differ are read by rclpy, and the places found anew from that message.

The bytes are those of the ROS middleware: plain CDR version 1 (OMG DDSI-RTPS 2.5, 10.2), little-endian. Anything else
goes through rclpy's reader and writer first.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from operator import itemgetter
from typing import Any, NamedTuple

from builtin_interfaces.msg import Duration
from rclpy.serialization import deserialize_message, serialize_message

from pe_ros.msg import Action
from pe_sim.errors import RosError

HEADER = b"\x00\x01\x00\x00"
"""Representation identifier of little-endian plain CDR; alignment counts from behind it."""

_BASE = len(HEADER)

TIME = struct.Struct("<iI")
"""Seconds and nanoseconds of a time or duration, from its field 'sec' on."""

SCALARS = {
    "boolean": "?", "octet": "B", "uint8": "B", "int8": "b", "uint16": "H", "int16": "h", "uint32": "I", "int32": "i",
    "uint64": "Q", "int64": "q", "float": "f", "double": "d",
}  # fmt: skip
"""Type name of rosidl -> struct format."""


class Place(NamedTuple):
    """Where a field lies.

    Attributes:
        offset: of its first byte.
        form: of all its elements.
        elements: how many.
    """

    offset: int
    form: struct.Struct
    elements: int


def aligned(offset: int, size: int) -> int:
    """Return the next offset at which an element of a size may lie."""
    return offset + -(offset - _BASE) % size


@cache
def pads_empty() -> bool:
    """Return whether this middleware pads an empty sequence as its elements would need; writers differ in it."""
    mark = 0x5A5A5A5A
    # With these fields the empty sequence of 64-bit numbers ends at a multiple of four, but not of eight.
    probe = Action(values=[0.0], inference_time=Duration(sec=mark))
    return (serialize_message(probe).rindex(struct.pack("<i", mark)) - _BASE) % 8 == 0


class Places:
    """Where the fields of one publisher's messages lie.

    Args:
        message: a message with the texts and lengths that the others have.

    Raises:
        RosError: if the middleware writes other bytes than plain CDR.

    Attributes:
        of: dotted field name -> place; a sequence of scalars is one place, one of times has '.sec' and '.nanosec' per
            element: 'stamps.0.sec'.
        data: its bytes.
    """

    def __init__(self, message: Any) -> None:
        self.data = serialize_message(message)
        self.of: dict[str, Place] = {}
        self._fixed: list[tuple[int, int]] = []
        self._end = _BASE
        self._walk(message, "")
        self._texts_of = itemgetter(slice(_BASE), *(slice(first, end) for first, end in self._fixed))
        self._texts = self._texts_of(self.data)
        # The middleware reserves up to eight bytes too many per empty sequence, and leaves them at the end.
        if not self._end <= len(self.data) <= self._end + 8 * (1 + len(self._fixed)):
            raise RosError(type(message).__name__, "its bytes do not follow plain CDR", len(self.data))

    def _walk(self, message: Any, prefix: str) -> None:
        for name, kind in message.get_fields_and_field_types().items():
            self._field(getattr(message, name), kind, prefix + name)

    def _field(self, value: Any, kind: str, name: str) -> None:
        if kind in SCALARS:
            self._scalars(name, SCALARS[kind], 1)
        elif kind == "string":
            self._text(value)
        elif kind.startswith("sequence<"):
            self._sequence(value, kind[len("sequence<") : -1], name)
        else:
            self._walk(value, f"{name}.")

    def _scalars(self, name: str, code: str, count: int) -> None:
        form = struct.Struct(f"<{count}{code}")
        padded = count > 0 or pads_empty()
        offset = aligned(self._end, struct.calcsize(f"<{code}")) if padded else self._end
        self.of[name] = Place(offset, form, count)
        self._end = offset + form.size

    def _text(self, value: str) -> None:
        first = aligned(self._end, 4)
        self._end = first + 4 + len(value.encode()) + 1
        self._fixed.append((first, self._end))

    def _sequence(self, values: Any, kind: str, name: str) -> None:
        first = aligned(self._end, 4)
        self._end = first + 4
        self._fixed.append((first, self._end))
        if kind in SCALARS:
            self._scalars(name, SCALARS[kind], len(values))
            return
        for i, value in enumerate(values):
            self._field(value, kind, f"{name}.{i}")

    def fit(self, data: bytes) -> bool:
        """Return whether bytes have the same texts and lengths."""
        return len(data) == len(self.data) and self._texts_of(data) == self._texts

    def form_of(self, names: Sequence[str]) -> struct.Struct:
        """Return a form that reads some scalar fields at once, from the first byte of a message on.

        Args:
            names: dotted names, in the order in which they lie.
        """
        code, end = "<", 0
        for name in names:
            place = self.of[name]
            code += f"{place.offset - end}x{place.form.format[1:]}"
            end = place.offset + place.form.size
        return struct.Struct(code)


class Reader:
    """Finds the places of one publisher's messages; :meth:`places` gives those of the bytes at hand.

    Args:
        kind: the message class.
    """

    def __init__(self, kind: Any) -> None:
        self._kind = kind
        self._places: Places | None = None

    def normal(self, data: bytes) -> bytes:
        """Return bytes in little-endian plain CDR."""
        return data if data[:_BASE] == HEADER else serialize_message(deserialize_message(data, self._kind))

    def places(self, data: bytes) -> Places:
        """Return the places of a message's fields; ``data`` is normal."""
        if self._places is None or not self._places.fit(data):
            self._places = Places(deserialize_message(data, self._kind))
            self.changed(self._places, data)
        return self._places

    def changed(self, places: Places, data: bytes) -> None:
        """Take note of other texts or lengths; for subclasses."""


