"""From what a law wants (a direction, an acceleration) to what the agents' dynamics take."""

from __future__ import annotations

from pe_sim.arrays import Array, Vector, add, dot, limit, scale, subtract, wrap_angle
from pe_sim.errors import ContractError
from pe_sim.guidance.tracks import Own, OwnMotionReader
from pe_sim.policies.base import PolicyContext, Views
from pe_sim.timing import seconds

KINDS = ("acceleration", "velocity", "turn")
"""Action kinds that can be steered continuously."""


class Steering:
    """Turns wishes into action values of the agents' kind.

    Args:
        context: the agents.
        law: name of the law, for errors.

    Raises:
        ContractError: if the action kind cannot be steered, or own motion is needed and not sensed.
    """

    def __init__(self, context: PolicyContext, law: str) -> None:
        if context.action.kind not in KINDS:
            raise ContractError(
                f"guidance/{law}", f"steers actions of kind {', '.join(KINDS)}, not those of {context.role}",
                context.action.kind,
            )
        self._xp = context.xp
        self._context = context
        self._kind = context.action.kind
        self._period = max(seconds(context.period), 1e-3)
        self.top_speed = float(context.limits["max_speed"])
        has_motion = any(layout.kind == "own_motion" for layout in context.layouts[0])
        self._reader = OwnMotionReader(context, law) if has_motion or self._kind != "velocity" else None

    @property
    def knows_motion(self) -> bool:
        """Whether the agents know their own motion."""
        return self._reader is not None

    def own(self, views: Views) -> Own | None:
        """Return own motion, or None where the agents do not know it."""
        return None if self._reader is None else self._reader.read(views)

    def along(self, direction: Vector, speed: Array | float, own: Own | None) -> Array:
        """Return the action that turns the velocity to ``speed`` [m/s] along a unit ``direction`` [world]."""
        wish = scale(direction, speed)
        if self._kind == "velocity":
            return self._velocity(wish)
        assert own is not None
        if self._kind == "acceleration":
            return self._acceleration(scale(subtract(wish, own.velocity), 1.0 / self._period))
        xp = self._xp
        error = wrap_angle(xp, xp.atan2(wish[1], wish[0]) - self._heading(own))
        size = xp.sqrt(dot(wish, wish))
        return xp.stack([size, self._clip_turn(error / self._period)])

    def accelerate(self, sideways: Vector, ahead: Vector, own: Own) -> Array:
        """Return the action for an acceleration [m/s^2; world] across the flight path, at full speed along it.

        Args:
            sideways: wanted acceleration; its part along the velocity is not used.
            ahead: unit direction to go in while there is no speed to speak of.
            own: own motion.
        """
        xp = self._xp
        moving = own.speed > 1e-3 * self.top_speed
        safe = xp.where(moving, own.speed, 1.0)
        heading = tuple(xp.where(moving, v / safe, a) for v, a in zip(own.velocity, ahead, strict=True))
        across = subtract(sideways, scale(heading, dot(sideways, heading)))
        if self._kind == "turn":
            left = (-heading[1], heading[0], heading[2] * 0.0)
            rate = xp.where(moving, dot(across, left) / safe, 0.0)
            return xp.stack([own.speed * 0.0 + self.top_speed, self._clip_turn(rate)])
        if self._kind == "velocity":
            wish = add(scale(heading, self.top_speed), scale(across, self._period))
            return self._velocity(wish)
        push = (self.top_speed - own.speed) / self._period
        return self._acceleration(add(across, scale(heading, push)), across)

    def _heading(self, own: Own) -> Array:
        x, y, z, w = own.attitude
        return self._xp.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))

    def _clip_turn(self, rate: Array) -> Array:
        low, high = float(self._context.action.low[1]), float(self._context.action.high[1])
        return self._xp.clip(rate, low, high)

    def _velocity(self, wish: Vector) -> Array:
        xp = self._xp
        wish = limit(xp, wish if self._context.dimensions == 3 else (wish[0], wish[1], wish[2] * 0.0), self.top_speed)
        return xp.stack([*wish[: self._context.dimensions], wish[0] * 0.0])

    def _acceleration(self, wish: Vector, first: Vector | None = None) -> Array:
        """Limit an acceleration; what is needed across the path comes ``first``, the rest goes into speed."""
        xp, top = self._xp, float(self._context.limits["max_acceleration"])
        if first is not None:
            first = limit(xp, first, top)
            rest = subtract(wish, first)
            size = xp.sqrt(dot(rest, rest))
            spare = top * top - dot(first, first)
            room = xp.sqrt(xp.where(spare > 0.0, spare, 0.0))
            wish = add(first, scale(rest, xp.where(size > room, room / xp.where(size > 0.0, size, 1.0), 1.0)))
        wish = limit(xp, wish, top)
        return xp.stack(list(wish[: self._context.dimensions]))
