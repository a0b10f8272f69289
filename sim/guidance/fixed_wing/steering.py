"""Steering by bank and load factor: how an aircraft under autopilot is turned to where a law wants it."""

from __future__ import annotations

from typing import ClassVar

from pe_sim.arrays import Array, Vector, add, cross, dot, length, limit, scale, unit
from pe_sim.errors import ContractError
from pe_sim.guidance.own import Own
from pe_sim.guidance.steering import Steering
from pe_sim.guidance.vectors import across
from pe_sim.policies.base import PolicyContext, Views

GRAVITY = 9.80665
"""Standard gravity [m/s^2]."""

ALTITUDE_SENSORS = {"air_data": "altitude", "position": "z"}
"""Sensor kind -> its field that tells the own height."""

LOOK_AHEAD = 6.0
"""How far ahead of an aircraft told altitudes the altitude is set that its flight path leads to [s]."""


class AltitudeReader:
    """Reads the own height from air data or a position sensor.

    Raises:
        ContractError: if the agents have neither.
    """

    def __init__(self, context: PolicyContext, law: str) -> None:
        self._xp = context.xp
        found = [
            (layout.sensor, layout.fields.index(field))
            for kind, field in ALTITUDE_SENSORS.items()
            for layout in context.layouts[0]
            if layout.kind == kind
        ]
        if not found:
            raise ContractError(
                f"guidance/{law}", f"needs a sensor of kind air_data or position, which {context.role} does not have",
                cure=f"add one under roles.{context.role}.sensors",
            )
        self._sensor, self._row = found[0]

    def read(self, views: Views) -> tuple[Array, Array]:
        """Return the height [m] and whether it is known, bool (n, B)."""
        view = views[self._sensor]
        return self._xp.astype(view.values[self._row], self._xp.float64), view.sequence >= 0


class FlightSteering(Steering):
    """Actions of kind ``flight``: heading or bank, altitude or climb or load factor, airspeed.

    With bank and load factor the lift vector is put where the wanted acceleration and weight together ask for it
    (bank-to-turn); otherwise the direction is told and the autopilot turns.
    """

    kind: ClassVar[str] = "flight"

    def __init__(self, context: PolicyContext, law: str) -> None:
        super().__init__(context, law)
        names = context.action.names
        self._lateral, self._vertical = names[0], names[1]
        self._height = AltitudeReader(context, law) if self._vertical == "altitude" else None
        self._height_now: Array = 0.0
        self.most_load = float(self._limits["load_factor"][1])
        self._most_bank = float(self._limits["max_bank"])

    def _top_speed(self) -> float:
        return float(self._limits["airspeed"][1])

    @property
    def _time(self) -> float:
        """Response time [s]: an aircraft rolls before it turns."""
        return max(super()._time, 1.0)

    def own(self, views: Views) -> Own | None:
        """Return own motion; the height is noted where altitudes are told."""
        own = super().own(views)
        if self._height is not None and own is not None:
            self._height_now, known = self._height.read(views)
            own.known = own.known & known
        return own

    def along(self, direction: Vector, speed: Array | float, own: Own | None, look: Vector | None = None) -> Array:
        """Turn the velocity towards a direction."""
        assert own is not None
        xp = self._xp
        if self._vertical != "load_factor":
            return self._towards(direction, speed, own)
        heading = unit(xp, own.velocity)
        error = across(direction, heading)
        # Beyond a right angle the turn is as hard as at one, and to the side where the direction lies.
        size = length(xp, error)
        behind = dot(direction, heading) < 0.0
        stretch = xp.where(behind, 1.0 / xp.where(size > 1e-6, size, 1e-6), 1.0)
        wish = scale(error, stretch * own.speed / self._time)
        return self._pull(wish, heading, speed)

    def _accelerate(self, across: Vector, heading: Vector, own: Own, moving: Array) -> Array:
        if self._vertical == "load_factor":
            return self._pull(across, heading, self.top_speed)
        safe = self._xp.where(moving, own.speed, self.top_speed)
        turned = add(scale(heading, safe), scale(across, self._time))
        return self._towards(unit(self._xp, turned), self.top_speed, own)

    def _pull(self, wish: Vector, heading: Vector, speed: Array | float) -> Array:
        """Bank and load factor of an acceleration across the flight path [m/s^2; world]."""
        xp = self._xp
        zero = wish[0] * 0.0
        upright = across((zero, zero, zero + 1.0), heading)
        wish = limit(xp, wish, GRAVITY * self.most_load)
        lift = add(wish, scale(upright, GRAVITY))
        up, right = unit(xp, upright), unit(xp, cross(heading, (zero, zero, zero + 1.0)))
        bank = xp.atan2(dot(lift, right), dot(lift, up))
        load = length(xp, lift) / GRAVITY
        if self._lateral == "heading":
            turned = add(scale(heading, self.top_speed), scale(wish, self._time))
            return self._packed(xp.atan2(turned[1], turned[0]), load, speed)
        return self._packed(bank, load, speed)

    def _towards(self, direction: Vector, speed: Array | float, own: Own) -> Array:
        """A direction told to an autopilot that turns and climbs by itself."""
        xp = self._xp
        level = xp.sqrt(direction[0] * direction[0] + direction[1] * direction[1])
        climb = own.speed * direction[2] / xp.sqrt(level * level + direction[2] * direction[2] + 1e-12)
        vertical = climb if self._vertical == "climb" else self._height_now + LOOK_AHEAD * climb
        course = xp.atan2(direction[1], direction[0])
        if self._lateral == "heading":
            return self._packed(course, vertical, speed)
        rate = self.turn_error(direction, xp.atan2(own.velocity[1], own.velocity[0])) / self._time
        bank = xp.clip(-xp.atan2(own.speed * rate, rate * 0.0 + GRAVITY), -self._most_bank, self._most_bank)
        return self._packed(bank, vertical, speed)

    def _packed(self, first: Array, second: Array, speed: Array | float) -> Array:
        speed = first * 0.0 + speed
        return self._xp.stack([self._bounded(0, first), self._bounded(1, second), self._bounded(2, speed)])

    def level(self, own: Own, bank: Array | float = 0.0, load: Array | float = 1.0, climb: float = 0.0) -> Array:
        """Return the action that holds the course, level or climbing, or a given bank and load factor."""
        xp = self._xp
        zero = own.speed * 0.0
        second = {"load_factor": zero + load, "climb": zero + climb, "altitude": self._height_now + LOOK_AHEAD * climb}
        course = xp.atan2(own.velocity[1], own.velocity[0])
        first = zero + bank if self._lateral == "bank" else course
        return self._packed(first, second[self._vertical], self.top_speed)
