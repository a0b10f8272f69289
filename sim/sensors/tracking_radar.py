"""Tracking radar: a radar that remembers. A track is coasted for a while after it was last seen, then lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field
from pydantic_core import PydanticCustomError

from pe_sim.arrays import Array
from pe_sim.quantities import Duration
from pe_sim.sensors.base import Quantity, SensorSpec
from pe_sim.sensors.instrument import DirectInstrument, Instrument
from pe_sim.sensors.radar import FieldSpec, Radar
from pe_sim.sensors.setting import SensorSetting
from pe_sim.state import State
from pe_sim.timing import NANOSECONDS

if TYPE_CHECKING:
    from pe_sim.engagement import Engagement


class TrackingRadarSpec(FieldSpec):
    """Settings of a tracking radar: those of a radar, whose fields of view are the gimbal's limits, and a memory.

    Attributes:
        memory: how long a track is kept after the target was last detected [s].
    """

    memory: Annotated[Duration, Field(gt=0)] = 2_000_000_000


class TrackingRadar(Radar):
    """Range, azimuth, elevation and range rate as of the last detection, the range carried on, and its age [s]."""

    name: ClassVar[str] = "tracking_radar"
    Parameters: ClassVar[type[SensorSpec]] = TrackingRadarSpec
    spec: TrackingRadarSpec

    @classmethod
    def instrument(cls, setting: SensorSetting) -> Instrument:
        """Return a radar's instrument with a memory behind it."""
        spec = setting.spec
        assert isinstance(spec, TrackingRadarSpec)
        return TrackInstrument(DirectInstrument(cls(setting), setting), setting, spec.memory)

    @classmethod
    def check(cls, engagement: Engagement, role: str, sensor: str) -> None:
        """Refuse hidden identities: a track is of one target."""
        super().check(engagement, role, sensor)
        spec = engagement.roles[role].sensors[sensor]
        assert isinstance(spec, TrackingRadarSpec)
        if spec.order != "name":
            raise PydanticCustomError(
                "order", "roles.{role}.sensors.{sensor}.order: a tracking radar keeps each target's track apart: "
                "use 'name', or a sensor of kind radar", {"role": role, "sensor": sensor},
            )


class TrackInstrument(Instrument):
    """Keeps each target's last detection for a while.

    Args:
        radar: what detects.
        setting: whose it is.
        memory: how long a track is kept [ns].
    """

    def __init__(self, radar: DirectInstrument, setting: SensorSetting, memory: int) -> None:
        self._radar = radar
        self._xp: Any = setting.xp
        self._memory = memory
        self._per_target = len(Radar.quantities)
        self._targets = radar.width // self._per_target
        self.width = self._targets * (self._per_target + 1)
        self.frame = radar.frame
        self.others = radar.others
        self._values: Array = None
        self._stamp: Array = None

    def fields(self, place: int) -> list[tuple[str, str]]:
        """Return the radar's fields, an age after those of each target."""
        own, out = self._radar.fields(place), []
        age = Quantity("age", "s")
        for first in range(0, len(own), self._per_target):
            out += own[first : first + self._per_target]
            out.append((f"{own[first][0].rpartition('.')[0]}.{age.name}", age.unit))
        return out

    def reset(self, roots: Array, rows: Array | None) -> None:
        """Drop every track in the given engagements."""
        self._radar.reset(roots, rows)
        if self._stamp is not None:
            self._stamp[..., slice(None) if rows is None else rows] = -1

    def read(
        self, state: State, alive: Array, stamp: Array, sequence: Array, taken: Array | None
    ) -> tuple[Array, Array]:
        """Take a look; return the tracks, coasted where the look showed nothing."""
        xp, per = self._xp, self._per_target
        values, valid = self._radar.read(state, alive, stamp, sequence, taken)
        values = xp.reshape(values, (self._targets, per, *values.shape[1:]))
        seen = xp.reshape(valid, values.shape)[:, 0]
        if taken is not None:
            seen = seen & taken
        if self._stamp is None or self._stamp.shape != seen.shape:
            self._values = xp.zeros_like(values)
            self._stamp = xp.full(seen.shape, -1, dtype=xp.int64)
        self._values = xp.where(seen[:, None], values, self._values)
        self._stamp = xp.where(seen, stamp + xp.zeros_like(self._stamp), self._stamp)
        age = stamp - self._stamp
        kept = (self._stamp >= 0) & (age <= self._memory)
        seconds = xp.astype(xp.where(kept, age, 0), xp.float64) / NANOSECONDS
        out = xp.zeros((self._targets, per + 1, *seen.shape[1:]), dtype=xp.float32)
        for row in range(per):
            out[:, row] = xp.where(kept, self._values[:, row], 0.0)
        carried = xp.astype(self._values[:, 0], xp.float64) + seconds * xp.astype(self._values[:, 3], xp.float64)
        out[:, 0] = xp.where(kept, xp.where(carried > 0.0, carried, 0.0), 0.0)
        out[:, per] = seconds
        mask = xp.zeros(out.shape, dtype=xp.bool)
        mask[...] = kept[:, None]
        return xp.reshape(out, (self.width, *seen.shape[1:])), xp.reshape(mask, (self.width, *seen.shape[1:]))
