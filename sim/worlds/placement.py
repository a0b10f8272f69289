"""Start places: drawn per agent until far enough from those already placed, the same for a row alone or in a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pe_sim import streams
from pe_sim.arrays import Array, Vector
from pe_sim.errors import EngagementError

if TYPE_CHECKING:
    from pe_sim.engagement import Engagement

ATTEMPTS = 5000
"""Draws per agent before a start is called impossible."""

Propose = Callable[[int, Array, int], Vector]
"""(agent index, its stream keys (R,), number of the attempt) -> positions (R,), x NaN where the place is not free."""


def place_agents(
    engagement: Engagement, xp: Any, keys: Array, propose: Propose, radii: Sequence[float] | None = None
) -> Array:
    """Return a start position for every agent, float64 (N, 3, R).

    Args:
        engagement: gives the least distances between opponents and between any two agents.
        xp: array namespace.
        keys: root keys, int64 (R,).
        propose: what draws a position; the first that is free and far enough from the agents before it is taken.
        radii: of bodies that must not overlap at the start [m]; None where they may.

    Raises:
        EngagementError: if no start is found: the arena is too small for the distances asked for.
    """
    places = xp.zeros((len(engagement.agents), 3, *keys.shape), dtype=xp.float64)
    start = streams.derive(keys, streams.name_key("start"))
    for agent, name in enumerate(engagement.agents):
        key = streams.derive(start, streams.name_key(name))
        least = xp.asarray(_least_distances(engagement, agent, radii), dtype=xp.float64)[:, None]
        _place(engagement, xp, places[: agent + 1], key, least, lambda *draw, n=agent: propose(n, *draw))
    return places


def _place(
    engagement: Engagement, xp: Any, places: Array, key: Array, least: Array, propose: Callable[[Array, int], Vector]
) -> None:
    """Write the place of the last agent of ``places`` (k, 3, R), ``least`` (k - 1, 1) away from the others [m]."""
    others, own = places[:-1], places[-1]
    rest: Array | None = None
    for attempt in range(ATTEMPTS):
        place = propose(key, attempt)
        good = _far_enough(xp, place, others, least)
        if rest is None:  # the first draw is good for most: write it whole
            for axis in range(3):
                own[axis] = place[axis]
            rest = xp.nonzero(~good)[0]
            bad = rest
        else:
            taken = xp.nonzero(good)[0]
            for axis in range(3):
                own[axis][xp.take(rest, taken)] = xp.take(place[axis], taken)
            bad = xp.nonzero(~good)[0]
            rest = xp.take(rest, bad)
        if not len(rest):
            return
        key = xp.take(key, bad)
        others = xp.take(others, bad, axis=2)
    number = len(places) - 1
    name = engagement.agents[number]
    raise EngagementError(
        f"roles.{engagement.role_of(name)}.start",
        f"no free place found for {name} in {ATTEMPTS} draws",
        cure="enlarge the arena or lower world.min_start_distance and world.min_separation",
    )


def _least_distances(engagement: Engagement, agent: int, radii: Sequence[float] | None) -> list[float]:
    """Return how far an agent must start from each agent before it [m]."""
    world, teams = engagement.world, engagement.teams
    out = []
    for other in range(agent):
        rivals = teams[other] != teams[agent]
        least = max(world.min_separation, world.min_start_distance if rivals else 0.0)
        out.append(least if radii is None else max(least, radii[agent] + radii[other]))
    return out


def _far_enough(xp: Any, place: Vector, others: Array, least: Array) -> Array:
    free = ~xp.isnan(place[0])
    if not len(others):
        return free
    dx, dy, dz = (part[None] - others[:, axis] for axis, part in enumerate(place))
    # Strictly farther, so that a least distance of 0 still forbids two agents on one spot.
    return free & xp.all(dx * dx + dy * dy + dz * dz > least * least, axis=0)
