"""The engagement's state as bytes: whether it says anything that a node has not heard; see :mod:`pe_ros.cdr`."""

from __future__ import annotations

from rclpy.serialization import deserialize_message

from pe_ros.cdr import Places, Reader
from pe_ros.msg import EngagementState

_NUMBERS = ("episode", "seed", "phase", "start.sec", "start.nanosec")
"""What nodes act on beside texts, in the order of the message."""


class StateReader(Reader):
    """Reads the states that one node hears.

    They come at a steady rate, and while an episode runs only times, rewards and distances change, which nodes do not
    act on: a dozen nodes need not make a message of each.
    """

    def __init__(self) -> None:
        super().__init__(EngagementState)
        self._last: tuple[int, ...] = ()

    def changed(self, places: Places, data: bytes) -> None:
        """Note that texts or lengths are others."""
        del data
        self._numbers = places.form_of(_NUMBERS)
        self._last = ()

    def news(self, data: bytes) -> EngagementState | None:
        """Return the state, or None where the episode runs on as the last one said."""
        data = self.normal(data)
        self.places(data)
        numbers = self._numbers.unpack_from(data)
        if numbers == self._last and numbers[2] == EngagementState.PHASE_RUNNING:
            return None
        self._last = numbers
        message: EngagementState = deserialize_message(data, EngagementState)
        return message
