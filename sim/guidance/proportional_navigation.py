"""Proportional navigation: turn in proportion to the turn of the line of sight.

P. Zarchan, Tactical and Strategic Missile Guidance, 6th ed., 2012, chapter 2.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from pe_sim.arrays import Array, Vector, cross, scale, subtract, unit
from pe_sim.guidance.base import Guidance, GuidanceSpec
from pe_sim.guidance.steering import Steering
from pe_sim.guidance.tracks import OwnMotionReader, TrackReader, Tracks, nearest_track
from pe_sim.policies.base import PolicyContext, Views
from pe_sim.timing import NANOSECONDS


class ProportionalNavigationSpec(GuidanceSpec):
    """Parameters of the law.

    Attributes:
        gain: navigation constant N.
    """

    gain: Annotated[float, Field(gt=1.0, le=20.0)] = 4.0


class ProportionalNavigation(Guidance):
    """Pure proportional navigation: acceleration N (omega x v) across the own velocity, at full speed.

    The rotation of the line of sight, omega, comes from the relative velocity where the sensor tells it, else from
    the last two readings.
    """

    name: ClassVar[str] = "proportional_navigation"
    Parameters: ClassVar[type[GuidanceSpec]] = ProportionalNavigationSpec
    parameters: ProportionalNavigationSpec

    def __init__(self, context: PolicyContext, parameters: GuidanceSpec) -> None:
        super().__init__(context, parameters)
        self._tracks = TrackReader(context, self.name)
        self._steering = Steering(context, self.name)
        self._motion = OwnMotionReader(context, self.name)
        xp, shape = self.xp, (len(context.agents), context.batch)
        self._sight: Vector = tuple(xp.zeros(shape, dtype=xp.float64) for _ in range(3))
        self._rate: Vector = tuple(xp.zeros(shape, dtype=xp.float64) for _ in range(3))
        self._stamp = xp.full(shape, -1, dtype=xp.int64)

    def forget(self, rows: Array | None) -> None:
        """Forget the last line of sight."""
        where = slice(None) if rows is None else rows
        self._stamp[:, where] = -1
        for part in (*self._rate, *self._sight):
            part[:, where] = 0.0

    def law(self, views: Views, now: Array, due: Array) -> tuple[Array, Array | None]:
        """Acceleration N (omega x v)."""
        del now
        track, seen = nearest_track(self.xp, self._tracks.read(views))
        own = self._motion.read(views)
        sight = unit(self.xp, track.sight)
        omega = self._rotation(track, sight, due & seen)
        wish = scale(cross(omega, own.velocity), self.parameters.gain)
        return self._steering.accelerate(wish, sight, own), seen

    def _rotation(self, track: Tracks, sight: Vector, known: Array) -> Vector:
        """Return the angular velocity of the line of sight [rad/s; world]."""
        xp = self.xp
        if track.velocity is not None:
            square = xp.where(track.distance > 0.0, track.distance * track.distance, 1.0)
            return scale(cross(track.sight, track.velocity), 1.0 / square)
        fresh = known & (track.stamp > self._stamp)
        elapsed = xp.astype(track.stamp - self._stamp, xp.float64) / NANOSECONDS
        comparable = fresh & (self._stamp >= 0)
        change = scale(subtract(sight, self._sight), 1.0 / xp.where(comparable, elapsed, 1.0))
        rate = cross(sight, change)
        self._rate = tuple(xp.where(comparable, new, old) for new, old in zip(rate, self._rate, strict=True))
        self._sight = tuple(xp.where(fresh, new, old) for new, old in zip(sight, self._sight, strict=True))
        self._stamp = xp.where(fresh, track.stamp, self._stamp)
        return self._rate
