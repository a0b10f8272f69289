"""The engagements that the benchmarks run: the shipped 3-on-1 with the rates and numbers in question."""

from __future__ import annotations

from typing import Any

LASTING = {"rules.capture.radius": 0.001}
"""Nobody is ever caught: an episode lasts its time limit."""


def lockstep() -> dict[str, Any]:
    """3-on-1, everybody sensing and deciding at 20 Hz, 20 s of engagement time."""
    return {
        **LASTING,
        "rules.time_limit": "20 s",
        "roles.pursuer.sensors.own_motion.rate": "20 Hz",
        "roles.evader.sensors.own_motion.rate": "20 Hz",
        "roles.evader.sensors.tracker.rate": "20 Hz",
        "roles.evader.policy.rate": "20 Hz",
    }


def ten_agents(duration: float) -> dict[str, Any]:
    """Nine on one, everybody sensing and deciding at 50 Hz."""
    changes: dict[str, Any] = {
        **LASTING,
        "rules.time_limit": duration,
        "world.min_separation": 1.0,
        "world.min_start_distance": 10.0,
        "roles.pursuer.count": 9,
    }
    for role, sensors in (("pursuer", ("own_motion", "radar")), ("evader", ("own_motion", "tracker"))):
        changes[f"roles.{role}.policy.rate"] = "50 Hz"
        changes[f"roles.{role}.policy.phase"] = "15 ms"
        for sensor in sensors:
            changes[f"roles.{role}.sensors.{sensor}.rate"] = "50 Hz"
            changes[f"roles.{role}.sensors.{sensor}.latency"] = 0
    return changes


def chain(duration: float) -> dict[str, Any]:
    """One on one; the pursuer decides whenever its radar speaks, with no latency but that of the software."""
    return {
        **LASTING,
        "rules.time_limit": duration,
        "roles.pursuer.count": 1,
        "roles.pursuer.sensors.radar.latency": 0,
        "roles.pursuer.sensors.radar.rate": "50 Hz",
        "roles.pursuer.policy": {"use": "guidance/pure_pursuit", "decide_on": "radar"},
        "roles.pursuer.action.latency": 0,
    }
