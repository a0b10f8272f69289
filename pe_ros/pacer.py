"""The pace of a simulation by the clock: when its ticks are due, and whether the machine keeps up."""

from __future__ import annotations

import time
from collections.abc import Callable

from rclpy.node import Node

from pe_ros.alarms import SystemAlarms
from pe_ros.engagement_node import logger
from pe_sim.timing import NANOSECONDS

LATE = NANOSECONDS // 2
"""From this lateness on it is said [ns]."""


class Pacer:
    """Calls back at instants of engagement time.

    Args:
        node: whose log a lateness is said in.
        factor: engagement seconds per wall second.
        fault: called with what a callback raises.
    """

    def __init__(self, node: Node, factor: float, fault: Callable[[BaseException], None]) -> None:
        self._node, self._factor = node, factor
        self._alarms = SystemAlarms(fault)
        self._zero = 0
        self._behind = False

    def begin(self, zero: int, callback: Callable[[], None]) -> None:
        """Put engagement time zero at a wall time [ns], and call back then."""
        self._zero = zero
        self._alarms.at(zero, callback)

    def elapsed(self) -> int:
        """Return the present engagement time [ns]."""
        return int((time.time_ns() - self._zero) * self._factor)

    def at(self, instant: int, callback: Callable[[], None]) -> None:
        """Call back at an instant of engagement time [ns]; say so, once until it catches up, if the machine is late."""
        due = self._zero + int(instant / self._factor)
        late = time.time_ns() - due
        if late > LATE and not self._behind:
            self._behind = True
            logger(self._node).warning(
                f"the simulation is {late / 1e9:.2f} s behind: this machine cannot keep realtime_factor "
                f"{self._factor:g}"
            )
        elif late < 0:
            self._behind = False
        self._alarms.at(due, callback)

    def close(self) -> None:
        """End the callbacks."""
        self._alarms.close()
