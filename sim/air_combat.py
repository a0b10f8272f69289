"""Air combat: the geometry of one aircraft against another, guns with hit points, and what rewards may be made of.

Angles are those of the field (R. L. Shaw, Fighter Combat, 1985): the antenna train angle (ATA) lies between the own
nose and the line of sight, the aspect angle (AA) between the target's tail and the line of sight from it, so that an
attacker right behind has 0; the heading crossing angle (HCA) between the two velocities.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from pe_sim.arrays import Array, Vector, cross, dot, length, rotate, subtract
from pe_sim.quantities import Angle, Length
from pe_sim.schema import Strict
from pe_sim.state import Motion, State

GRAVITY = 9.80665
"""Standard gravity [m/s^2]."""

TERMS = ("range", "closing_speed", "sight_rate", "antenna_train", "aspect", "heading_crossing", "specific_energy")
"""Terms of a reward paid every tick, of each agent against its nearest opponent in play; angles in rad, else SI."""


COMBAT_OUTCOMES = ("pursuers_win", "evaders_win", "mutual_loss")
"""Outcomes with rules of combat: a side that has nobody left has lost, however that came."""


class GunSpec(Strict):
    """A gun, the same for all who have one.

    Attributes:
        teams: who has one: 'both' sides, the 'pursuers' or the 'evaders'.
        min_range: nearest target that it is fired at [m].
        max_range: farthest [m].
        angle: greatest angle between nose and target (ATA) [rad]: half of the cone.
        damage: hit points that a second in the zone takes from the target.
        hit_points: what every aircraft begins with; at 0 it is destroyed.
    """

    teams: Literal["both", "pursuers", "evaders"] = "both"
    min_range: Annotated[Length, Field(ge=0.0)] = 100.0
    max_range: Annotated[Length, Field(gt=0.0)] = 900.0
    angle: Annotated[Angle, Field(gt=0.0, le=math.pi)] = math.radians(5.0)
    damage: Annotated[float, Field(gt=0.0)] = 1.0
    hit_points: Annotated[float, Field(gt=0.0)] = 2.0

    @model_validator(mode="after")
    def _ordered(self) -> GunSpec:
        if self.min_range >= self.max_range:
            raise PydanticCustomError("gun", "min_range must be below max_range")
        return self


class CombatSpec(Strict):
    """Rules of air combat, beside capture: a side that has nobody left has lost.

    Attributes:
        gun: the weapon engagement zone; None where nobody shoots.
    """

    gun: GunSpec | None = GunSpec()


def loss_of(xp: Any, pursuers: Array, evaders: Array, codes: list[int]) -> Array:
    """Return the code of an outcome where a side has nobody left.

    Args:
        xp: array namespace.
        pursuers: whether no pursuer is left, bool (B,).
        evaders: whether no evader is left, bool (B,).
        codes: codes of :data:`COMBAT_OUTCOMES`.
    """
    return xp.where(pursuers & evaders, codes[2], xp.where(evaders, codes[0], codes[1]))


@dataclass
class Geometry:
    """One aircraft against another, pair by pair; arrays of any one shape.

    Attributes:
        range: [m].
        closing_speed: positive while the range shrinks [m/s].
        sight_rate: magnitude of the angular velocity of the line of sight [rad/s].
        antenna_train: ATA [rad].
        aspect: AA [rad].
        heading_crossing: HCA [rad].
    """

    range: Array
    closing_speed: Array
    sight_rate: Array
    antenna_train: Array
    aspect: Array
    heading_crossing: Array


def angle_between(xp: Any, a: Vector, b: Vector) -> Array:
    """Return the angle between two vectors [rad], 0 where one of them is zero; exact near 0 and pi too."""
    return xp.atan2(length(xp, cross(a, b)), dot(a, b))


def geometry(xp: Any, own: Motion, other: Motion) -> Geometry:
    """Return the geometry of attackers against targets, their shapes broadcast against each other."""
    sight = subtract(other.position, own.position)
    zero = sight[0] * 0.0
    own_velocity = rotate(own.attitude, own.velocity)
    velocity = rotate(other.attitude, other.velocity)
    relative = subtract(velocity, own_velocity)
    distance = length(xp, sight)
    safe = xp.where(distance > 0.0, distance, 1.0)
    one = own.position[0] * 0.0 + 1.0
    nose = rotate(own.attitude, (one, one * 0.0, one * 0.0))
    return Geometry(
        range=distance,
        closing_speed=-dot(sight, relative) / safe,
        sight_rate=length(xp, cross(sight, relative)) / (safe * safe),
        antenna_train=angle_between(xp, (nose[0] + zero, nose[1] + zero, nose[2] + zero), sight),
        aspect=angle_between(xp, velocity, sight),
        heading_crossing=angle_between(xp, own_velocity, velocity),
    )


def specific_energy(motion: Motion) -> Array:
    """Return height plus v^2 / 2 g: the energy per weight, or energy height [m]."""
    return motion.position[2] + dot(motion.velocity, motion.velocity) / (2.0 * GRAVITY)


@dataclass
class Fire:
    """What the guns did in a tick.

    Attributes:
        dealt: hit points taken from opponents by each agent, float64 (N, B).
        taken: hit points lost by each agent, float64 (N, B).
        destroyed: agents destroyed, bool (N, B).
    """

    dealt: Array
    taken: Array
    destroyed: Array


class Guns:
    """Fires every gun at the nearest opponent in its zone, all at once, and counts hit points.

    Args:
        spec: the gun.
        sides: team sides: indices of pursuers and of evaders.
        agents: number of agents.
        tick: length of a tick [s].
        xp: array namespace.

    Attributes:
        hit_points: what is left of each agent's, float64 (N, B); None before the first reset.
    """

    def __init__(self, spec: GunSpec, sides: tuple[list[int], list[int]], agents: int, tick: float, xp: Any) -> None:
        self._spec = spec
        self._agents = agents
        self._damage = spec.damage * tick
        self._xp = xp
        pursuers, evaders = sides
        self._duels = [
            (shooters, targets)
            for side, shooters, targets in (("pursuers", pursuers, evaders), ("evaders", evaders, pursuers))
            if spec.teams in ("both", side)
        ]
        self.hit_points: Array = None

    def reset(self, batch: int, rows: Array | None) -> None:
        """Restore everybody in the given engagements (indices; None for all B)."""
        xp = self._xp
        if rows is None or self.hit_points is None:
            self.hit_points = xp.full((self._agents, batch), self._spec.hit_points, dtype=xp.float64)
        else:
            self.hit_points[:, rows] = self._spec.hit_points

    def zone(self, state: State, shooters: list[int], targets: list[int]) -> tuple[Array, Array]:
        """Return which targets are in whose zone, bool (S, T, B), and the ranges [m]."""
        xp, spec, block = self._xp, self._spec, state.block
        pairs = geometry(xp, Motion(block[:, shooters][:, :, None]), Motion(block[:, targets][:, None]))
        near = (pairs.range >= spec.min_range) & (pairs.range <= spec.max_range)
        return near & (pairs.antenna_train <= spec.angle), pairs.range

    def fire(self, state: State, alive: Array) -> Fire | None:
        """Shoot; return what was hit, or None where nobody was in anybody's zone.

        Args:
            state: state after the tick.
            alive: agents in play, bool (N, B).
        """
        xp = self._xp
        if self.hit_points is None:
            self.reset(alive.shape[1], None)
        hits = []
        for shooters, targets in self._duels:
            inside, distance = self.zone(state, shooters, targets)
            inside = inside & alive[shooters][:, None] & alive[targets][None]
            first = xp.argmin(xp.where(inside, distance, xp.inf), axis=1)
            hits += [
                (shooter, target, inside[i, j] & (first[i] == j))
                for i, shooter in enumerate(shooters)
                for j, target in enumerate(targets)
            ]
        if not any(bool(xp.any(hit)) for _, _, hit in hits):
            return None
        return self._count(hits, alive)

    def _count(self, hits: list[tuple[int, int, Array]], alive: Array) -> Fire:
        xp = self._xp
        dealt = xp.zeros(alive.shape, dtype=xp.float64)
        taken = xp.zeros(alive.shape, dtype=xp.float64)
        for shooter, target, hit in hits:
            damage = xp.where(hit, self._damage, 0.0)
            dealt[shooter] = dealt[shooter] + damage
            taken[target] = taken[target] + damage
        self.hit_points = self.hit_points - taken
        # A thousandth of a tick's damage absorbs the rounding of many subtractions.
        return Fire(dealt, taken, (self.hit_points <= 1e-3 * self._damage) & alive & (taken > 0.0))


class CombatTerms:
    """Terms of the reward: each agent's geometry against its nearest opponent in play.

    Args:
        teams: team of every agent.
        xp: array namespace.
    """

    def __init__(self, teams: tuple[str, ...], xp: Any) -> None:
        self._xp = xp
        self._opponents = [[j for j, other in enumerate(teams) if other != team] for team in teams]
        self.in_play: Array | None = None

    def term(self, name: str) -> Callable[[State, Array | None], Array]:
        """Return the function of a term: (state, unused) -> float64 (N, B), 0 where no opponent is in play."""

        def value(state: State, nearest: Array | None) -> Array:
            del nearest
            if name == "specific_energy":
                return specific_energy(Motion(state.block))
            return self._xp.stack([self._against_nearest(state, i, name) for i in range(len(self._opponents))])

        return value

    def _against_nearest(self, state: State, agent: int, name: str) -> Array:
        xp, block, others = self._xp, state.block, self._opponents[agent]
        pairs = geometry(xp, Motion(block[:, agent][:, None]), Motion(block[:, others]))
        there = pairs.range == pairs.range if self.in_play is None else self.in_play[others]
        first = xp.argmin(xp.where(there, pairs.range, xp.inf), axis=0)
        values: Array = getattr(pairs, name)
        out = values[0] * 0.0
        for j in range(len(others)):
            out = xp.where((first == j) & there[j], values[j], out)
        return out
