"""Tracks: where the other agents are, as an agent's sensors tell it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pe_sim.arrays import Array, Vector, scale, unit
from pe_sim.errors import ContractError
from pe_sim.guidance.link_sensors import LINK_DECODERS
from pe_sim.guidance.own import Own, OwnMotionReader, PositionReader
from pe_sim.guidance.track_sensors import DECODERS, HIDDEN, Decoder, Sighting
from pe_sim.guidance.vectors import choose
from pe_sim.policies.base import PolicyContext, Views

__all__ = ["Own", "OwnMotionReader", "PositionReader", "TrackReader", "Tracks", "nearest_track"]


@dataclass
class Tracks:
    """Other agents as n agents know them, m each; or one each, after :meth:`pick`.

    Attributes:
        sight: from oneself to the target [m; world], each (n, m, B); of unit length where ``distance`` is None.
        distance: its length [m], (n, m, B), or None where no sensor tells it.
        velocity: relative velocity [m/s; world], or None where no sensor tells it.
        range_rate: [m/s], (n, m, B), or None where no sensor tells it.
        valid: where the track can be used, bool (n, m, B).
        stamp: instant of the measurement [ns], int64 (n, m, B).
        told: where velocity and range rate are what the sensor tells, bool (n, m, B); None for everywhere. Elsewhere
            they are zero and mean nothing.
    """

    sight: Vector
    distance: Array | None
    velocity: Vector | None
    range_rate: Array | None
    valid: Array
    stamp: Array
    told: Array | None = None

    def direction(self, xp: Any) -> Vector:
        """Return the unit vector along the line of sight."""
        return self.sight if self.distance is None else unit(xp, self.sight)

    def pick(self, xp: Any, choice: Array) -> Tracks:
        """Return one track per agent by index (n, B), with the axis m gone."""
        others = [choice == j for j in range(1, self.valid.shape[1])]

        def take(x: Array) -> Array:
            out = x[:, 0]
            for j, here in enumerate(others, start=1):
                out = xp.where(here, x[:, j], out)
            return out

        def take_vector(v: Vector | None) -> Vector | None:
            return None if v is None else (take(v[0]), take(v[1]), take(v[2]))

        sight = take_vector(self.sight)
        assert sight is not None
        return Tracks(
            sight, None if self.distance is None else take(self.distance), take_vector(self.velocity),
            None if self.range_rate is None else take(self.range_rate), take(self.valid), take(self.stamp),
            None if self.told is None else take(self.told),
        )


class TrackReader:
    """Reads the tracks of chosen agents from the agents' best sensor of targets.

    The best is the first that tells what the law wants, in the order relative, radar, camera, bearing. Where it does
    not see a target, the tracks that teammates share stand in, if there is such a link.

    Args:
        context: the agents.
        law: name of the law, for errors.
        of: names of the agents to track; default the opponents.
        sensor: name of the sensor to use; default the best.
        wants: what the law cannot do without, out of direction, range, range_rate and velocity.

    Attributes:
        hides_identity: whether a track may be of another target than the same track was before.

    Raises:
        ContractError: if no sensor of the agents tells it, or one that it needs beside is missing.
    """

    def __init__(
        self, context: PolicyContext, law: str, of: tuple[str, ...] | None = None, sensor: str | None = None,
        wants: frozenset[str] = frozenset({"direction", "range"}),
    ) -> None:
        self._xp = context.xp
        wanted = context.opponents if of is None else of
        found = [
            (decoder, layout)
            for decoder in (*DECODERS, *LINK_DECODERS)
            for layout in context.layouts[0]
            if layout.kind == decoder.kind and decoder.tells >= wants and sensor in (None, layout.sensor)
            and decoder.shows(layout.fields, wanted, opponents=of is None)
        ]
        if not found:
            kinds = dict.fromkeys(decoder.kind for decoder in (*DECODERS, *LINK_DECODERS) if decoder.tells >= wants)
            raise ContractError(
                f"guidance/{law}",
                f"needs to know {', '.join(sorted(wants))} of {', '.join(wanted) or 'others'}: "
                f"a sensor of kind {' or '.join(kinds)} that measures them",
                sensor, f"add one under roles.{context.role}.sensors",
            )
        first, *rest = found
        chosen = [first, *(entry for entry in rest if entry[0].kind == "shared_tracks")]
        self._sources: list[tuple[str, Decoder]] = [
            (layout.sensor, decoder(context, layout, wanted, law)) for decoder, layout in chosen
        ]
        self.sensor, self.kind = first[1].sensor, first[0].kind
        self.hides_identity = any(name.startswith(HIDDEN) for name in first[0].shown(first[1].fields))

    def read(self, views: Views, own: Own | None = None) -> Tracks:
        """Return the tracks; ``own`` motion is read once more where the law has not read it."""
        name, decoder = self._sources[0]
        tracks = self._tracks(decoder.read(views, own), views[name].stamp)
        for name, decoder in self._sources[1:]:
            tracks = self._fill(tracks, self._tracks(decoder.read(views, own), views[name].stamp))
        return tracks

    def _tracks(self, seen: Sighting, stamp: Array) -> Tracks:
        stamps = stamp[:, None] + self._xp.zeros(seen.valid.shape, dtype=self._xp.int64)
        return Tracks(seen.sight, seen.distance, seen.velocity, seen.range_rate, seen.valid, stamps)

    def _fill(self, tracks: Tracks, other: Tracks) -> Tracks:
        """Return the tracks with those not valid taken from another source, of which range and sight are known."""
        if tracks.valid.shape != other.valid.shape:
            return tracks  # identities hidden in one of them: nobody knows which is which
        xp, old = self._xp, tracks.valid
        sight = tracks.sight if tracks.distance is not None else tracks.direction(xp)
        other_sight = other.sight if tracks.distance is not None else other.direction(xp)
        x, y, z = (xp.where(old, mine, theirs) for mine, theirs in zip(sight, other_sight, strict=True))
        distance = None
        if tracks.distance is not None and other.distance is not None:
            distance = xp.where(old, tracks.distance, other.distance)
        velocity, rate = tracks.velocity, tracks.range_rate
        if velocity is not None:
            velocity = choose(xp, old, velocity, scale(velocity, 0.0))
        rate = None if rate is None else xp.where(old, rate, 0.0)
        stamp = xp.where(old, tracks.stamp, other.stamp)
        return Tracks((x, y, z), distance, velocity, rate, old | other.valid, stamp, old)


def nearest_track(xp: Any, tracks: Tracks) -> tuple[Tracks, Array]:
    """Return each agent's nearest usable track and whether it has one, bool (n, B); without ranges the first usable."""
    picked, choice = nearest_choice(xp, tracks)
    del choice
    return picked, picked.valid


def nearest_choice(xp: Any, tracks: Tracks) -> tuple[Tracks, Array]:
    """Return each agent's nearest usable track and its place among the m, int64 (n, B)."""
    if tracks.valid.shape[1] == 1:
        choice = xp.zeros(tracks.valid[:, 0].shape, dtype=xp.int64)
    else:
        far = xp.where(tracks.valid, 0.0 if tracks.distance is None else tracks.distance, xp.inf)
        choice = xp.argmin(far, axis=1)
    return tracks.pick(xp, choice), choice
