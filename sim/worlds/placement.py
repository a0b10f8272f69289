"""Start places: drawn per agent until far enough from those already placed, the same for a row alone or in a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pe_sim import streams
from pe_sim.arrays import Array, Vector, length, subtract
from pe_sim.errors import EngagementError

if TYPE_CHECKING:
    from pe_sim.engagement import Engagement

ATTEMPTS = 5000
"""Draws per agent before a start is called impossible."""


def place_agents(
    engagement: Engagement, xp: Any, keys: Array, propose: Callable[[int, Array, int], Vector]
) -> list[Vector]:
    """Return a start position for every agent, each component float64 (R,).

    Args:
        engagement: gives the least distances between opponents and between any two agents.
        xp: array namespace.
        keys: root keys, int64 (R,).
        propose: (agent index, its stream key (R,), attempt) -> position, or NaN where it is not free.

    Raises:
        EngagementError: if no start is found: the arena is too small for the distances asked for.
    """
    placed: list[Vector] = []
    start = streams.derive(keys, streams.name_key("start"))
    for agent, name in enumerate(engagement.agents):
        key = streams.derive(start, streams.name_key(name))
        chosen: Vector | None = None
        for attempt in range(ATTEMPTS):
            place = propose(agent, key, attempt)
            ok = _far_enough(engagement, xp, agent, place, placed)
            if chosen is None:
                chosen, found = place, ok
            else:
                fresh = ok & ~found
                chosen = tuple(xp.where(fresh, new, old) for new, old in zip(place, chosen, strict=True))
                found = found | ok
            if bool(xp.all(found)):
                break
        else:
            raise EngagementError(
                f"roles.{engagement.role_of(name)}.start",
                f"no free place found for {name} in {ATTEMPTS} draws",
                cure="enlarge the arena or lower world.min_start_distance and world.min_separation",
            )
        placed.append(chosen)
    return placed


def _far_enough(engagement: Engagement, xp: Any, agent: int, place: Vector, placed: list[Vector]) -> Array:
    ok = (place[0] == place[0]) & (place[1] == place[1])  # NaN: the proposal was not free
    for other, there in enumerate(placed):
        rivals = engagement.teams[other] != engagement.teams[agent]
        least = max(engagement.world.min_separation, engagement.world.min_start_distance if rivals else 0.0)
        # Strictly farther, so that a least distance of 0 still forbids two agents on one spot.
        ok = ok & (length(xp, subtract(place, there)) > least)
    return ok
