"""ACMI 2.2: what Tacview reads. A flight recording as text, written from canonical states.

Format: https://www.tacview.net/documentation/acmi/ (Raia Software, ACMI 2.x): UTF-8 with a byte order mark, one
property per line in the head, then a line ``#<seconds>`` per instant and a line ``<id>,T=...`` per object;
``-<id>`` removes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
from numpy.typing import NDArray

from pe_sim.arrays import rotate
from pe_sim.errors import EngagementError
from pe_sim.timing import NANOSECONDS
from pe_sim.worlds.jsbsim.frames import LocalFrame, Rotation, Triple, ecef_from_enu, multiply

if TYPE_CHECKING:
    from pe_sim.engagement import Engagement

EPOCH = datetime(2000, 1, 1, tzinfo=timezone.utc)
"""Engagement time 0 where nobody says when it was."""

NOWHERE = LocalFrame(math.radians(47.0), math.radians(8.0), 0.0)
"""Where the world lies that does not say where on Earth it is."""

TYPES = {
    "aircraft": "Air+FixedWing", "airplane": "Air+FixedWing", "multirotor": "Air+Rotorcraft", "car": "Ground+Vehicle",
    "unicycle": "Ground+Vehicle", "dubins_car": "Ground+Vehicle",
}
"""Dynamics model -> type of object; others are 'Misc'."""

FIRST_ID = 0x101


@dataclass(frozen=True)
class AcmiObject:
    """An object of the recording.

    Attributes:
        name: what it is, e.g. f16.
        callsign: who it is, e.g. hunter_0.
        kind: its type in ACMI's terms.
        coalition: its team.
        color: Blue, Red, Green.
    """

    name: str
    callsign: str
    kind: str
    coalition: str
    color: str

    @property
    def properties(self) -> str:
        """The object's properties as ACMI text."""
        values = {
            "Name": self.name, "Type": self.kind, "CallSign": self.callsign, "Coalition": self.coalition,
            "Color": self.color,
        }
        return ",".join(f"{key}={escaped(value)}" for key, value in values.items())


def escaped(text: str) -> str:
    """Return text with ACMI's separators escaped."""
    return text.replace("\\", "\\\\").replace(",", "\\,").replace("\n", "\\\n")


def objects_of(engagement: Engagement) -> list[AcmiObject]:
    """Return the agents of an engagement as objects: pursuers blue, evaders red."""
    colors = {engagement.rules.pursuers: "Blue", engagement.rules.evaders: "Red"}
    out = []
    for agent, team in zip(engagement.agents, engagement.teams, strict=True):
        dynamics = engagement.roles[engagement.role_of(agent)].dynamics
        name = str(getattr(dynamics, "type", dynamics.model))
        out.append(AcmiObject(name, agent, TYPES.get(dynamics.model, "Misc"), team, colors.get(team, "Green")))
    return out


def frame_of(engagement: Engagement) -> LocalFrame:
    """Return the world frame of an engagement, or that of :data:`NOWHERE`."""
    origin: Any = getattr(engagement.world, "origin", None)
    return NOWHERE if origin is None else LocalFrame(origin.latitude, origin.longitude, origin.altitude)


def local_angles(frame: LocalFrame, place: Triple, attitude: Rotation) -> tuple[float, ...]:
    """Return what ACMI wants of an object.

    Args:
        frame: the world frame.
        place: [m; world].
        attitude: body FLU to world, (x, y, z, w).

    Returns:
        Longitude, latitude [deg], altitude [m], roll (right wing down), pitch (nose up), true heading [deg].
    """
    latitude, longitude, altitude = frame.geodetic(*place)
    x, y, z, w = ecef_from_enu(latitude, longitude)
    here = multiply((-x, -y, -z, w), ecef_from_enu(frame.latitude, frame.longitude))
    local = multiply(here, attitude)
    nose, left, up = (rotate(local, axis) for axis in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)))
    roll, pitch = math.atan2(left[2], up[2]), math.asin(max(-1.0, min(1.0, nose[2])))
    heading = math.atan2(nose[0], nose[1]) % (2.0 * math.pi)
    return (
        math.degrees(longitude), math.degrees(latitude), altitude,
        math.degrees(roll), math.degrees(pitch), math.degrees(heading),
    )  # fmt: skip


class AcmiWriter:
    """Writes one engagement to a text stream.

    Args:
        stream: an open text file; the caller closes it.
        frame: the world frame.
        objects: one per agent, in order.
        title: of the recording.
        begin: when engagement time 0 was.
    """

    def __init__(
        self, stream: TextIO, frame: LocalFrame, objects: list[AcmiObject], title: str, begin: datetime = EPOCH
    ) -> None:
        self._stream = stream
        self._frame = frame
        self._objects = objects
        self._shown = [False] * len(objects)
        head = {
            "ReferenceTime": begin.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "Title": escaped(title), "DataSource": "pe_ros", "DataRecorder": "pe_ros",
        }
        stream.write("\ufeffFileType=text/acmi/tacview\nFileVersion=2.2\n")
        stream.writelines(f"0,{key}={value}\n" for key, value in head.items())

    def sample(self, instant: int, block: NDArray[np.float64], alive: NDArray[np.bool_]) -> None:
        """Write the objects at an instant.

        Args:
            instant: engagement time [ns].
            block: canonical state, (13, N).
            alive: who is in play, bool (N,): who no longer is, is marked destroyed and removed.
        """
        lines = [f"#{instant / NANOSECONDS:.3f}"]
        for i, thing in enumerate(self._objects):
            number = f"{FIRST_ID + i:x}"
            if not alive[i]:
                if self._shown[i]:
                    lines += [f"0,Event=Destroyed|{number}|{escaped(thing.callsign)} is out of play", f"-{number}"]
                    self._shown[i] = False
                continue
            place = (float(block[0, i]), float(block[1, i]), float(block[2, i]))
            attitude = (float(block[3, i]), float(block[4, i]), float(block[5, i]), float(block[6, i]))
            lon, lat, altitude, roll, pitch, heading = local_angles(self._frame, place, attitude)
            where = f"T={lon:.7f}|{lat:.7f}|{altitude:.2f}|{roll:.2f}|{pitch:.2f}|{heading:.2f}"
            lines.append(f"{number},{where}" if self._shown[i] else f"{number},{where},{thing.properties}")
            self._shown[i] = True
        self._stream.write("\n".join(lines) + "\n")


def write(
    path: Path, engagement: Engagement,
    samples: Iterable[tuple[int, NDArray[np.float64], NDArray[np.bool_]]], begin: datetime = EPOCH,
) -> int:
    """Write an ACMI 2.2 file; return the number of instants.

    Args:
        path: the file, which must not exist; by convention its name ends in .acmi.
        engagement: who the agents are.
        samples: (engagement time [ns], canonical state (13, N), who is in play (N,)), in order.
        begin: when engagement time 0 was.

    Raises:
        EngagementError: if the file exists, or cannot be written.
    """
    count = 0
    try:
        with path.open("x", encoding="utf-8", newline="\n") as stream:
            title = engagement.description or engagement.engagement
            writer = AcmiWriter(stream, frame_of(engagement), objects_of(engagement), title, begin)
            for instant, block, alive in samples:
                writer.sample(instant, block, alive)
                count += 1
    except OSError as fault:
        rule = "exists already" if isinstance(fault, FileExistsError) else f"cannot be written: {fault.strerror}"
        raise EngagementError(str(path), rule, cure="give the path of a new file") from fault
    return count
