"""Where a recording comes from: the engagement, its seed, the clock and the policies, kept inside the bag."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

IN_PROGRESS = "in progress"
"""State of a bag that is being recorded, or whose recorder was killed."""
COMPLETE = "complete"
"""State of a bag whose recorder closed it."""
REPAIRED = "repaired"
"""State of a bag that was recovered after its recorder was killed."""
STOPPED = "stopped early"
"""State of a bag whose recorder could not go on; the reason follows after a colon."""

SYSTEM_CLOCK = "system"
SIMULATED_CLOCK = "simulated"


@dataclass(frozen=True)
class Provenance:
    """What a bag says about itself beyond its topics; all of it may become known while recording.

    Attributes:
        engagement: name in the engagement file.
        engagement_sha256: hash of the resolved engagement file.
        engagement_file: text of the resolved engagement file.
        seed: seed of the engagement, None where unknown.
        clock: ``system`` or ``simulated``: the clock of the messages' log times.
        pace: realtime, lockstep or wall.
        policies: hash of the deciding policy by agent.
        pe_ros_version: version of the package that recorded.
        recording: state: in progress, complete, repaired, or stopped early with the reason.
        dropped: messages received but not written, because writing did not keep up or had stopped.
        lost: messages that never reached the recorder, by the gaps in the numbers of topics with one publisher.
    """

    engagement: str = ""
    engagement_sha256: str = ""
    engagement_file: str = ""
    seed: int | None = None
    clock: str = SYSTEM_CLOCK
    pace: str = ""
    policies: Mapping[str, str] = field(default_factory=dict)
    pe_ros_version: str = ""
    recording: str = IN_PROGRESS
    dropped: int = 0
    lost: int = 0

    def to_custom_data(self) -> dict[str, str]:
        """Return the key-value pairs of strings that go into metadata.yaml and into the MCAP file."""
        return {
            "engagement": self.engagement,
            "engagement_sha256": self.engagement_sha256,
            "engagement_file": self.engagement_file,
            "seed": "" if self.seed is None else str(self.seed),
            "clock": self.clock,
            "pace": self.pace,
            "policies": json.dumps(dict(sorted(self.policies.items())), ensure_ascii=False),
            "pe_ros_version": self.pe_ros_version,
            "recording": self.recording,
            "dropped": str(self.dropped),
            "lost": str(self.lost),
        }

    @classmethod
    def from_custom_data(cls, data: Mapping[str, str]) -> Provenance:
        """Return the provenance in a bag's key-value pairs; what is absent or unreadable takes its default."""
        return cls(
            engagement=data.get("engagement", ""),
            engagement_sha256=data.get("engagement_sha256", ""),
            engagement_file=data.get("engagement_file", ""),
            seed=_integer(data.get("seed", "")),
            clock=data.get("clock", ""),
            pace=data.get("pace", ""),
            policies=_string_mapping(data.get("policies", "")),
            pe_ros_version=data.get("pe_ros_version", ""),
            recording=data.get("recording", COMPLETE),
            dropped=_integer(data.get("dropped", "")) or 0,
            lost=_integer(data.get("lost", "")) or 0,
        )

    def with_policy(self, agent: str, policy_sha256: str) -> Provenance:
        """Return a copy that names the policy which decides for an agent."""
        return replace(self, policies={**self.policies, agent: policy_sha256})


def _integer(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


def _string_mapping(text: str) -> dict[str, str]:
    try:
        value: Any = json.loads(text)
    except ValueError:
        return {}
    return {str(k): str(v) for k, v in value.items()} if isinstance(value, dict) else {}
