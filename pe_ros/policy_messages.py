"""Messages of a policy: what decides, and what writes its actions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pe_ros.action_codec import ActionWriter
from pe_ros.conversions import duration_message, time_message
from pe_ros.msg import Action, PolicyMetadata
from pe_sim.actions import ActionSpec
from pe_sim.policies.base import Policy
from pe_sim.roles import RoleSpec


def metadata_message(
    policy: Policy, action: ActionSpec, spec: RoleSpec, *, agent: str, role: str, use: str, parameters: dict[str, Any],
    layout_sha256: str,
) -> PolicyMetadata:
    """Return what tells of the policy that decides for an agent, but for the stamp and the latency of its actions.

    Args:
        policy: the policy.
        action: what the agent can do.
        spec: its role's section of the engagement.
        agent: the agent.
        role: its role.
        use: which policy, as the engagement file names it.
        parameters: its parameters.
        layout_sha256: hash of the layout of what it sees.
    """
    return PolicyMetadata(
        agent=agent, role=role, policy=use, policy_sha256=policy.sha256,
        parameters=json.dumps(parameters, default=str), layout_sha256=layout_sha256,
        action_kind=action.kind, action_names=list(action.names), action_units=list(action.units),
        action_low=[float(v) for v in action.low], action_high=[float(v) for v in action.high],
        decision_rate=0.0 if spec.policy.rate is None else float(spec.policy.rate),
        decides_on=spec.policy.decide_on or "", valid_for=duration_message(spec.valid_for),
        recurrent=policy.recurrent, deterministic=policy.deterministic,
    )


def action_writer(
    agent: str, action: ActionSpec, sensors: Sequence[str], policy_sha256: str, valid_for: int
) -> ActionWriter:
    """Return what writes a policy's actions: everything that stays the same is filled in here.

    Args:
        agent: the agent.
        action: what it can do.
        sensors: whose readings its actions name, in order.
        policy_sha256: hash of the policy.
        valid_for: how long an action counts [ns].
    """
    message = Action(agent=agent, kind=action.kind, valid_for=duration_message(valid_for))
    message.header.frame_id = "world" if action.frame == "world" else f"{agent}/base_link"
    message.policy_sha256 = policy_sha256
    message.sensors = list(sensors)
    message.values = [0.0] * action.size
    message.observation_stamps = [time_message(0) for _ in sensors]
    message.observation_sequences = [0] * len(sensors)
    return ActionWriter(message)
