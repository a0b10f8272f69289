"""Capture: when an evader is caught, by coming near, by surrounding it, or by holding a zone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from pe_sim.arrays import Array
from pe_sim.quantities import Angle, Duration, Length, NotNegative
from pe_sim.regions import Region
from pe_sim.schema import Strict
from pe_sim.timing import NEVER, ceil_tick


class CaptureSpec(Strict):
    """When an evader is caught.

    Attributes:
        by: 'radius': enough pursuers are nearer than the radius. 'encirclement': seen from the evader, pursuers
            nearer than the radius leave no horizontal gap as wide as ``max_gap``. 'zone': enough pursuers are in the
            zone and no evader is; then every evader counts as caught.
        radius: [m].
        swept: measure the least distance between two ticks, motion taken as straight, not that at the ticks only.
        pursuers: how many pursuers it takes.
        max_gap: widest gap between neighbouring pursuers that still counts as surrounded [rad]; pi is the convex hull.
        zone: the zone to hold.
        hold_for: how long the condition must last without interruption [s].
        ends: whether the episode ends when 'all' evaders are out of play or 'any' of them is caught.
    """

    by: Literal["radius", "encirclement", "zone"] = "radius"
    radius: Annotated[Length, Field(gt=0.0)] = 1.0
    swept: bool = False
    pursuers: Annotated[int, Field(ge=1)] = 1
    max_gap: Annotated[Angle, Field(gt=0.0, le=2.0 * math.pi)] = math.pi
    zone: Region | None = None
    hold_for: Annotated[Duration, NotNegative] = 0
    ends: Literal["any", "all"] = "all"

    @model_validator(mode="after")
    def _complete(self) -> CaptureSpec:
        if (self.by == "zone") != (self.zone is not None):
            raise PydanticCustomError("capture", "'zone' and 'by: zone' need each other")
        if self.swept and self.by != "radius":
            raise PydanticCustomError("capture", "only capture by radius can be swept")
        return self

    @property
    def fewest(self) -> int:
        """Fewest pursuers with which anybody can be caught."""
        if self.by != "encirclement":
            return self.pursuers
        return max(self.pursuers, math.floor(2.0 * math.pi / float(self.max_gap)) + 1)


@dataclass
class Scene:
    """What a tick's judgement is about, for P pursuers, E evaders and B engagements.

    Attributes:
        relative: pursuer minus evader [m; world], (axes, P, E, B); two axes where all motion is in one plane.
        distance: its length [m], (P, E, B).
        in_play: pairs both in play, bool (P, E, B); None where all are.
        pursuers: positions of the pursuers [m; world], (3, P, B).
        evaders: positions of the evaders, (3, E, B).
        chasing: pursuers in play, bool (P, B).
        running: evaders in play, bool (E, B).
    """

    relative: Array
    distance: Array
    in_play: Array | None
    pursuers: Array
    evaders: Array
    chasing: Array
    running: Array


class Capture:
    """Judges capture for a batch, tick by tick.

    Args:
        spec: the file's section.
        tick: length of a tick [ns].
        xp: array namespace.
    """

    def __init__(self, spec: CaptureSpec, tick: int, xp: Any) -> None:
        self._spec = spec
        self._xp = xp
        self._needed = ceil_tick(spec.hold_for, tick)
        self._condition = {"radius": self._radius, "encirclement": self._encirclement, "zone": self._zone}[spec.by]
        self._since: Array = None
        self._before: Array = None

    @property
    def remembers(self) -> bool:
        """Whether a judgement depends on earlier ticks."""
        return self._needed > 0 or self._spec.swept

    def reset(self, relative: Array, rows: Array | None) -> None:
        """Begin episodes in engagements (indices (R,); None for all) with the relative positions (axes, P, E, R)."""
        if not self.remembers:
            return
        if rows is None:
            self._since = self._xp.full(relative.shape[2:], NEVER, dtype=self._xp.int64)
            self._before = relative + 0.0
            return
        self._since[:, rows] = NEVER
        self._before = self._before + 0.0
        self._before[..., rows] = relative

    def judge(self, scene: Scene, tick: Array) -> tuple[Array | None, Array | None]:
        """Return who is caught at a tick and whose presence counts, or None and None where nobody is.

        Args:
            scene: the state at the tick.
            tick: its number, int64 (B,).

        Returns:
            Evaders caught, bool (E, B), and for each the pursuers that count, bool (P, E, B).
        """
        xp = self._xp
        if self._since is None:
            self.reset(scene.relative, None)
        near, met = self._condition(scene)
        if self._spec.swept:
            self._before = scene.relative
        if self._needed > 0:
            self._since = xp.where(met, xp.minimum(self._since, tick + xp.zeros_like(self._since)), NEVER)
            met = tick - self._since >= self._needed
        if not bool(xp.any(met)):
            return None, None
        return met, near

    def _near(self, scene: Scene) -> Array:
        distance = scene.distance if not self._spec.swept else self._least_distance(scene.relative)
        near = distance < self._spec.radius
        return near if scene.in_play is None else near & scene.in_play

    def _least_distance(self, relative: Array) -> Array:
        """Return the least distance on the straight way from the last relative position to this one."""
        xp, before = self._xp, self._before
        way = relative - before
        along = _dot(way, way)
        fraction = -_dot(before, way) / xp.where(along > 0.0, along, 1.0)
        closest = before + xp.clip(fraction, 0.0, 1.0) * way
        return xp.sqrt(_dot(closest, closest))

    def _radius(self, scene: Scene) -> tuple[Array, Array]:
        near = self._near(scene)
        if near.shape[0] == 1:
            return near, near[0]
        if self._spec.pursuers == 1:
            return near, self._xp.any(near, axis=0)
        return near, _count(near, self._xp) >= self._spec.pursuers

    def _encirclement(self, scene: Scene) -> tuple[Array, Array]:
        xp = self._xp
        near = self._near(scene)
        turn = 2.0 * math.pi
        nowhere = 9.0  # beyond every bearing
        bearing = xp.where(near, xp.atan2(scene.relative[1], scene.relative[0]), nowhere)
        ordered = xp.sort(bearing, axis=0)
        first, last, widest = ordered[0], ordered[0], ordered[0] * 0.0
        for i in range(1, ordered.shape[0]):
            there = ordered[i] < nowhere
            gap = xp.where(there, ordered[i] - last, 0.0)
            widest = xp.where(gap > widest, gap, widest)
            last = xp.where(there, ordered[i], last)
        behind = first + turn - last
        widest = xp.where(behind > widest, behind, widest)
        return near, (widest < self._spec.max_gap) & (_count(near, xp) >= self._spec.pursuers)

    def _zone(self, scene: Scene) -> tuple[Array, Array]:
        xp, zone = self._xp, self._spec.zone
        assert zone is not None
        inside = zone.contains(xp, scene.pursuers) & scene.chasing
        contested = xp.any(zone.contains(xp, scene.evaders) & scene.running, axis=0)
        held = (_count(inside, xp) >= self._spec.pursuers) & ~contested
        near = inside[:, None] & scene.running[None]
        return near, held[None] & scene.running


def _count(flags: Array, xp: Any) -> Array:
    """Return how many flags are set along the first axis."""
    total = xp.astype(flags[0], xp.int64)
    for i in range(1, flags.shape[0]):
        total = total + xp.astype(flags[i], xp.int64)
    return total


def _dot(a: Array, b: Array) -> Array:
    """Scalar product over the first axis, written out so that its rounding does not depend on the batch."""
    total = a[0] * b[0]
    for axis in range(1, a.shape[0]):
        total = total + a[axis] * b[axis]
    return total
