"""Whether a sensor's readings are all in the bag: gaps in their sequence numbers, per episode."""

from __future__ import annotations

from dataclasses import dataclass, field

SHOWN_GAPS = 10
"""Gaps that are listed one by one."""


@dataclass(frozen=True)
class Gap:
    """Readings that are not there.

    Attributes:
        episode: episode.
        first: first missing sequence number.
        count: how many in a row.
    """

    episode: int
    first: int
    count: int


@dataclass
class SequenceCheck:
    """Counts of one sensor's readings.

    Attributes:
        readings: in the bag.
        episodes: in which there are any.
        missing: numbers skipped, from 0 in each episode; those at an episode's end cannot be told.
        out_of_order: numbers that came again or late.
        lost_on_the_way: readings marked as dropped before they reached the agent.
        gaps: the first gaps.
    """

    readings: int = 0
    episodes: int = 0
    missing: int = 0
    out_of_order: int = 0
    lost_on_the_way: int = 0
    gaps: list[Gap] = field(default_factory=list)
    _expected: dict[int, int] = field(default_factory=dict, repr=False)

    def count(self, episode: int, sequence: int, *, dropped: bool) -> None:
        """Count one reading."""
        self.readings += 1
        self.lost_on_the_way += dropped
        if episode not in self._expected:
            self.episodes += 1
        expected = self._expected.get(episode, 0)
        if sequence < expected:
            self.out_of_order += 1
            return
        if sequence > expected:
            self.missing += sequence - expected
            if len(self.gaps) < SHOWN_GAPS:
                self.gaps.append(Gap(episode, expected, sequence - expected))
        self._expected[episode] = sequence + 1
