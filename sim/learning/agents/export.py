"""From an agent that learned in an engagement to the bundle that flies there, on ROS 2 as in simulation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from pe_sim.engagement import Engagement
from pe_sim.errors import PeError
from pe_sim.learning.agents.agent import Agent
from pe_sim.learning.agents.q_networks import BoundedActor, SquashedGaussianActor
from pe_sim.learning.networks import Actor, Critic, plain
from pe_sim.policies.bundle import Bundle, Normalisation, Weights, write
from pe_sim.policies.describe import describe
from pe_sim.policies.networks import NetworkSpec

UNSCALED = 1e30
"""Bound of observations that are not scaled: beyond all that is ever observed."""


def export_bundle(
    agent: Agent, engagement: Engagement, role: str, path: str | Path, evaluation: dict[str, Any] | None = None
) -> Bundle:
    """Write what flies of an agent, the scaling of its observations included, as a bundle for a role.

    The bundle decides what the agent does in tests.

    Args:
        agent: trained in :class:`~pe_sim.envs.single_pursuit.SinglePursuit` of this engagement and role.
        engagement: the engagement.
        role: the role it learned.
        path: directory of the bundle.
        evaluation: what it achieved.

    Raises:
        PeError: if the agent was made for other observations or actions, or cannot be written.
    """
    weights, squashed = _network_of(agent)
    count = sum(name.endswith(".weight") for name in weights) - 1  # the last one is the head
    hidden = tuple(len(weights[f"layers.{i}.weight"]) for i in range(count))
    scaled = bool(getattr(agent.config, "use_obsnorm", False))
    clip = float(getattr(agent.config, "obsnorm_range", 5)) if scaled else UNSCALED
    provenance = {
        "algorithm": type(agent).__name__, "steps": agent.current_step, "updates": agent.learner.iterations,
        "seed": int(agent.config.seed), "engagement": engagement.engagement, "engagement_sha256": engagement.sha256,
        "torch": str(torch.__version__),
    }
    description = describe(
        engagement, role, NetworkSpec(hidden=hidden), normalisation=Normalisation(clip=clip), provenance=provenance,
        evaluation=evaluation,
    )
    description = description.squashed() if squashed else description
    seen, outputs = len(description.observation), description.outputs
    if (agent.inputs, agent.scale.size, agent.discrete) != (seen, outputs, description.distribution == "categorical"):
        given = f"{agent.inputs} values and {agent.scale.size} {'choices' if agent.discrete else 'values'}"
        raise PeError(f"role {role}", f"sees {seen} values and has {outputs} outputs, the agent was made for {given}")
    ones = np.ones(agent.inputs, np.float32)
    weights["normalisation.mean"] = agent.obs_rms.mean if scaled else 0.0 * ones
    weights["normalisation.deviation"] = agent.obs_rms.deviation if scaled else ones
    return write(Path(path), description, {f"0.{name}": values for name, values in weights.items()})


def _network_of(agent: Agent) -> tuple[Weights, bool]:
    """Return the weights of what chooses the actions, as a bundle names them, and whether its values are squashed.

    Raises:
        PeError: if it is no network of linear layers.
    """
    networks = dict(agent.policy.items())
    actor, judge = networks.get("actor"), networks.get("q")
    if isinstance(actor, Actor):
        return actor.weights(), False
    if isinstance(judge, Critic):  # what it judges best is what it does
        values: Weights = plain(judge.body.state_dict())
        return values, False
    if isinstance(actor, BoundedActor | SquashedGaussianActor):
        bounded: Weights = plain(actor.body.state_dict())
        if isinstance(actor, SquashedGaussianActor):  # means first, then deviations: the means are what is flown
            for name in ("head.weight", "head.bias"):
                bounded[name] = bounded[name][: agent.scale.size].copy()
        return bounded, True
    raise PeError(type(agent).__name__, "has no network that a bundle can hold")
