"""Area pursuit: take the evader's room away, by shrinking its cell of the Voronoi partition.

H. Huang, W. Zhang, J. Ding, D. Stipanovic, C. Tomlin, Guaranteed decentralized pursuit-evasion in the plane with
multiple pursuers, CDC 2011; Z. Zhou et al., Cooperative pursuit with Voronoi partitions, Automatica 72, 2016.
"""

from __future__ import annotations

from typing import ClassVar

from pe_sim.arrays import Array, Vector, unit
from pe_sim.guidance.base import Guidance, GuidanceSpec
from pe_sim.guidance.own import PositionReader
from pe_sim.guidance.steering import Steering
from pe_sim.guidance.surroundings import Surroundings
from pe_sim.guidance.tracks import TrackReader, Tracks, nearest_track
from pe_sim.guidance.vectors import choose
from pe_sim.policies.base import PolicyContext, Views

REACH = 1e4
"""Half length of an edge that nothing bounds [m]."""


class AreaPursuit(Guidance):
    """Full speed to the middle of the edge that the own Voronoi cell shares with that of the nearest opponent.

    The cells are those of the opponent and of the team, seen from above, in the arena. Who has no such edge, because
    teammates are nearer to the opponent on every side, goes straight for it. Against an opponent of equal speed in a
    bounded convex arena its cell shrinks until it is caught.
    """

    name: ClassVar[str] = "area_pursuit"
    formula: ClassVar[str] = "v along the middle of the shared Voronoi edge"
    needs: ClassVar[str] = "direction and range of the opponents and of the teammates, position"

    def __init__(self, context: PolicyContext, parameters: GuidanceSpec) -> None:
        super().__init__(context, parameters)
        self._tracks = TrackReader(context, self.name)
        self._mates = None if len(context.teammates) < 2 else TrackReader(context, self.name, of=context.teammates)
        self._place = PositionReader(context, self.name)
        self._steering = Steering.of(context, self.name)
        self._surroundings = Surroundings(context)

    def law(self, views: Views, now: Array, due: Array) -> tuple[Array, Array | None]:
        """Direction of the middle of the edge."""
        xp = self.xp
        place, known = self._place.read(views)
        track, seen = nearest_track(xp, self._tracks.read(views))
        mates = None if self._mates is None else self._mates.read(views)
        aim = self._aim(place, track.sight, mates)
        own = self._steering.own(views)
        values = self._steering.along(unit(xp, aim), self._steering.top_speed, own)
        return values, self._steering.sure(seen & known, own)

    def _aim(self, place: Vector, evader: Vector, mates: Tracks | None) -> Vector:
        """Return the middle of the shared edge relative to oneself, at the evader's height."""
        xp = self.xp
        ex, ey, _ = evader
        size = xp.sqrt(ex * ex + ey * ey)
        safe = 1.0 / xp.where(size > 1e-9, size, 1.0)
        edge = (-ey * safe, ex * safe)
        middle = (0.5 * ex, 0.5 * ey)
        low, high = ex * 0.0 - REACH, ex * 0.0 + REACH
        bounds = self._surroundings
        for axis in range(2):
            for bound, sign in ((bounds.high[axis], 1.0), (bounds.low[axis], -1.0)):
                if abs(bound) < REACH:
                    room = sign * (bound - place[axis] - middle[axis])
                    low, high = self._cut(low, high, sign * edge[axis], room, None)
        for j in range(0 if mates is None else mates.valid.shape[1]):
            assert mates is not None
            qx, qy = mates.sight[0][:, j], mates.sight[1][:, j]
            across = 2.0 * ((qx - ex) * edge[0] + (qy - ey) * edge[1])
            room = qx * qx + qy * qy - ex * ex - ey * ey - 2.0 * ((qx - ex) * middle[0] + (qy - ey) * middle[1])
            low, high = self._cut(low, high, across, room, mates.valid[:, j])
        along = 0.5 * (low + high)
        shared = (middle[0] + along * edge[0], middle[1] + along * edge[1], evader[2])
        return choose(xp, high > low, shared, evader)

    def _cut(self, low: Array, high: Array, slope: Array, room: Array, where: Array | None) -> tuple[Array, Array]:
        """Return the part of an interval of s in which slope * s <= room."""
        xp = self.xp
        steep = xp.abs(slope) > 1e-12
        end = room / xp.where(steep, slope, 1.0)
        shut = ~steep & (room < 0.0)  # parallel and outside: nothing is left
        new_high = xp.where(steep & (slope > 0.0) & (end < high), end, xp.where(shut, low, high))
        new_low = xp.where(steep & (slope < 0.0) & (end > low), end, low)
        if where is None:
            return new_low, new_high
        return xp.where(where, new_low, low), xp.where(where, new_high, high)
