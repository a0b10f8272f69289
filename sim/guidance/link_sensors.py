"""From shared tracks to lines of sight: what teammates see, and where they are themselves."""

from __future__ import annotations

from pe_sim.arrays import Array, Vector, rotate
from pe_sim.guidance.own import Own, PositionReader
from pe_sim.guidance.track_sensors import HIDDEN, Decoder, Sighting, along, prefixes
from pe_sim.policies.base import PolicyContext, Views


class SharedDecoder(Decoder):
    """Shared tracks: what teammates' radars or trackers show; the first teammate's that shows anything."""

    kind = "shared_tracks"
    tells = frozenset({"direction", "range"})
    needs = ("position",)

    @classmethod
    def shown(cls, fields: tuple[str, ...]) -> list[str]:
        """Return the targets of the senders, where the shared sensor tells their range."""
        named = [name for name in prefixes(fields) if "." in name]
        return [name.rpartition(".")[2] for name in named if {f"{name}.range", f"{name}.x"} & set(fields)]

    def prepare(self, context: PolicyContext, wanted: tuple[str, ...], law: str) -> None:
        """Find every sender's pose and tracks of the wanted targets."""
        self._position = PositionReader(context, law)
        poses, tracks = [], []
        for fields in self._fields:
            shown = prefixes(fields)
            poses.append([name for name in shown if "." not in name])
            named = [f"{sender}.{name}" for sender in poses[-1] for name in wanted if f"{sender}.{name}" in shown]
            tracks.append(named or [name for name in shown if name.rpartition(".")[2].startswith(HIDDEN)])
        pose = tuple(f"position_{axis}" for axis in "xyz") + tuple(f"attitude_{axis}" for axis in "xyzw")
        self._spherical = f"{tracks[0][0]}.azimuth" in self._fields[0]
        self._rows = self.rows(tracks, ("range", "azimuth", "elevation") if self._spherical else ("x", "y", "z"))
        self._senders = len(poses[0])
        senders = [[name.partition(".")[0] for name in names] for names in tracks]
        self._pose_rows = self.rows(senders, pose)

    def read(self, views: Views, own: Own | None = None) -> Sighting:
        """Return sender plus what it shows, less the own place."""
        del own
        xp, view = self._xp, views[self._sensor]
        pose = xp.astype(self.take(view.values, self._pose_rows), xp.float64)
        a, b, c = xp.astype(self.take(view.values, self._rows), xp.float64)
        valid = self.take(view.valid, self._rows[0])
        place, known = self._position.read(views)
        if self._spherical:
            x, y, z = rotate((pose[3], pose[4], pose[5], pose[6]), along(xp, b, c))
            a, b, c = x * a, y * a, z * a
        sight = (pose[0] + a - place[0], pose[1] + b - place[1], pose[2] + c - place[2])
        return self._first_valid(sight, valid & known)

    def _first_valid(self, sight: Vector, valid: Array) -> Sighting:
        """Return, per target, the first sender's track that is valid; tracks are (senders x m, n, B)."""
        xp = self._xp
        count = valid.shape[0] // self._senders
        chosen, found = tuple(part[:count] for part in sight), valid[:count]
        for sender in range(1, self._senders):
            part = slice(sender * count, (sender + 1) * count)
            fresh = valid[part] & ~found
            chosen = tuple(xp.where(fresh, new[part], old) for new, old in zip(sight, chosen, strict=True))
            found = found | fresh
        x, y, z = (xp.permute_dims(part, (1, 0, 2)) for part in chosen)
        return Sighting((x, y, z), xp.sqrt(x * x + y * y + z * z), None, None, xp.permute_dims(found, (1, 0, 2)))


class SenderDecoder(Decoder):
    """Where teammates say that they are themselves, on the same link."""

    kind = "shared_tracks"
    tells = frozenset({"direction", "range"})
    needs = ("position",)

    @classmethod
    def shown(cls, fields: tuple[str, ...]) -> list[str]:
        """Return the senders."""
        return [name for name in prefixes(fields) if "." not in name]

    def prepare(self, context: PolicyContext, wanted: tuple[str, ...], law: str) -> None:
        """Find the places of the wanted senders."""
        self._position = PositionReader(context, law)
        names = [[name for name in wanted if name in self.shown(fields)] for fields in self._fields]
        self._rows = self.rows(names, tuple(f"position_{axis}" for axis in "xyz"))

    def read(self, views: Views, own: Own | None = None) -> Sighting:
        """Return their place less the own."""
        del own
        xp, view = self._xp, views[self._sensor]
        places = xp.astype(self.take(view.values, self._rows), xp.float64)
        valid = self.take(view.valid, self._rows[0])
        place, known = self._position.read(views)
        x, y, z = (xp.permute_dims(there - here, (1, 0, 2)) for there, here in zip(places, place, strict=True))
        return Sighting(
            (x, y, z), xp.sqrt(x * x + y * y + z * z), None, None, xp.permute_dims(valid & known, (1, 0, 2))
        )


LINK_DECODERS: tuple[type[Decoder], ...] = (SharedDecoder, SenderDecoder)
"""What teammates see, then where they are."""
