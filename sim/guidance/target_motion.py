"""How a target moves: told by the sensor, or worked out from successive readings."""

from __future__ import annotations

from dataclasses import dataclass

from pe_sim.arrays import Array, Vector, add, cross, dot, scale, subtract
from pe_sim.guidance.own import Own, OwnMotionReader
from pe_sim.guidance.tracks import TrackReader, Tracks, nearest_choice
from pe_sim.guidance.vectors import across, choose, put, zeros
from pe_sim.policies.base import PolicyContext, Views
from pe_sim.timing import NANOSECONDS


class SightRate:
    """Rotation of the line of sight, from the relative velocity where the sensor tells it, else from the last readings.

    Memory: last direction, its rate, its instant, and whose it was. When the nearest target changes, the rate begins
    anew: it is zero until the second reading of the new target. Where identities are hidden a change goes unnoticed.

    Args:
        context: the agents.
        smoothing: time constant of a first-order filter on the rate [ns], 0 for none.
    """

    def __init__(self, context: PolicyContext, smoothing: int = 0) -> None:
        self._xp = xp = context.xp
        self._smoothing = smoothing / NANOSECONDS
        shape = (len(context.agents), context.batch)
        self._direction, self._rate = zeros(xp, shape), zeros(xp, shape)
        self._stamp = xp.full(shape, -1, dtype=xp.int64)
        self._target = xp.full(shape, -1, dtype=xp.int64)

    def forget(self, rows: Array | None) -> None:
        """Forget everything in the given engagements (indices; None for all)."""
        self._stamp[:, slice(None) if rows is None else rows] = -1
        put(self._direction, rows, 0.0)
        put(self._rate, rows, 0.0)

    def of(self, track: Tracks, target: Array, where: Array) -> Vector:
        """Return the angular velocity of the line of sight [rad/s; world].

        Args:
            track: one track per agent.
            target: whose it is, int64 (n, B).
            where: agents that may take note of it, bool (n, B).
        """
        xp = self._xp
        direction = track.direction(xp)
        if track.velocity is not None and track.distance is not None:
            safe = xp.where(track.distance > 0.0, track.distance, 1.0)
            told = scale(cross(direction, track.velocity), 1.0 / safe)
            if track.told is None:
                return told
            return choose(xp, track.told, told, self._from_readings(track, target, where, direction))
        return self._from_readings(track, target, where, direction)

    def _from_readings(self, track: Tracks, target: Array, where: Array, direction: Vector) -> Vector:
        """Return the turn from the last reading to this one over the time between them."""
        xp = self._xp
        fresh = where & track.valid & (track.stamp > self._stamp)
        same = target == self._target
        comparable = fresh & same & (self._stamp >= 0)
        elapsed = xp.astype(track.stamp - self._stamp, xp.float64) / NANOSECONDS
        elapsed = xp.where(comparable, elapsed, 1.0)
        rate = cross(direction, scale(subtract(direction, self._direction), 1.0 / elapsed))
        if self._smoothing > 0.0:
            share = elapsed / (elapsed + self._smoothing)
            rate = add(self._rate, scale(subtract(rate, self._rate), share))
        kept = choose(xp, same | ~fresh, self._rate, scale(rate, 0.0))
        self._rate = choose(xp, comparable, rate, kept)
        self._direction = choose(xp, fresh, direction, self._direction)
        self._stamp = xp.where(fresh, track.stamp, self._stamp)
        self._target = xp.where(fresh, target, self._target)
        return self._rate


@dataclass
class Quarry:
    """The nearest target and its motion, as n agents know them.

    Attributes:
        track: the track.
        direction: unit vector along the line of sight.
        rate: angular velocity of the line of sight [rad/s; world].
        velocity: velocity over ground [m/s; world].
        seen: where all of this is founded, bool (n, B).
        own: own motion.
    """

    track: Tracks
    direction: Vector
    rate: Vector
    velocity: Vector
    seen: Array
    own: Own


class QuarryReader:
    """Reads the nearest opponent and works out how it moves.

    The relative velocity is the sensor's own, or range rate along and range times rotation rate across the line of
    sight; without a range rate the target is taken not to open or close by itself.

    Args:
        context: the agents.
        law: name of the law, for errors.
        smoothing: time constant of a filter on the rotation rate [ns], where it is worked out.

    Raises:
        ContractError: if no sensor tells direction and range, or own motion is not sensed.
    """

    def __init__(self, context: PolicyContext, law: str, smoothing: int = 0) -> None:
        self._xp = context.xp
        self._tracks = TrackReader(context, law)
        self._motion = OwnMotionReader(context, law)
        self._sight = SightRate(context, smoothing)

    def forget(self, rows: Array | None) -> None:
        """Forget earlier readings."""
        self._sight.forget(rows)

    def read(self, views: Views, due: Array) -> Quarry:
        """Return the nearest opponent; memory changes only where a decision is due."""
        xp, own = self._xp, self._motion.read(views)
        track, target = nearest_choice(xp, self._tracks.read(views, own))
        direction = track.direction(xp)
        rate = self._sight.of(track, target, due)
        velocity = self._velocity(track, direction, rate, own)
        return Quarry(track, direction, rate, velocity, track.valid & own.known, own)

    def _velocity(self, track: Tracks, direction: Vector, rate: Vector, own: Own) -> Vector:
        """Return the target's velocity over ground."""
        xp = self._xp
        if track.velocity is not None and track.told is None:
            return add(track.velocity, own.velocity)
        assert track.distance is not None
        velocity = add(scale(cross(rate, direction), track.distance), across(own.velocity, direction))
        if track.range_rate is not None:
            opening = track.range_rate + dot(own.velocity, direction)
            opening = opening if track.told is None else xp.where(track.told, opening, 0.0)
            velocity = add(velocity, scale(direction, opening))
        if track.velocity is None:
            return velocity
        return choose(xp, track.told, add(track.velocity, own.velocity), velocity)
