"""How old the newest reading of a decision may be: a policy whose sensors are gone decides on, and flies blind."""

from __future__ import annotations

from collections.abc import Mapping

from pe_sim.sensors.base import SensorSpec
from pe_sim.timing import NANOSECONDS, Schedule

LEAST = NANOSECONDS
"""Younger readings are never too old [ns]."""

READINGS = 20
"""So many readings of the quickest sensor in a row may be expected and not come; of a lossy one more are expected."""


def longest_blindness(sensors: Mapping[str, SensorSpec]) -> int | None:
    """Return how old the newest reading of all sensors may be [ns]; None for an agent without sensors.

    Args:
        sensors: the sensors of its role.
    """
    if not sensors:
        return None
    return max(LEAST, min(map(_silence, sensors.values())))


def _silence(spec: SensorSpec) -> int:
    period = Schedule(spec.rate, spec.phase).period
    return round(READINGS * period / max(1.0 - spec.dropout, 1e-3)) + spec.latency + spec.jitter
