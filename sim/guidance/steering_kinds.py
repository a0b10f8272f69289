"""How each kind of action is steered; the kinds are described in :mod:`pe_sim.actions`."""

from __future__ import annotations

from typing import Any

from pe_sim.arrays import Array, Vector, add, dot, limit, scale, subtract, unit
from pe_sim.guidance.fixed_wing.steering import FlightSteering
from pe_sim.guidance.own import Own
from pe_sim.guidance.steering import Steering

GRAVITY = 9.80665
"""Standard gravity [m/s^2]."""


class VelocitySteering(Steering):
    """Velocity (x, y, z) and yaw rate: goes where it wants; the nose follows where own motion is known."""

    kind = "velocity"
    needs_motion = False

    def along(self, direction: Vector, speed: Array | float, own: Own | None, look: Vector | None = None) -> Array:
        """The wish itself."""
        return self._velocity(scale(direction, speed), direction if look is None else look, own)

    def _accelerate(self, across: Vector, heading: Vector, own: Own, moving: Array) -> Array:
        """The velocity that the acceleration makes of the present one by the next decision."""
        wish = add(scale(heading, self.top_speed), scale(across, self._period))
        return self._velocity(wish, heading, own)

    def _velocity(self, wish: Vector, look: Vector, own: Own | None) -> Array:
        xp, dimensions = self._xp, self._context.dimensions
        wish = limit(xp, wish if dimensions == 3 else (wish[0], wish[1], wish[2] * 0.0), self.top_speed)
        turn = wish[0] * 0.0
        if own is not None:
            turn = self._bounded(dimensions, self.turn_error(look, self.heading(own)) / self._time)
        return xp.stack([*wish[:dimensions], turn])


class AccelerationSteering(Steering):
    """Acceleration (x, y, z)."""

    kind = "acceleration"

    def along(self, direction: Vector, speed: Array | float, own: Own | None, look: Vector | None = None) -> Array:
        """The acceleration that makes the velocity the wished one within the response time."""
        assert own is not None
        missing = subtract(scale(direction, speed), own.velocity)
        return self._acceleration(scale(missing, 1.0 / self._time))

    def _accelerate(self, across: Vector, heading: Vector, own: Own, moving: Array) -> Array:
        """What is needed across the path comes first, the rest goes into speed."""
        xp, top = self._xp, float(self._limits["max_acceleration"])
        across = limit(xp, across, top)
        push = (self.top_speed - own.speed) / self._time
        spare = top * top - dot(across, across)
        room = xp.sqrt(xp.where(spare > 0.0, spare, 0.0))
        return self._acceleration(add(across, scale(heading, xp.clip(push, -room, room))))

    def _acceleration(self, wish: Vector) -> Array:
        xp, dimensions = self._xp, self._context.dimensions
        wish = wish if dimensions == 3 else (wish[0], wish[1], wish[2] * 0.0)
        return xp.stack(list(limit(xp, wish, float(self._limits["max_acceleration"]))[:dimensions]))


class TurnSteering(Steering):
    """Speed along the heading and turn rate."""

    kind = "turn"

    def along(self, direction: Vector, speed: Array | float, own: Own | None, look: Vector | None = None) -> Array:
        """Turn towards the direction; the speed is the wished one, whatever the heading."""
        assert own is not None
        level = self._xp.sqrt(direction[0] * direction[0] + direction[1] * direction[1])
        rate = self.turn_error(direction, self.heading(own)) / self._time
        return self._xp.stack([self._bounded(0, level * speed), self._bounded(1, rate)])

    def _accelerate(self, across: Vector, heading: Vector, own: Own, moving: Array) -> Array:
        rate = self.turn_rate_across(across, heading, own, moving)
        return self._xp.stack([own.speed * 0.0 + self.top_speed, self._bounded(1, rate)])


class DubinsSteering(Steering):
    """Turn rate; the speed is what it is."""

    kind = "dubins"

    def _top_speed(self) -> float:
        return float(self._limits["speed"])

    def along(self, direction: Vector, speed: Array | float, own: Own | None, look: Vector | None = None) -> Array:
        """Turn towards the direction."""
        assert own is not None
        return self._bounded(0, self.turn_error(direction, self.heading(own)) / self._time)[None]

    def _accelerate(self, across: Vector, heading: Vector, own: Own, moving: Array) -> Array:
        return self._bounded(0, self.turn_rate_across(across, heading, own, moving))[None]


class CarSteering(Steering):
    """Acceleration along the heading and steering angle: turn rate = speed tan(steering) / wheelbase."""

    kind = "car"

    def along(self, direction: Vector, speed: Array | float, own: Own | None, look: Vector | None = None) -> Array:
        """Turn towards the direction at the wished speed."""
        assert own is not None
        level = self._xp.sqrt(direction[0] * direction[0] + direction[1] * direction[1])
        return self._drive(self.turn_error(direction, self.heading(own)) / self._time, level * speed, own)

    def _accelerate(self, across: Vector, heading: Vector, own: Own, moving: Array) -> Array:
        return self._drive(self.turn_rate_across(across, heading, own, moving), self.top_speed, own)

    def _drive(self, rate: Array, speed: Array | float, own: Own) -> Array:
        xp = self._xp
        yaw = self.heading(own)
        ahead = own.velocity[0] * xp.cos(yaw) + own.velocity[1] * xp.sin(yaw)
        # Standing, the wheels are set as for a crawl; backing up, they are set the other way.
        crawl = 0.05 * self.top_speed
        pace = xp.where(xp.abs(ahead) > crawl, ahead, crawl)
        steering = xp.atan(rate * float(self._limits["wheelbase"]) / pace)
        push = (xp.clip(speed + ahead * 0.0, None, self.top_speed) - ahead) / self._time
        return xp.stack([self._bounded(0, push), self._bounded(1, steering)])


class AirplaneSteering(Steering):
    """Speed, turn rate of the course, climb angle."""

    kind = "airplane"

    def along(self, direction: Vector, speed: Array | float, own: Own | None, look: Vector | None = None) -> Array:
        """Turn the course towards the direction, climb or descend as it does."""
        assert own is not None
        rate = self.turn_error(direction, self.heading(own)) / self._time
        return self._fly(speed + direction[0] * 0.0, rate, _climb(self._xp, direction))

    def _accelerate(self, across: Vector, heading: Vector, own: Own, moving: Array) -> Array:
        turned = add(scale(heading, self._xp.where(moving, own.speed, self.top_speed)), scale(across, self._time))
        rate = self.turn_rate_across(across, heading, own, moving)
        return self._fly(own.speed * 0.0 + self.top_speed, rate, _climb(self._xp, unit(self._xp, turned)))

    def _fly(self, speed: Array, rate: Array, climb: Array) -> Array:
        return self._xp.stack([self._bounded(0, speed), self._bounded(1, rate), self._bounded(2, climb)])


def _climb(xp: Any, direction: Vector) -> Array:
    """Return the angle of a unit vector above the horizon [rad]."""
    return xp.asin(xp.clip(direction[2], -1.0, 1.0))


class LineSteering(Steering):
    """Speed along x."""

    kind = "line_speed"
    needs_motion = False
    accelerates = False

    def along(self, direction: Vector, speed: Array | float, own: Own | None, look: Vector | None = None) -> Array:
        """The part of the wish along the line."""
        return self._bounded(0, direction[0] * speed)[None]


KINDS: tuple[type[Steering], ...] = (
    VelocitySteering, AccelerationSteering, TurnSteering, DubinsSteering, CarSteering, AirplaneSteering,
    FlightSteering, LineSteering,
)
"""Every kind that can be steered."""
