"""Flee: fly away from the pursuers, the nearer ones counting more."""

from __future__ import annotations

from typing import ClassVar

from pe_sim.arrays import Array, scale, unit
from pe_sim.guidance.base import Guidance, GuidanceSpec
from pe_sim.guidance.steering import Steering
from pe_sim.guidance.tracks import TrackReader
from pe_sim.policies.base import PolicyContext, Views


class Flee(Guidance):
    """Full speed along the sum of the directions away from all opponents seen, weighted by 1 / distance^2."""

    name: ClassVar[str] = "flee"

    def __init__(self, context: PolicyContext, parameters: GuidanceSpec) -> None:
        super().__init__(context, parameters)
        self._tracks = TrackReader(context, self.name)
        self._steering = Steering(context, self.name)

    def law(self, views: Views, now: Array, due: Array) -> tuple[Array, Array | None]:
        """Velocity away from the opponents."""
        del now, due
        xp = self.xp
        tracks = self._tracks.read(views)
        close = tracks.distance * tracks.distance * tracks.distance
        weight = xp.where(tracks.valid, -1.0 / xp.where(close > 1e-9, close, 1e-9), 0.0)
        away = scale(tracks.sight, weight)
        total = tuple(part[:, 0] for part in away)
        for j in range(1, weight.shape[1]):
            total = tuple(t + part[:, j] for t, part in zip(total, away, strict=True))
        seen = xp.any(tracks.valid, axis=1)
        direction = unit(xp, total)
        return self._steering.along(direction, self._steering.top_speed, self._steering.own(views)), seen
