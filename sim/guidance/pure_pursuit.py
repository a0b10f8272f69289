"""Pure pursuit: fly towards where the target is."""

from __future__ import annotations

from typing import ClassVar

from pe_sim.arrays import Array
from pe_sim.guidance.base import Guidance, GuidanceSpec
from pe_sim.guidance.steering import Steering
from pe_sim.guidance.tracks import TrackReader, nearest_track
from pe_sim.policies.base import PolicyContext, Views


class PurePursuit(Guidance):
    """Full speed along the line of sight to the nearest opponent; without ranges, to the first one seen."""

    name: ClassVar[str] = "pure_pursuit"
    formula: ClassVar[str] = "v = vp u"
    needs: ClassVar[str] = "direction of the opponents"

    def __init__(self, context: PolicyContext, parameters: GuidanceSpec) -> None:
        super().__init__(context, parameters)
        self._tracks = TrackReader(context, self.name, wants=frozenset({"direction"}))
        self._steering = Steering.of(context, self.name)

    def law(self, views: Views, now: Array, due: Array) -> tuple[Array, Array | None]:
        """Velocity along the line of sight."""
        own = self._steering.own(views)
        track, seen = nearest_track(self.xp, self._tracks.read(views, own))
        values = self._steering.along(track.direction(self.xp), self._steering.top_speed, own)
        return values, self._steering.sure(seen, own)
