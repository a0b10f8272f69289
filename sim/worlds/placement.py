"""Start places: drawn per agent until far enough from those already placed, the same for a row alone or in a batch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticCustomError

from pe_sim import streams
from pe_sim.arrays import Array, Vector
from pe_sim.draws import draw_of
from pe_sim.errors import EngagementError

if TYPE_CHECKING:
    from pe_sim.engagement import Engagement

ATTEMPTS = 5000
"""Draws per agent, at least, before a start is called impossible."""

START_DISTANCE, SEPARATION = "world.min_start_distance", "world.min_separation"
DISTANCES = {START_DISTANCE, SEPARATION}
"""Paths of the least distances at the start."""

FEW, MANY = 4, 64
"""Draws made at once for agents whose first place was not good: so many at first, up to so many later."""

Propose = Callable[[slice, Array, Any], Vector]
"""(agents, their stream keys (n, R), number of the attempt) -> positions (n, R), x NaN where the place is not free.

The attempt is a number or an array like the keys; draw with it, e.g. ``streams.uniform(xp, keys, attempt, axis)``.
"""


class StartPlaces:
    """Draws where the agents of a world start.

    Args:
        engagement: gives the least distances between opponents and between any two agents.
        xp: array namespace.
        propose: what draws positions; the first that is free and far enough from the agents before it is taken.
        radii: of bodies that must not overlap at the start [m]; None where they may.

    Attributes:
        rows: which of the engagements being drawn the positions asked for now belong to, indices (R,), for a world
            whose own parameters differ between engagements; None for all of them in order.
    """

    def __init__(
        self, engagement: Engagement, xp: Any, propose: Propose, radii: Sequence[float] | None = None
    ) -> None:
        self._engagement = engagement
        self._xp = xp
        self._propose = propose
        self._names = agent_names(engagement, xp)
        self._least = _least_distances(engagement, xp, radii)
        self._drawn = DrawnDistances(engagement, xp, radii) if DISTANCES & set(engagement.randomise) else None
        self.rows: Array | None = None

    def draw(self, keys: Array) -> Array:
        """Return a start position for every agent, float64 (3, N, R), from root keys (R,).

        Raises:
            EngagementError: if no start is found: the arena is too small for the distances asked for.
        """
        xp = self._xp
        key = agent_keys(keys, "start", self._names)
        self.rows = None
        if self._drawn is not None:
            self._least = self._drawn.values(keys)
        places = xp.stack(list(self._propose(slice(0, len(key)), key, 0)))
        for agent in range(len(key)):
            good = _far_enough(xp, places[:, agent], places[:, :agent], self._least[agent])
            if not xp.all(good):
                self._draw_again(agent, places, key[agent], xp.nonzero(~good)[0])
        return places

    def _draw_again(self, agent: int, places: Array, key: Array, rows: Array) -> None:
        """Write new places of an agent in the engagements ``rows``, away from the agents before it."""
        xp = self._xp
        first, count = 1, FEW
        while first <= ATTEMPTS:
            many = len(rows)
            others = places[:, :agent][:, :, rows][:, :, None]
            numbers = xp.arange(first, first + count, dtype=xp.int64)[:, None] + xp.zeros((1, many), dtype=xp.int64)
            keys = key.take(rows) + numbers * 0
            self.rows = xp.reshape(rows + numbers * 0, (-1,))
            drawn = self._propose(slice(agent, agent + 1), keys.reshape(1, -1), numbers.reshape(1, -1))
            place = xp.stack([part.reshape(count, many) for part in drawn])
            least = self._least[agent] if self._drawn is None else self._least[agent][:, None, rows]
            good = _far_enough(xp, place, others, least)
            found = xp.any(good, axis=0)
            taken = xp.nonzero(found)[0]
            number = xp.argmax(xp.astype(good, xp.int8), axis=0)
            chosen = (number * many + xp.arange(many, dtype=xp.int64)).take(taken)
            for axis in range(3):
                places[axis][agent][rows.take(taken)] = place[axis].reshape(-1).take(chosen)
            rows = rows.take(xp.nonzero(~found)[0])
            if not len(rows):
                return
            first, count = first + count, min(4 * count, MANY)
        name = self._engagement.agents[agent]
        role = self._engagement.role_of(name)
        lower = "lower world.min_start_distance and world.min_separation"
        if self._engagement.roles[role].start.points is not None:
            raise EngagementError(
                f"roles.{role}.start.points", f"the point of {name} is not free, or too near to another agent's start",
                cure=f"move it or {lower}",
            )
        raise EngagementError(
            f"roles.{role}.start", f"no free place found for {name} in {ATTEMPTS} draws",
            cure=f"enlarge the arena or {lower}",
        )


def check_points(engagement: Engagement) -> None:
    """Refuse start points that are nearer to one another than the file allows.

    Raises:
        PydanticCustomError: with path and rule.
    """
    world = engagement.world
    given = [point for role in engagement.roles.values() for point in role.start.points or [None] * role.count]
    fixed = [
        (name, team, point)
        for name, team, point in zip(engagement.agents, engagement.teams, given, strict=True) if point is not None
    ]
    for (name, team, point), (other, side, place) in combinations(fixed, 2):
        distance = math.dist(point, place)
        least = max(world.min_separation, world.min_start_distance if team != side else 0.0)
        if distance <= least:
            raise PydanticCustomError(
                "start",
                "roles.{role}.start.points: {other} starts {distance} m from {name}; must be more than {least} m",
                {
                    "role": engagement.role_of(other), "other": other, "name": name,
                    "distance": f"{distance:g}", "least": f"{least:g}",
                },
            )


def agent_names(engagement: Engagement, xp: Any) -> Array:
    """Return the keys of the agents' names, int64 (N, 1)."""
    return xp.asarray([streams.name_key(name) for name in engagement.agents], dtype=xp.int64)[:, None]


def agent_keys(keys: Array, purpose: str, names: Array) -> Array:
    """Return a stream key for each agent in each engagement, int64 (N, R), from root keys (R,) and a purpose."""
    return streams.derive(streams.derive(keys, streams.name_key(purpose))[None], names)


def place_agents(
    engagement: Engagement, xp: Any, keys: Array, propose: Callable[[int, Array, Any], Vector]
) -> Array:
    """Return a start position for every agent, float64 (N, 3, R), for a world that proposes agent by agent.

    Args:
        engagement: gives the least distances between opponents and between any two agents.
        xp: array namespace.
        keys: root keys, int64 (R,).
        propose: (agent index, its stream keys (K,), number of the attempt) -> positions (K,); see :data:`Propose`.

    Raises:
        EngagementError: if no start is found.
    """

    def all_agents(agents: slice, key: Array, attempt: Any) -> Vector:
        numbers = range(agents.start, agents.stop)
        attempts = [attempt] * len(numbers) if isinstance(attempt, int) else attempt
        one = [propose(*each) for each in zip(numbers, key, attempts, strict=True)]
        return (xp.stack([p[0] for p in one]), xp.stack([p[1] for p in one]), xp.stack([p[2] for p in one]))

    places = StartPlaces(engagement, xp, all_agents).draw(keys)
    return xp.stack([places[:, agent] for agent in range(places.shape[1])])


def _least_distances(engagement: Engagement, xp: Any, radii: Sequence[float] | None) -> list[Array]:
    """Return, for each agent, how far it must start from each agent before it [m], (k,)."""
    world, teams = engagement.world, engagement.teams
    out = []
    for agent, team in enumerate(teams):
        rivals = [team != other for other in teams[:agent]]
        least = [max(world.min_separation, world.min_start_distance if rival else 0.0) for rival in rivals]
        if radii is not None:
            least = [max(a, radii[agent] + radius) for a, radius in zip(least, radii, strict=False)]
        out.append(xp.asarray(least, dtype=xp.float64))
    return out


class DrawnDistances:
    """Least distances at the start that are drawn for every episode."""

    def __init__(self, engagement: Engagement, xp: Any, radii: Sequence[float] | None) -> None:
        self._xp = xp
        self._teams = engagement.teams
        self._radii = radii
        world = engagement.world
        self._start = (world.min_start_distance, draw_of(engagement, START_DISTANCE, xp))
        self._separation = (world.min_separation, draw_of(engagement, SEPARATION, xp))

    def values(self, keys: Array) -> list[Array]:
        """Return, for each agent, how far it must start from each agent before it [m], (k, R), for root keys (R,)."""
        xp = self._xp
        flat = xp.zeros(keys.shape, dtype=xp.float64)
        start, separation = (
            flat + said if draw is None else draw.values(keys) for said, draw in (self._start, self._separation)
        )
        out = []
        for agent, team in enumerate(self._teams):
            least = []
            for other, rival in enumerate(self._teams[:agent]):
                far = separation if rival == team else xp.maximum(separation, start)
                if self._radii is not None:
                    far = xp.clip(far, self._radii[agent] + self._radii[other], None)
                least.append(far)
            out.append(xp.stack(least) if least else flat[None][:0])
        return out


def _far_enough(xp: Any, place: Array, others: Array, least: Array) -> Array:
    """Return where a place (3, ...) is free and farther than ``least``, (k,) or (k, ...), from k others (3, k, ...)."""
    free = ~xp.isnan(place[0])
    if not len(least):
        return free
    away = others - place[:, None]
    away *= away
    squared = away[0] + away[1] + away[2]
    limit = least if least.ndim > 1 else least.reshape(-1, *([1] * (len(squared.shape) - 1)))
    # Strictly farther, so that a least distance of 0 still forbids two agents on one spot.
    return free & xp.all(squared > limit * limit, axis=0)
