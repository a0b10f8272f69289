"""The parameters of every node, by kind; nodes and launch files read this one list."""

from __future__ import annotations

from pe_ros.parameters import Declared

COMMON = (
    Declared("engagement", "", "Engagement file (YAML): its path, or the name of a shipped one."),
    Declared("overrides", "", "JSON object of dotted keys to replace in the engagement file."),
    Declared(
        "pace", "realtime", "How time passes: by the clock, as fast as decisions come, or with real vehicles.",
        choices=("realtime", "lockstep", "wall"),
    ),
)
"""Parameters of every node."""

AGENT = (
    Declared("agent", "", "Name of the agent, '<role>_<number>'."),
    Declared("autostart", default=True, description="Configure and activate at once, without a lifecycle manager."),
)
"""Parameters of every node of an agent."""

FRAME = Declared("world_frame", "world", "Frame of positions.")

NODES: dict[str, tuple[Declared, ...]] = {
    "sim": (
        FRAME,
        Declared("realtime_factor", 1.0, "Engagement seconds per wall second.", low=0.01, high=100.0),
    ),
    "referee": (
        Declared("seed", -1, "Seed of the run; -1 for the engagement file's.", low=-1, high=2**63 - 1),
        Declared("episodes", 1, "Episodes to run one after another; 0 for no end.", low=0, high=10**9),
        Declared("begin", default=True, description="Begin the first episode at once, without engagement/start."),
        Declared("exit_when_done", default=False, description="End the process after the last episode."),
        Declared(
            "ready_limit", 30.0, "Seconds to wait for all agents before the missing ones are named.",
            low=0.1, high=3600.0,
        ),
        Declared(
            "recorder", "", "Name of a recorder in another process that must hear every topic before the first episode."
        ),
        Declared("rate", 10.0, "States published, and vehicles judged, per second.", low=0.1, high=200.0),
    ),
    "sensors": (*AGENT, FRAME),
    "policy": (
        *AGENT,
        Declared("policy", "", "Policy to use instead of the engagement file's: guidance/<name>, or a bundle."),
        Declared("policy_parameters", "", "JSON object of its parameters, with 'policy'."),
        Declared(
            "extra_inference_time", 0.0, "Seconds slept in each decision: to try what a slow policy does.",
            low=0.0, high=10.0,
        ),
    ),
    "gate": (
        *AGENT,
        Declared(
            "watchdog", 0.0,
            "Seconds without an action after which the agent is stopped; 0 for the action's validity plus two decision "
            "periods. Not used in lockstep, where time waits for the policy.",
            low=0.0, high=60.0,
        ),
        Declared(
            "blindness", 0.0,
            "Greatest age [s] of the newest reading that an action was decided on; an older one counts as no action. "
            "0 for 20 readings of the quickest sensor, at least 1 s. Not used in lockstep.",
            low=0.0, high=3600.0,
        ),
    ),
}
"""Node kind -> its parameters beside the common ones."""

PROCESSES = (("sim", "referee"), ("sensors", "policy", "gate"))
"""Kinds of nodes that may share a process, and with it one set of overrides."""


def of(kind: str) -> tuple[Declared, ...]:
    """Return all parameters of a kind of node."""
    return (*COMMON, *NODES[kind])


def elsewhere(kind: str) -> tuple[Declared, ...]:
    """Return the parameters of the other nodes that may share a process with a kind of node."""
    group = next(group for group in PROCESSES if kind in group)
    return tuple(one for other in group if other != kind for one in NODES[other])
