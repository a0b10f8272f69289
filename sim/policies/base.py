"""The contract of a policy: what it is told about its agents, what it sees, what it answers.

A policy decides for the agents of one role: all of them in a batch (env, training), or one of them in one engagement
(policy node). It is the same object either way, so that what was trained is what flies.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from pe_sim.actions import ActionSpec
from pe_sim.arrays import Array
from pe_sim.perception import Perception
from pe_sim.sensors.base import SensorSpec
from pe_sim.sensors.channel import SensorLayout
from pe_sim.sensors.inbox import SensorView
from pe_sim.worlds.base import WorldSpec

if TYPE_CHECKING:
    from pe_sim.engagement import Engagement

Views = dict[str, SensorView]
"""Sensor name -> what the agents know from it."""


@dataclass(frozen=True)
class PolicyContext:
    """What a policy is told once about the agents it decides for.

    Attributes:
        role: their role.
        agents: their names, n of them.
        numbers: their places in the role.
        layouts: per agent, the layouts of its sensors in order.
        action: what they can do.
        opponents: names of the agents of other teams.
        teammates: names of all agents of the own team, in order.
        limits: limits of their dynamics, e.g. {'max_speed': 12.0}.
        dimensions: 2 or 3.
        period: nominal time between decisions [ns].
        batch: number of engagements B.
        xp: array namespace.
        world: the world's section of the engagement file: what may be known beforehand (arena, obstacles); None where
            nothing is.
        sensors: sensor name -> its section of the engagement file.
        rate: decisions per second [Hz]; None where a sensor's readings trigger them, or where it is not known.
        decide_on: the sensor whose readings trigger decisions, or None.
        latency: from a decision to its effect [ns].
    """

    role: str
    agents: tuple[str, ...]
    numbers: tuple[int, ...]
    layouts: tuple[tuple[SensorLayout, ...], ...]
    action: ActionSpec
    opponents: tuple[str, ...]
    teammates: tuple[str, ...]
    limits: dict[str, Any]
    dimensions: int
    period: int
    batch: int
    xp: Any
    world: WorldSpec | None = None
    sensors: Mapping[str, SensorSpec] = field(default_factory=dict)
    rate: Fraction | None = None
    decide_on: str | None = None
    latency: int = 0

    def layout(self, sensor: str, agent: int = 0) -> SensorLayout:
        """Return the layout of one sensor of one agent."""
        return next(layout for layout in self.layouts[agent] if layout.sensor == sensor)


class Policy(ABC):
    """Decides for n agents in B engagements.

    Attributes:
        deterministic: whether what it has seen settles what it does; False where it draws, from keyed streams.
        recurrent: whether it remembers more than its own past actions from one decision to the next.
    """

    deterministic: bool = True
    recurrent: bool = False

    def __init__(self, context: PolicyContext) -> None:
        self.context = context
        self.xp = context.xp

    @property
    @abstractmethod
    def sha256(self) -> str:
        """Hash of everything that determines the decisions: weights, or law and parameters."""

    @abstractmethod
    def reset(self, roots: Array, rows: Array | None) -> None:
        """Begin episodes.

        Args:
            roots: root stream keys, int64 (R,).
            rows: engagements, indices (R,); None for all.
        """

    @abstractmethod
    def decide(self, views: Views, now: Array, due: Array) -> Array:
        """Return the actions.

        Args:
            views: what the agents know.
            now: instant decided for [ns], int64 (B,).
            due: who decides, bool (n, B); the others' values are ignored and their memory must not change.

        Returns:
            float32 (A, n, B), in the action's units.
        """

    def warm_up(self) -> None:  # noqa: B027 - nothing to do is a fair answer
        """Do the slow first work (compile, allocate) before the agent may act."""


def context_of(
    engagement: Engagement, role: str, action: ActionSpec, batch: int, xp: Any, numbers: list[int] | None = None
) -> PolicyContext:
    """Return the context of a role's policy in an engagement; ``numbers`` selects agents of the role."""
    spec = engagement.roles[role]
    places = list(range(spec.count)) if numbers is None else numbers
    perception = Perception(engagement, role, batch, xp, places)
    named = dict(zip(engagement.agents, engagement.teams, strict=True))
    return PolicyContext(
        role=role,
        agents=tuple(f"{role}_{number}" for number in places),
        numbers=tuple(places),
        layouts=tuple(tuple(perception.layouts(place)) for place in range(len(places))),
        action=action,
        opponents=tuple(name for name, team in named.items() if team != spec.team),
        teammates=tuple(name for name, team in named.items() if team == spec.team),
        limits=spec.dynamics.model_dump(),
        dimensions=getattr(engagement.world, "dimensions", 2 if engagement.world.backend == "grid" else 3),
        period=spec.trigger.period,
        batch=batch,
        xp=xp,
        world=engagement.world,
        sensors=spec.sensors,
        rate=spec.policy.rate,
        decide_on=spec.policy.decide_on,
        latency=spec.action.latency,
    )
