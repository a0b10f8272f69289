"""Pure pursuit: fly towards where the target is."""

from __future__ import annotations

from typing import ClassVar

from pe_sim.arrays import Array, unit
from pe_sim.guidance.base import Guidance, GuidanceSpec
from pe_sim.guidance.steering import Steering
from pe_sim.guidance.tracks import TrackReader, nearest_track
from pe_sim.policies.base import PolicyContext, Views


class PurePursuit(Guidance):
    """Full speed along the line of sight to the nearest opponent."""

    name: ClassVar[str] = "pure_pursuit"

    def __init__(self, context: PolicyContext, parameters: GuidanceSpec) -> None:
        super().__init__(context, parameters)
        self._tracks = TrackReader(context, self.name)
        self._steering = Steering(context, self.name)

    def law(self, views: Views, now: Array, due: Array) -> tuple[Array, Array | None]:
        """Velocity along the line of sight."""
        del now, due
        track, seen = nearest_track(self.xp, self._tracks.read(views))
        direction = unit(self.xp, track.sight)
        return self._steering.along(direction, self._steering.top_speed, self._steering.own(views)), seen
