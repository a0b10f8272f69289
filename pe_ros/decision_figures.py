"""Figures of an agent's decisions: what its status and its summary tell of readings heard and time spent."""

from __future__ import annotations

from collections.abc import Iterable

from pe_ros.agent_summary import AgentSummary
from pe_ros.msg import AgentStatus
from pe_sim.timing import NANOSECONDS, seconds


class DecisionFigures:
    """Counts of one policy node; whoever calls holds its lock.

    Args:
        sensors: whose readings it decides on.

    Attributes:
        sequence: decisions of the present episode, the number of the next one.
        heard: sensor -> readings since the last status.
        newest_stamp: sensor -> time of the newest measurement [ns] of engagement time, -1 before the first.
    """

    def __init__(self, sensors: Iterable[str]) -> None:
        self._sensors = tuple(sensors)
        self._total = self._total_missed = 0
        self._total_time = self._longest = 0.0
        self.begin(0)

    def begin(self, now: int) -> None:
        """Begin an episode, at ROS time ``now`` [ns]."""
        self.sequence = 0
        self.heard = dict.fromkeys(self._sensors, 0)
        self.newest_stamp = dict.fromkeys(self._sensors, -1)
        self._missed = 0
        self._spent: list[float] = []
        self._window, self._decided_before = now, 0

    def decided(self, spent: int) -> None:
        """Count a decision that took ``spent`` [ns]."""
        taken = spent / NANOSECONDS
        self.sequence += 1
        self._total += 1
        self._total_time += taken
        self._longest = max(self._longest, taken)
        self._spent.append(taken)

    def missed(self, count: int = 1) -> None:
        """Count decisions that were due and not taken."""
        self._missed += count
        self._total_missed += count

    def fill(self, message: AgentStatus, now: int, start: int | None) -> None:
        """Tell rates, ages, decisions and inference times, and begin to count anew.

        Args:
            message: the status.
            now: ROS time [ns].
            start: ROS time of engagement time zero [ns], None while unknown.
        """
        elapsed = seconds(now - self._window)
        for name, stamp in self.newest_stamp.items():
            known = stamp >= 0 and start is not None
            message.sensors.append(name)
            message.rates.append(self.heard[name] / elapsed if elapsed > 0 else 0.0)
            message.ages.append(seconds(now - (start or 0) - stamp) if known else -1.0)
            self.heard[name] = 0
        message.decision_rate = (self.sequence - self._decided_before) / elapsed if elapsed > 0 else 0.0
        message.decisions = self.sequence
        message.missed_deadlines = self._missed
        if self._spent:
            message.inference_time_mean = sum(self._spent) / len(self._spent)
            message.inference_time_max = max(self._spent)
        self._spent = []
        self._window, self._decided_before = now, self.sequence

    def add_to(self, summary: AgentSummary) -> None:
        """Add decisions and inference times of all episodes."""
        summary.decisions += self._total
        summary.missed_deadlines += self._total_missed
        summary.inference_time_mean = self._total_time / max(1, self._total)
        summary.inference_time_max = self._longest
