"""From what a law wants (a direction and a speed, an acceleration) to what the agents' dynamics take."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from pe_sim.arrays import Array, Vector, add, dot, scale, subtract, unit, wrap_angle
from pe_sim.errors import ContractError
from pe_sim.guidance.own import Own, OwnMotionReader
from pe_sim.guidance.vectors import choose
from pe_sim.policies.base import PolicyContext, Views
from pe_sim.timing import seconds

RESPONSE = 2.0
"""Time in which an error of direction or velocity is taken away, in decision periods.

One period would be the quickest; two leave room for latencies of about a period without oscillation.
"""


class Steering(ABC):
    """Turns wishes into action values of one kind.

    Args:
        context: the agents.
        law: name of the law, for errors.

    Attributes:
        top_speed: greatest speed of the agents [m/s].
        knows_motion: whether the agents know their own motion.

    Raises:
        ContractError: if own motion is needed and not sensed.
    """

    kind: ClassVar[str]
    needs_motion: ClassVar[bool] = True

    def __init__(self, context: PolicyContext, law: str) -> None:
        self._xp: Any = context.xp
        self._context = context
        self._limits = context.limits
        self._period = max(seconds(context.period), 1e-3)
        self._low = [float(value) for value in context.action.low]
        self._high = [float(value) for value in context.action.high]
        self.top_speed = self._top_speed()
        has_motion = any(layout.kind == "own_motion" for layout in context.layouts[0])
        self._reader = OwnMotionReader(context, law) if has_motion or self.needs_motion else None

    @classmethod
    def of(cls, context: PolicyContext, law: str, *, accelerates: bool = False) -> Steering:
        """Return the steering of the agents' action kind.

        Args:
            context: the agents.
            law: name of the law, for errors.
            accelerates: whether the law asks for accelerations, which a line cannot follow.

        Raises:
            ContractError: if the kind cannot be steered, or own motion is needed and not sensed.
        """
        # Imported here because each kind builds on this class.
        from pe_sim.guidance.steering_kinds import KINDS

        kinds = {kind.kind: kind for kind in KINDS if kind.accelerates or not accelerates}
        if context.action.kind not in kinds:
            raise ContractError(
                f"guidance/{law}", f"steers actions of kind {', '.join(kinds)}, not those of {context.role}",
                context.action.kind,
            )
        return kinds[context.action.kind](context, law)

    accelerates: ClassVar[bool] = True
    """Whether it can follow an acceleration across the flight path."""

    @property
    def knows_motion(self) -> bool:
        """Whether the agents know their own motion."""
        return self._reader is not None

    def own(self, views: Views) -> Own | None:
        """Return own motion, or None where the agents do not know it."""
        return None if self._reader is None else self._reader.read(views)

    def sure(self, seen: Array, own: Own | None) -> Array:
        """Return where a wish that is founded can be turned into an action: where own motion is known if need be."""
        return seen & own.known if self.needs_motion and own is not None else seen

    @abstractmethod
    def along(self, direction: Vector, speed: Array | float, own: Own | None, look: Vector | None = None) -> Array:
        """Return the action that turns the velocity to ``speed`` [m/s] along a unit ``direction`` [world].

        Args:
            direction: where to go; zero for nowhere, which slows down what can.
            speed: how fast, at most ``top_speed`` is carried out.
            own: own motion, where it is known.
            look: direction that the nose shall point in where it is free to; default where to go.
        """

    def accelerate(self, sideways: Vector, ahead: Vector, own: Own) -> Array:
        """Return the action for an acceleration [m/s^2; world] across the flight path, at full speed along it.

        Args:
            sideways: wanted acceleration; its part along the velocity is not used.
            ahead: unit direction to go in while there is no speed to speak of.
            own: own motion.
        """
        moving = own.speed > 1e-3 * self.top_speed
        heading = self._course(own, ahead, moving)
        wish = subtract(sideways, scale(heading, dot(sideways, heading)))
        return self._accelerate(wish, heading, own, moving)

    def _course(self, own: Own, ahead: Vector, moving: Array) -> Vector:
        """Return the direction of the velocity, or ``ahead`` where there is none."""
        safe = 1.0 / self._xp.where(moving, own.speed, 1.0)
        return choose(self._xp, moving, scale(own.velocity, safe), ahead)

    def _accelerate(self, across: Vector, heading: Vector, own: Own, moving: Array) -> Array:
        """Default: turn to where the acceleration would have turned the velocity within a response time."""
        turned = add(scale(heading, self._xp.where(moving, own.speed, self.top_speed)), scale(across, self._time))
        return self.along(unit(self._xp, turned), self.top_speed, own)

    @property
    def _time(self) -> float:
        """Response time [s]."""
        return RESPONSE * self._period

    def _top_speed(self) -> float:
        return float(self._limits["max_speed"])

    def _bounded(self, place: int, value: Array) -> Array:
        """Return a value within the limits of the action's value in a place."""
        return self._xp.clip(value, self._low[place], self._high[place])

    def heading(self, own: Own) -> Array:
        """Return where the nose points [rad, counter-clockwise from east]."""
        x, y, z, w = own.attitude
        return self._xp.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))

    def turn_error(self, direction: Vector, heading: Array) -> Array:
        """Return the angle from a heading to a direction seen from above [rad]; 0 where there is no direction."""
        xp = self._xp
        level = (direction[0] != 0.0) | (direction[1] != 0.0)
        return xp.where(level, wrap_angle(xp, xp.atan2(direction[1], direction[0]) - heading), 0.0)

    def turn_rate_across(self, across: Vector, heading: Vector, own: Own, moving: Array) -> Array:
        """Return the turn rate of the course that an acceleration makes: its part to the left / speed [rad/s]."""
        xp = self._xp
        level = xp.sqrt(heading[0] * heading[0] + heading[1] * heading[1])
        safe = xp.where(level > 1e-6, level, 1.0)
        left = (across[1] * heading[0] - across[0] * heading[1]) / safe
        return xp.where(moving & (level > 1e-6), left / (xp.where(moving, own.speed, 1.0) * safe), 0.0)
