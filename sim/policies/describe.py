"""From the agents of an engagement to the description of a bundle made for them."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from pe_sim import registry
from pe_sim.arrays import namespace
from pe_sim.engagement import Engagement
from pe_sim.envs.flatten import Flattener
from pe_sim.policies.base import PolicyContext, context_of
from pe_sim.policies.bundle import Description, Normalisation, Weights
from pe_sim.policies.contract import contract_of, generalised
from pe_sim.policies.networks import NetworkSpec


def context_for(engagement: Engagement, role: str) -> PolicyContext:
    """Return the context of all agents of a role, in a batch of one."""
    xp = namespace()
    world = registry.lookup("pe_sim.worlds", engagement.world.backend)(engagement, 1, xp)
    try:
        return context_of(engagement, role, world.action_spec(role), 1, xp)
    finally:
        world.close()


def describe(
    engagement: Engagement, role: str, network: NetworkSpec, *, members: int = 1, deterministic: bool = True,
    normalisation: Normalisation | None = None, provenance: dict[str, Any] | None = None,
    evaluation: dict[str, Any] | None = None,
) -> Description:
    """Return the description of a policy for a role of an engagement, made to fit its first agent.

    Args:
        engagement: the engagement.
        role: the role.
        network: shape of the network.
        members: number of networks, see :class:`Description`.
        deterministic: whether the most probable action is flown.
        normalisation: how observations are scaled.
        provenance: how it was made.
        evaluation: what it achieved.
    """
    context = context_for(engagement, role)
    observe = engagement.roles[role].observe
    layout = Flattener(observe, context.layouts[0], context.action).layout
    distribution: Literal["categorical", "gaussian"] = "categorical" if context.action.discrete else "gaussian"
    return Description(
        role=role, contract=contract_of(context), observe=observe,
        observation=tuple(generalised(context, 0, name) for name in layout.names), units=layout.units,
        normalisation=normalisation or Normalisation(), network=network, members=members, distribution=distribution,
        deterministic=deterministic, provenance=provenance or {}, evaluation=evaluation or {},
    )


def random_weights(description: Description, seed: int = 0, scale: float = 1.0) -> Weights:
    """Return weights drawn at random (He et al., 2015), no scaling of observations: a policy that knows nothing yet."""
    rng = np.random.default_rng(seed)
    weights: Weights = {}
    for name, shape in description.shapes().items():
        if name.endswith("deviation"):
            weights[name] = np.ones(shape, np.float32)
        elif len(shape) == 2:
            weights[name] = (rng.standard_normal(shape) * scale * np.sqrt(2.0 / shape[1])).astype(np.float32)
        else:
            weights[name] = np.zeros(shape, np.float32)
    return weights
