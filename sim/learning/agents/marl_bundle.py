"""From multi-agent cores trained in an engagement to the policy bundle of a role, which nodes and environments fly."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np

from pe_sim.engagement import Engagement
from pe_sim.errors import PeError
from pe_sim.learning.agents.marl_agents import MARLAgents
from pe_sim.learning.agents.marl_maddpg import MADDPGAgents
from pe_sim.policies.bundle import Bundle, Normalisation, Weights, write
from pe_sim.policies.describe import describe
from pe_sim.policies.networks import NetworkSpec

UNBOUNDED = 1e6
"""Clip of observations that were not scaled in training."""


def write_role_bundle(
    agents: MARLAgents, engagement: Engagement, role: str, path: Path, evaluation: dict[str, Any] | None = None
) -> Bundle:
    """Write the bundle of a role: a network for each of its agents, which flies what is most probable or thought best.

    Args:
        agents: what was trained, in this engagement.
        engagement: the engagement.
        role: a role whose agents learnt.
        path: directory of the bundle.
        evaluation: what it achieved.

    Raises:
        PeError: if no bundle can hold the networks, or the role's agents did not learn.
    """
    members = [agent for agent in engagement.agents if engagement.role_of(agent) == role]
    if not members or not set(members) <= set(agents.agent_keys):
        raise PeError(role, "is no role whose agents learnt", cure=f"they are {', '.join(agents.agent_keys)}")
    weights: Weights = {}
    for number, agent in enumerate(members):
        try:
            exported = agents.export(agent)
        except ValueError as fault:
            raise PeError(agent, str(fault)) from fault
        size = agents.sizes[agent]
        exported.setdefault("normalisation.mean", np.zeros(size, np.float32))
        exported.setdefault("normalisation.deviation", np.ones(size, np.float32))
        weights |= {f"{number}.{name}": values for name, values in exported.items()}
    scaled = getattr(agents.config, "use_obsnorm", False)
    clip = float(getattr(agents.config, "obsnorm_range", 5)) if scaled else UNBOUNDED
    provenance = {"algorithm": type(agents).__name__, "steps": agents.current_step, "updates": agents.iterations}
    description = describe(
        engagement, role, _shape(weights), members=len(members), normalisation=Normalisation(clip=clip),
        provenance={**provenance, "engagement": engagement.engagement, "engagement_sha256": engagement.sha256},
        evaluation=evaluation,
    )
    if isinstance(agents, MADDPGAgents):
        description = description.squashed()
    return write(path, description, weights)


def _shape(weights: Weights) -> NetworkSpec:
    """Return the shape of the networks that weights are of."""
    hidden: list[int] = []
    while f"0.layers.{len(hidden)}.bias" in weights:
        hidden.append(len(weights[f"0.layers.{len(hidden)}.bias"]))
    units: tuple[Literal["gru", "lstm"], ...] = ("gru", "lstm")
    for unit in units:
        if f"0.{unit}.weight_hh" in weights:
            memory = weights[f"0.{unit}.weight_hh"].shape[1]
            return NetworkSpec(hidden=tuple(hidden), recurrent=unit, memory=memory)
    return NetworkSpec(hidden=tuple(hidden))
