"""Pure pursuit: fly towards where the target is.

A command is held until the next decision. Held along the line of sight of its own instant it would be half a period
behind on average, and the error of a chase of first order in the period; along the line of sight in the middle of the
hold it is of second order (the midpoint rule).
"""

from __future__ import annotations

from typing import ClassVar

from pe_sim.arrays import Array, Vector, add, dot, scale, unit
from pe_sim.guidance.base import Guidance, GuidanceSpec
from pe_sim.guidance.steering import Steering
from pe_sim.guidance.tracks import TrackReader, Tracks, nearest_track
from pe_sim.policies.base import PolicyContext, Views
from pe_sim.timing import seconds


class PurePursuit(Guidance):
    """Full speed along the line of sight to the nearest opponent; without ranges, to the first one seen.

    Where the sensor tells the relative velocity, the line of sight is that in the middle of the time until the next
    decision; the opponent is not led by more.
    """

    name: ClassVar[str] = "pure_pursuit"
    formula: ClassVar[str] = "v = vp u"
    needs: ClassVar[str] = "direction of the opponents"

    def __init__(self, context: PolicyContext, parameters: GuidanceSpec) -> None:
        super().__init__(context, parameters)
        self._tracks = TrackReader(context, self.name, wants=frozenset({"direction"}))
        self._steering = Steering.of(context, self.name)
        self._half_hold = 0.5 * seconds(context.period)

    def law(self, views: Views, now: Array, due: Array) -> tuple[Array, Array | None]:
        """Velocity along the line of sight."""
        own = self._steering.own(views)
        track, seen = nearest_track(self.xp, self._tracks.read(views, own))
        values = self._steering.along(self._direction(track), self._steering.top_speed, own)
        return values, self._steering.sure(seen, own)

    def _direction(self, track: Tracks) -> Vector:
        """Return the line of sight in the middle of the hold; before half of the way is closed, if that is earlier."""
        xp = self.xp
        if track.velocity is None or track.distance is None or self._half_hold == 0.0:
            return track.direction(xp)
        speed = xp.sqrt(dot(track.velocity, track.velocity))
        early = speed * self._half_hold > 0.5 * track.distance
        ahead = xp.where(early, 0.5 * track.distance / xp.where(early, speed, 1.0), self._half_hold)
        return unit(xp, add(track.sight, scale(track.velocity, ahead)))
