"""Airplane: the Dubins airplane with a climb angle (Owen, Beard, McLain: Implementing Dubins airplane paths, 2015)."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from pe_sim.actions import ActionSpec, continuous
from pe_sim.arrays import Array, Quaternion, Vector, dot
from pe_sim.quantities import Acceleration, Angle, AngularRate, Speed
from pe_sim.worlds.base import DynamicsSpec
from pe_sim.worlds.dynamics.base import UNLIMITED, Dynamics, KinematicDynamicsSpec
from pe_sim.worlds.dynamics.multirotor import GRAVITY
from pe_sim.worlds.dynamics.turning import double, half_of, sinc_cos, turn


class AirplaneSpec(KinematicDynamicsSpec):
    """Limits of an airplane.

    Attributes:
        min_speed: least airspeed [m/s].
        max_speed: greatest airspeed [m/s].
        max_acceleration: greatest change of speed [m/s^2].
        max_turn_rate: greatest rate of turn of the course [rad/s].
        max_climb_angle: steepest flight path, up or down [rad].
        max_pitch_rate: how fast the climb angle changes at most [rad/s].
    """

    min_speed: Annotated[Speed, Field(gt=0.0)]
    max_speed: Annotated[Speed, Field(gt=0.0)]
    max_acceleration: Annotated[Acceleration, Field(gt=0.0)] = UNLIMITED
    max_turn_rate: Annotated[AngularRate, Field(gt=0.0)]
    max_climb_angle: Annotated[Angle, Field(ge=0.0, lt=math.pi / 2)] = math.radians(20.0)
    max_pitch_rate: Annotated[AngularRate, Field(gt=0.0)] = 1.0

    @model_validator(mode="after")
    def _ordered(self) -> AirplaneSpec:
        if self.min_speed > self.max_speed:
            raise PydanticCustomError("range", "min_speed must not exceed max_speed")
        return self


class Airplane(Dynamics):
    """Action: speed [m/s; along the flight path], turn rate [rad/s; of the course], climb angle [rad; positive up].

    It points along its flight path (no angle of attack, no sideslip) and banks as a coordinated turn asks,
    tan(bank) = V cos(climb) turn_rate / g. It cannot stop: told to, it circles level at its least speed.

    Memory: airspeed [m/s], climb angle [rad], sine and cosine of half the course.
    """

    name: ClassVar[str] = "airplane"
    Parameters: ClassVar[type[DynamicsSpec]] = AirplaneSpec
    memory_size: ClassVar[int] = 4
    drawable: ClassVar[tuple[str, ...]] = (
        "min_speed", "max_speed", "max_acceleration", "max_turn_rate", "max_climb_angle", "max_pitch_rate",
    )
    full_command: ClassVar[dict[str, str]] = {
        "speed": "max_speed", "turn_rate": "max_turn_rate", "climb_angle": "max_climb_angle",
    }
    driven: ClassVar[bool] = True

    def prepare(self) -> None:
        """Work out the limits of each agent."""
        dt = self.tick
        self._min_speed = self.each(lambda spec: spec.min_speed)
        self._max_speed = self.each(lambda spec: spec.max_speed)
        self._max_turn_rate = self.each(lambda spec: spec.max_turn_rate)
        self._max_climb = self.each(lambda spec: spec.max_climb_angle)
        self._max_change = self.each(lambda spec: spec.max_acceleration * dt)
        self._ramp = self.each(lambda spec: 0.5 / spec.max_acceleration)
        self._max_pitch = self.each(lambda spec: spec.max_pitch_rate * dt)
        self._greatest_quarter = 0.25 * dt * self.greatest(lambda spec: spec.max_turn_rate)

    @classmethod
    def check(cls, spec: Any, dimensions: int) -> str | None:
        """An airplane needs height."""
        del spec
        return "an airplane needs dimensions: 3; in 2 use dubins_car or unicycle" if dimensions == 2 else None

    @classmethod
    def action_spec(cls, spec: Any, dimensions: int) -> ActionSpec:
        """Speed, turn rate and climb angle."""
        del dimensions
        top, climb = spec.max_turn_rate, spec.max_climb_angle
        limits = {
            "speed": ("m/s", spec.min_speed, spec.max_speed),
            "turn_rate": ("rad/s", -top, top),
            "climb_angle": ("rad", -climb, climb),
        }
        return continuous("airplane", limits, frame="body")

    @classmethod
    def top_speed(cls, spec: Any) -> float:
        """The greatest airspeed [m/s]."""
        return float(spec.max_speed)

    def reset(self, heading: Array, speed: Array, where: Any) -> None:
        """Begin in level flight along the heading."""
        xp = self.xp
        speed = xp.clip(speed, self.limit_at(self._min_speed, where), self.limit_at(self._max_speed, where))
        sine, cosine = xp.sin(0.5 * heading) + 0.0, xp.cos(0.5 * heading)
        for i, part in enumerate((speed, speed * 0.0, sine, cosine)):
            self.memory[i][:, where] = part
        for i, part in enumerate((0.0, 0.0, sine, cosine, speed, 0.0, 0.0, 0.0, 0.0, 0.0), start=3):
            self.block[i][:, where] = part

    def coast_values(self) -> Array:
        """Keep the speed, straight and level."""
        still = self.memory[0] * 0.0
        return self.xp.stack([self.memory[0], still, still])

    def stop_values(self) -> Array:
        """Least speed, level, as tight a circle to the left as it can."""
        still = self.memory[0] * 0.0
        return self.xp.stack([still + self._min_speed, still + self._max_turn_rate, still])

    def step(self, values: Array) -> None:
        """Change speed and climb angle within their limits, then fly a helix of constant climb and turn: exact."""
        xp, dt, block, memory = self.xp, self.tick, self.block, self.memory
        present, old_climb = memory[0], memory[1]
        speed = xp.clip(values[0], self._min_speed, self._max_speed)
        speed = xp.clip(speed, present - self._max_change, present + self._max_change)
        change = speed - present
        way = speed * dt - change * xp.abs(change) * self._ramp
        rate = xp.clip(values[1], -self._max_turn_rate, self._max_turn_rate)
        climb = xp.clip(values[2], -self._max_climb, self._max_climb)
        climb = xp.clip(climb, old_climb - self._max_pitch, old_climb + self._max_pitch)
        tilt = (xp.sin(0.5 * climb), xp.cos(0.5 * climb))
        up, level = double(*tilt)
        quarter = rate * (0.25 * dt)
        sinc, cosine = sinc_cos(xp, quarter, self._greatest_quarter)
        sine = quarter * sinc
        middle = turn(memory[2], memory[3], sine, cosine)
        north, east = double(*middle)
        chord = way * level * (sinc * cosine)
        block[0] += chord * east
        block[1] += chord * north
        block[2] += way * up
        memory[2], memory[3] = turn(*middle, sine, cosine)
        pitch_rate = (climb - old_climb) * (-1.0 / dt)
        memory[0], memory[1] = speed, climb
        block[7], block[8], block[9] = speed, 0.0, 0.0
        bank = self._bank(speed * level * rate)
        for i, part in enumerate(_attitude(bank, tilt, (memory[2], memory[3])), start=3):
            block[i] = part
        # Body rates of yaw, pitch and roll angles (ZYX), the bank held: the pitch angle is minus the climb angle.
        sin_bank, cos_bank = double(*bank)
        block[10] = rate * up
        block[11] = pitch_rate * cos_bank + rate * sin_bank * level
        block[12] = rate * cos_bank * level - pitch_rate * sin_bank
        if self.drift is not None:
            self._blow()

    def _bank(self, sideways: Array) -> tuple[Array, Array]:
        """Return sine and cosine of half the bank for an acceleration to the left [m/s^2]; it is negative then."""
        xp = self.xp
        tangent = sideways * (-1.0 / GRAVITY)
        cosine = 1.0 / xp.sqrt(1.0 + tangent * tangent)
        half_cosine = xp.sqrt(0.5 + 0.5 * cosine)
        return tangent * cosine / (2.0 * half_cosine), half_cosine

    def remember(self, at: Array, velocity: Vector) -> None:
        """Note the part of a velocity along the flight path."""
        ahead = self._ahead(at)
        self.flat_memory[0][at] = dot(ahead, velocity)

    def impact(self, at: Array, normal: Vector, restitution: float) -> None:
        """Slide along the surface; or, where speed comes back, turn as light does at a mirror, wings level."""
        if restitution > 0.0:
            xp, velocity, ahead = self.xp, self.ground_velocity(at), self._ahead(at)
            across = 2.0 * xp.where(dot(velocity, normal) < 0.0, dot(ahead, normal), 0.0)
            x, y, z = (a - across * n for a, n in zip(ahead, normal, strict=True))
            sine, cosine = half_of(xp, x, y)
            climb = xp.atan2(z, xp.sqrt(x * x + y * y))
            level = (climb * 0.0, climb * 0.0 + 1.0)
            turned = _attitude(level, (xp.sin(0.5 * climb), xp.cos(0.5 * climb)), (sine, cosine))
            for i, part in enumerate((climb, sine, cosine), start=1):
                self.flat_memory[i][at] = part
            for i, part in enumerate(turned, start=3):
                self.flat[i][at] = part
            self.set_ground_velocity(at, velocity)
        super().impact(at, normal, restitution)

    def _ahead(self, at: Array) -> Vector:
        """Return the unit vectors [world] along which some agents point."""
        xp = self.xp
        climb = self.flat_memory[1].take(at)
        north, east = double(self.flat_memory[2].take(at), self.flat_memory[3].take(at))
        level = xp.cos(climb)
        return (level * east, level * north, xp.sin(climb))


def _attitude(bank: tuple[Array, Array], tilt: tuple[Array, Array], course: tuple[Array, Array]) -> Quaternion:
    """Return the attitude from sines and cosines of half the bank, climb and course angles (see from_euler)."""
    (sr, cr), (sc, cp), (sy, cy) = bank, tilt, course
    sp = -sc
    return (
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
        cr * cp * cy + sr * sp * sy,
    )
