"""What the values of a reading mean."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass


@dataclass(frozen=True)
class SensorLayout:
    """What a reading's values mean, for one agent.

    Attributes:
        sensor: name in the engagement file.
        kind: sensor kind.
        frame: 'body' or 'world'.
        fields: one name per value; '<target>.<quantity>' for a sensor of targets, '<sender>.<target>.<quantity>' for a
            link. Where identities are hidden the target is 'detection_<i>' (an opponent) or 'contact_<i>' (anybody).
        units: one per value, SI; '1' where there is none.
    """

    sensor: str
    kind: str
    frame: str
    fields: tuple[str, ...]
    units: tuple[str, ...]


def layout_sha256(layouts: list[SensorLayout]) -> str:
    """Return the hash of the canonical description of an agent's sensors."""
    return hashlib.sha256(json.dumps([vars(layout) for layout in layouts], sort_keys=True).encode()).hexdigest()
