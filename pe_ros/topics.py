"""Names of topics, services and nodes: relative, so that namespaces and remapping work. One place for all of them."""

from __future__ import annotations

ENGAGEMENT_STATE = "engagement/state"
START = "engagement/start"
STOP = "engagement/stop"
RESET = "engagement/reset"
STOP_ALL = "engagement/stop_all"
MARKERS = "engagement/markers"
CLOCK = "/clock"


def odom(agent: str) -> str:
    """nav_msgs/Odometry of an agent, from the simulation or from the vehicle."""
    return f"{agent}/odom"


def observation(agent: str, sensor: str) -> str:
    """pe_ros/Observation: readings of one sensor."""
    return f"{agent}/observation/{sensor}"


def layout(agent: str) -> str:
    """pe_ros/ObservationLayout, latched."""
    return f"{agent}/observation_layout"


def metadata(agent: str) -> str:
    """pe_ros/PolicyMetadata, latched."""
    return f"{agent}/policy_metadata"


def action(agent: str) -> str:
    """pe_ros/Action: what the policy decided."""
    return f"{agent}/action"


def command(agent: str) -> str:
    """pe_ros/Action: what the gate let through."""
    return f"{agent}/command"


def applied(agent: str) -> str:
    """pe_ros/Action: what took effect, and when."""
    return f"{agent}/applied"


def status(agent: str) -> str:
    """pe_ros/AgentStatus."""
    return f"{agent}/status"


def safety_event(agent: str) -> str:
    """pe_ros/SafetyEvent."""
    return f"{agent}/safety_event"


def stop(agent: str) -> str:
    """std_srvs/Trigger: stop the agent and latch it."""
    return f"{agent}/stop"


def release(agent: str) -> str:
    """std_srvs/Trigger: release a latched stop."""
    return f"{agent}/release"


def sensor_node(agent: str) -> str:
    """Name of an agent's sensor node."""
    return f"{agent}_sensors"


def policy_node(agent: str) -> str:
    """Name of an agent's policy node."""
    return f"{agent}_policy"


def gate_node(agent: str) -> str:
    """Name of an agent's gate node."""
    return f"{agent}_gate"
