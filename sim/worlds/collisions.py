"""Collisions between agents: balls of equal mass, all pairs of an engagement judged at once from the same motion.

Every pair that comes together within a tick is found, however fast; the velocities that change are those before any
collision of the tick, so the order of the agents does not matter: who meets several at once takes the sum of what each
would have done (momentum is kept always, energy where they meet in pairs). What rolls or flies along its nose keeps its
heading, and of its new velocity the part along it. As with surfaces, a pair is looked at again only after the ticks
that its distance takes at greatest speed.
"""

from __future__ import annotations

from typing import Literal

from pe_sim.arrays import Array
from pe_sim.worlds.fleet import Fleet
from pe_sim.worlds.watch import LONG

CollisionKind = Literal["off", "bounce", "crash"]
"""What agents do to one another: nothing, an elastic impact, or both end."""


class Collisions:
    """Looks for agents that meet, and lets them bounce or crash.

    Args:
        kind: what happens when they meet.
        radii: of each agent [m]; two points never meet.
        tick: length of a tick [s].
        fleet: the agents.
    """

    def __init__(self, kind: Literal["bounce", "crash"], radii: list[float], tick: float, fleet: Fleet) -> None:
        xp = fleet.xp
        self._xp = xp
        self._fleet = fleet
        self._crash = kind == "crash"
        self._tick = tick
        pairs = [(i, j) for i in range(len(radii)) for j in range(i + 1, len(radii)) if radii[i] + radii[j] > 0.0]
        self._first = xp.asarray([i for i, _ in pairs], dtype=xp.int64)
        self._second = xp.asarray([j for _, j in pairs], dtype=xp.int64)
        self._reach = xp.asarray([radii[i] + radii[j] for i, j in pairs], dtype=xp.float64)
        self._count = 0
        self._due = xp.zeros((len(pairs), fleet.batch), dtype=xp.int64)

    def reset(self, rows: Array | None) -> None:
        """Look at the pairs of some engagements, indices or None for all, at their next tick."""
        self._due[:, slice(None) if rows is None else rows] = 0

    def before(self, active: Array | None) -> tuple[Array, Array] | None:
        """Return which pairs may meet in the coming tick and where all agents are, or None for nobody."""
        xp = self._xp
        self._count += 1
        soon = self._due <= self._count
        if active is not None:
            soon = soon & xp.take(active, self._first, axis=0) & xp.take(active, self._second, axis=0)
        if not xp.any(soon):
            return None
        return xp.nonzero(soon.reshape(-1))[0], self._fleet.position + 0.0

    def after(self, at: Array, start: Array) -> None:
        """Answer the meetings among pairs ``at`` of agents that were at ``start`` (3, N * B) before the tick."""
        xp, fleet = self._xp, self._fleet
        pair, row = at // fleet.batch, at % fleet.batch
        first = self._first.take(pair) * fleet.batch + row
        second = self._second.take(pair) * fleet.batch + row
        reach = self._reach.take(pair)
        when, normal = self._meetings(first, second, reach, start)
        met = when <= 1.0
        if xp.any(met):
            here = xp.nonzero(met)[0]
            self._answer(
                pair.take(here), first.take(here), second.take(here),
                when.take(here), [part.take(here) for part in normal], start,
            )
        apart = [part.take(second) - part.take(first) for part in fleet.position]
        gap = xp.sqrt(apart[0] * apart[0] + apart[1] * apart[1] + apart[2] * apart[2]) - reach
        step = fleet.of(fleet.step, fleet.agent(first)) + fleet.of(fleet.step, fleet.agent(second))
        ticks = xp.clip(xp.floor(gap / step), 1.0, float(LONG))
        self._due.reshape(-1)[at] = self._count + xp.astype(ticks, xp.int64)

    def _meetings(self, first: Array, second: Array, reach: Array, start: Array) -> tuple[Array, list[Array]]:
        """Return at what part of the tick each pair meets (2 where not), and the unit vector from first to second.

        On straight ways the distance squared is a quadratic of time; a pair that overlaps already meets at once if it
        comes closer.
        """
        xp = self._xp
        old = [part.take(second) - part.take(first) for part in start]
        new = [part.take(second) - part.take(first) for part in self._fleet.position]
        way = [n - o for n, o in zip(new, old, strict=True)]
        a = way[0] * way[0] + way[1] * way[1] + way[2] * way[2]
        b = old[0] * way[0] + old[1] * way[1] + old[2] * way[2]
        c = old[0] * old[0] + old[1] * old[1] + old[2] * old[2] - reach * reach
        root = b * b - a * c
        meets = (b < 0.0) & (root > 0.0)
        # (-b - sqrt) / a without its loss of digits where c is small.
        entry = xp.clip(c, 0.0, None) / xp.where(meets, xp.sqrt(xp.where(meets, root, 1.0)) - b, 1.0)
        when = xp.where(meets, entry, 2.0)
        between = [o + xp.where(meets, entry, 0.0) * w for o, w in zip(old, way, strict=True)]
        size = xp.sqrt(between[0] * between[0] + between[1] * between[1] + between[2] * between[2])
        same = size == 0.0
        safe = xp.where(same, 1.0, size)
        return when, [xp.where(same, 1.0 if i == 0 else 0.0, part / safe) for i, part in enumerate(between)]

    def _answer(
        self, pair: Array, first: Array, second: Array, when: Array, normal: list[Array], start: Array
    ) -> None:
        xp, fleet = self._xp, self._fleet
        places = fleet.count * fleet.batch
        moment = xp.full((places,), 2.0, dtype=xp.float64)
        change = xp.zeros((3, places), dtype=xp.float64)
        v1, v2 = fleet.ground_velocity(first), fleet.ground_velocity(second)
        closing = sum_of([(b - a) * n for a, b, n in zip(v1, v2, normal, strict=True)])
        closing = xp.where(closing < 0.0, closing, 0.0)
        # Pair by pair, because within one pair no agent of an engagement comes twice.
        for number in sorted(int(p) for p in xp.unique_values(pair)):
            mine = xp.nonzero(pair == number)[0]
            for places_of, sign in ((first, 1.0), (second, -1.0)):
                at, then = places_of.take(mine), when.take(mine)
                so_far = moment.take(at)
                moment[at] = xp.where(then < so_far, then, so_far)
                for axis in range(3):
                    change[axis][at] = change[axis].take(at) + sign * (closing * normal[axis]).take(mine)
        at = xp.nonzero(moment < 2.0)[0]
        self._move(at, moment.take(at), [part.take(at) for part in change], start)

    def _move(self, at: Array, moment: Array, change: list[Array], start: Array) -> None:
        """Put agents where the meeting left them: up to it on their way, after it with their new velocity."""
        xp, fleet = self._xp, self._fleet
        begin = [part.take(at) for part in start]
        here = [b + moment * (p - b) for b, p in zip(begin, fleet.places(at), strict=True)]
        if self._crash:
            fleet.halt(at)
            fleet.fail(at)
        else:
            velocity = fleet.ground_velocity(at) + xp.stack(change)
            # An impact makes no agent faster than its limits allow.
            top = fleet.of(fleet.step, fleet.agent(at)) / self._tick
            size = xp.sqrt(sum_of([part * part for part in velocity]))
            velocity = velocity * (top / xp.where(size > top, size, top))
            if fleet.planar is not None:
                velocity[2] = xp.where(fleet.planar.take(fleet.agent(at)), 0.0, velocity[2])
            fleet.set_ground_velocity(at, velocity)
            rest = (1.0 - moment) * self._tick
            here = [p + rest * v for p, v in zip(here, velocity, strict=True)]
        for axis in range(3):
            fleet.position[axis][at] = here[axis]


def sum_of(parts: list[Array]) -> Array:
    """Return the sum of three components, added in this order."""
    return parts[0] + parts[1] + parts[2]
