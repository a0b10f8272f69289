"""The quality of service a publisher offered, as a bag keeps it: what ``ros2 bag play`` offers again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pe_sim.errors import BagError
from pe_sim.timing import NANOSECONDS

INFINITE = 2**63 - 1
"""Duration that means 'no limit' [ns], as in RMW_DURATION_INFINITE."""


@dataclass(frozen=True)
class OfferedQos:
    """One publisher's quality of service.

    Attributes:
        history: keep_last, keep_all, system_default or unknown (what discovery tells of remote publishers).
        depth: messages kept with keep_last.
        reliability: reliable or best_effort.
        durability: volatile or transient_local (latched).
        deadline: longest time between two messages [ns].
        lifespan: time after which a message is worthless [ns].
        liveliness: automatic or manual_by_topic.
        liveliness_lease_duration: time without a sign of life after which a publisher counts as dead [ns].
    """

    history: str = "unknown"
    depth: int = 0
    reliability: str = "reliable"
    durability: str = "volatile"
    deadline: int = INFINITE
    lifespan: int = INFINITE
    liveliness: str = "automatic"
    liveliness_lease_duration: int = INFINITE

    def to_mapping(self) -> dict[str, Any]:
        """Return the mapping that rosbag2 writes since metadata version 9."""
        return {
            "history": self.history,
            "depth": self.depth,
            "reliability": self.reliability,
            "durability": self.durability,
            "deadline": _seconds_and_nanoseconds(self.deadline),
            "lifespan": _seconds_and_nanoseconds(self.lifespan),
            "liveliness": self.liveliness,
            "liveliness_lease_duration": _seconds_and_nanoseconds(self.liveliness_lease_duration),
            "avoid_ros_namespace_conventions": False,
        }

    @classmethod
    def from_mapping(cls, mapping: dict[str, Any]) -> OfferedQos:
        """Return the quality of service that rosbag2 wrote, with policies as words (version 9) or numbers (before).

        Raises:
            BagError: the mapping is not one of rosbag2's.
        """
        try:
            return cls(
                history=_policy("history", mapping["history"]),
                depth=int(mapping["depth"]),
                reliability=_policy("reliability", mapping["reliability"]),
                durability=_policy("durability", mapping["durability"]),
                deadline=_nanoseconds(mapping["deadline"]),
                lifespan=_nanoseconds(mapping["lifespan"]),
                liveliness=_policy("liveliness", mapping["liveliness"]),
                liveliness_lease_duration=_nanoseconds(mapping["liveliness_lease_duration"]),
            )
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise BagError("offered_qos_profiles", f"not a profile of rosbag2: {error!r}", mapping) from None


_POLICIES = {
    "history": ("system_default", "keep_last", "keep_all", "unknown"),
    "reliability": ("system_default", "reliable", "best_effort", "unknown", "best_available"),
    "durability": ("system_default", "transient_local", "volatile", "unknown", "best_available"),
    "liveliness": ("system_default", "automatic", "manual_by_node", "manual_by_topic", "unknown", "best_available"),
}


def _policy(kind: str, value: Any) -> str:
    return _POLICIES[kind][value] if isinstance(value, int) else str(value)


def _seconds_and_nanoseconds(duration: int) -> dict[str, int]:
    return {"sec": duration // NANOSECONDS, "nsec": duration % NANOSECONDS}


def _nanoseconds(mapping: dict[str, Any]) -> int:
    return min(int(mapping["sec"]) * NANOSECONDS + int(mapping["nsec"]), INFINITE)
