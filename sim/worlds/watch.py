"""When to look for a touch: only where there can be one.

After each look an agent is left alone for as many ticks as its greatest speed needs to cover its distance to the
nearest surface, so that most ticks cost one comparison. That changes no trajectory: nobody could have touched.
"""

from __future__ import annotations

from pe_sim.arrays import Array
from pe_sim.worlds.fleet import Fleet

LONG = 10**6
"""Most ticks for which an agent is left alone."""


class Watch:
    """Which agents are near enough to something to be looked at in a tick.

    Args:
        fleet: the agents.
    """

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._count = 0
        self._due = fleet.xp.zeros((fleet.count * fleet.batch,), dtype=fleet.xp.int64)

    def reset(self, rows: Array | None) -> None:
        """Look at the agents of some engagements, indices or None for all, at their next tick."""
        self._due.reshape(self._fleet.count, -1)[:, slice(None) if rows is None else rows] = 0

    def near(self, active: Array | None) -> Array | None:
        """Begin a tick; return the places of the agents to look at, or None for nobody."""
        self._count += 1
        soon = self._due <= self._count
        if active is not None:
            soon = soon & active.reshape(-1)
        return self._fleet.xp.nonzero(soon)[0] if self._fleet.xp.any(soon) else None

    def rest(self, at: Array, agent: Array, clear: Array) -> None:
        """Leave agents alone for as long as they cannot cover a distance ``clear`` [m]."""
        xp, fleet = self._fleet.xp, self._fleet
        ticks = xp.clip(clear * (1.0 / fleet.of(fleet.step, agent)), 1.0, float(LONG))
        self._due[at] = self._count + xp.astype(ticks, xp.int64)

    def wake(self, at: Array) -> None:
        """Look at agents again at the next tick."""
        self._due[at] = self._count
