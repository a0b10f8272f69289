"""What the engagement file says of the fixed-wing world and of its aircraft."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from pe_sim.quantities import Angle, AngularRate, Duration, Length, Rate, Ratio, Speed
from pe_sim.schema import Strict, nearest
from pe_sim.worlds.base import DynamicsSpec, WorldSpec
from pe_sim.worlds.jsbsim import library
from pe_sim.worlds.jsbsim.air import AirSpec
from pe_sim.worlds.jsbsim.profiles import profile


class OriginSpec(Strict):
    """Where on Earth the world's origin lies.

    Attributes:
        latitude: geodetic [rad], or text: '47.3 deg'.
        longitude: [rad].
        altitude: above the ellipsoid [m].
    """

    latitude: Annotated[Angle, Field(ge=-1.5, le=1.5)] = math.radians(47.0)
    longitude: Annotated[Angle, Field(ge=-math.pi, le=math.pi)] = math.radians(8.0)
    altitude: Length = 0.0


class AreaSpec(Strict):
    """The box that the fight takes place in; who leaves it is out.

    Attributes:
        low: lower corner (x, y, z) [m; world].
        high: upper corner [m; world].
    """

    low: tuple[Length, Length, Length] = (-50_000.0, -50_000.0, -500.0)
    high: tuple[Length, Length, Length] = (50_000.0, 50_000.0, 20_000.0)

    @model_validator(mode="after")
    def _ordered(self) -> AreaSpec:
        if any(a >= b for a, b in zip(self.low, self.high, strict=True)):
            raise PydanticCustomError("area", "low must be below high")
        return self


class FixedWingSpec(WorldSpec):
    """Settings of the fixed-wing world.

    Attributes:
        substep_rate: least rate of JSBSim's integration; a tick is divided into as few equal steps as give it [Hz].
        origin: where on Earth.
        terrain: height of the ground above the origin [m].
        area: the box that the fight takes place in.
        air: wind and turbulence.
        workers: processes that share the batch between them; 0 flies it in this process. How the work is done, not
            what it is: no part of the engagement's hash.
    """

    tick: Annotated[Duration, Field(gt=0)] = 50_000_000
    substep_rate: Rate = Fraction(120)
    origin: OriginSpec = OriginSpec()
    terrain: Length = 0.0
    area: AreaSpec = AreaSpec()
    air: AirSpec = AirSpec()
    workers: Annotated[int, Field(ge=0, le=256, exclude=True)] = 0

    @property
    def substeps(self) -> int:
        """Integration steps per tick."""
        return math.ceil(Fraction(self.tick, 1_000_000_000) * self.substep_rate)


class AircraftSpec(DynamicsSpec):
    """An aircraft and how it is commanded. What is left out comes from the type's profile.

    Attributes:
        type: JSBSim's name of the aircraft, e.g. f16, c172x, T38.
        action: 'guidance' commands an autopilot, 'surfaces' the stick, pedals and throttle themselves.
        lateral: with guidance, what the first value is: heading or bank.
        vertical: with guidance, what the second value is: altitude, climb or load_factor.
        airspeed: least and greatest true airspeed commanded [m/s].
        load_factor: least and greatest normal load factor that the autopilot pulls.
        max_bank: greatest bank in a turn to a heading [rad].
        max_climb: greatest climb and descent rate to an altitude [m/s].
        max_roll_rate: greatest that the autopilot asks for [rad/s].
        breaking_load_factor: least and greatest load factor before it breaks.
        stall_angle: angle of attack, positive or negative, that counts as stalled [rad].
        stall_time: how long it may stay stalled before its flight counts as ended [s].
        clearance: height of its centre of mass above ground that counts as contact [m].
        trim: 'level' begins in steady level flight, 'none' level with the controls neutral.
        throttle: throttle at the start with trim 'none'.
    """

    type: str
    action: Literal["guidance", "surfaces"] = "guidance"
    lateral: Literal["heading", "bank"] = "heading"
    vertical: Literal["altitude", "climb", "load_factor"] = "altitude"
    airspeed: tuple[Speed, Speed]
    load_factor: tuple[Ratio, Ratio]
    max_bank: Annotated[Angle, Field(gt=0.0, lt=math.pi / 2)]
    max_climb: Annotated[Speed, Field(gt=0.0)]
    max_roll_rate: Annotated[AngularRate, Field(gt=0.0)]
    breaking_load_factor: tuple[Ratio, Ratio]
    stall_angle: Annotated[Angle, Field(gt=0.0)]
    stall_time: Annotated[Duration, Field(ge=0)] = 2_000_000_000
    clearance: Annotated[Length, Field(ge=0.0)] = 5.0
    trim: Literal["level", "none"] = "level"
    throttle: Annotated[Ratio, Field(ge=0.0, le=1.0)] = 0.5

    @model_validator(mode="before")
    @classmethod
    def _from_profile(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        known = profile(str(data.get("type")))  # a wrong type is one fault, not one for each limit besides
        filled = {
            "airspeed": known.airspeed, "load_factor": known.load_factor, "max_bank": known.bank,
            "max_climb": known.climb, "max_roll_rate": known.roll_rate, "breaking_load_factor": known.breaking,
            "stall_angle": known.stall_angle,
        }
        return filled | data

    @model_validator(mode="after")
    def _possible(self) -> AircraftSpec:
        if library.installed() and self.type not in library.aircraft_names():
            raise PydanticCustomError(
                "aircraft", "type: JSBSim ships no aircraft {name}; {nearest}",
                {"name": repr(self.type), "nearest": nearest(self.type, library.aircraft_names())},
            )
        for name in ("airspeed", "load_factor", "breaking_load_factor"):
            low, high = getattr(self, name)
            if low >= high:
                raise PydanticCustomError("range", "{name}: the first value must be below the second", {"name": name})
        if self.airspeed[0] <= 0.0:
            raise PydanticCustomError("range", "airspeed: must be greater than 0")
        if not self.load_factor[0] <= 1.0 <= self.load_factor[1]:
            raise PydanticCustomError("range", "load_factor: must allow level flight, load factor 1")
        return self


class AircraftModel:
    """Names the model and the world it belongs to."""

    name: ClassVar[str] = "aircraft"
    world: ClassVar[str] = "fixed_wing"
    Parameters: ClassVar[type[DynamicsSpec]] = AircraftSpec
