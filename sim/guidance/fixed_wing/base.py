"""What the laws of air combat have in common: own motion, the nearest opponent, and recovery above a floor."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import Field

from pe_sim.arrays import Array, Vector, add, scale, subtract, unit
from pe_sim.errors import ContractError
from pe_sim.guidance.base import Guidance, GuidanceSpec
from pe_sim.guidance.fixed_wing.steering import GRAVITY, AltitudeReader, FlightSteering
from pe_sim.guidance.own import Own
from pe_sim.guidance.tracks import TrackReader, nearest_track
from pe_sim.guidance.vectors import put, zeros
from pe_sim.policies.base import PolicyContext, Views
from pe_sim.quantities import Length, Speed
from pe_sim.timing import NANOSECONDS

SMOOTHING = 0.5
"""Weight of a new difference of two lines of sight in the estimate of the relative velocity."""


class AirSpec(GuidanceSpec):
    """Parameters of every law of air combat.

    Attributes:
        floor: height below which the aircraft must not go [m]: it pulls up in time, whatever the law wants; None to
            leave that out. Needs a sensor of kind air_data or position.
        airspeed: true airspeed to fly [m/s]; None for the greatest that may be commanded.
    """

    floor: Length | None = None
    airspeed: Annotated[Speed, Field(gt=0.0)] | None = None


@dataclass
class Opponent:
    """The nearest opponent in track.

    Attributes:
        sight: from oneself to it [m; world].
        distance: [m], (n, B).
        velocity: relative velocity, its own minus one's own [m/s; world].
        seen: whether there is one, bool (n, B).
    """

    sight: Vector
    distance: Array
    velocity: Vector
    seen: Array


class OpponentReader:
    """Reads the nearest opponent; where the sensor tells no velocity, the change of the line of sight does.

    Raises:
        ContractError: if no sensor of the agents tells direction and range.
    """

    def __init__(self, context: PolicyContext, law: str) -> None:
        self._xp = xp = context.xp
        self._tracks = TrackReader(context, law)
        shape = (len(context.agents), context.batch)
        self._sight, self._velocity = zeros(xp, shape), zeros(xp, shape)
        self._stamp = xp.full(shape, -1, dtype=xp.int64)

    def forget(self, rows: Array | None) -> None:
        """Forget the last line of sight in the given engagements (indices; None for all)."""
        self._stamp[:, slice(None) if rows is None else rows] = -1
        put(self._sight, rows, 0.0)
        put(self._velocity, rows, 0.0)

    def read(self, views: Views, own: Own, due: Array) -> Opponent:
        """Return the nearest opponent; the memory changes only where ``due``."""
        track, seen = nearest_track(self._xp, self._tracks.read(views, own))
        assert track.distance is not None
        velocity = track.velocity
        if velocity is None:
            velocity = self._difference(track.sight, track.stamp, due & seen)
        return Opponent(track.sight, track.distance, velocity, seen)

    def _difference(self, sight: Vector, stamp: Array, known: Array) -> Vector:
        """Return the smoothed change of the line of sight per second."""
        xp = self._xp
        fresh = known & (stamp > self._stamp)
        elapsed = xp.astype(stamp - self._stamp, xp.float64) / NANOSECONDS
        comparable = fresh & (self._stamp >= 0) & (elapsed < 2.0)
        first = comparable & (self._velocity[0] == 0.0) & (self._velocity[1] == 0.0)
        change = scale(subtract(sight, self._sight), 1.0 / xp.where(comparable, elapsed, 1.0))
        weight = xp.where(first, 1.0, SMOOTHING)
        x, y, z = (
            xp.where(comparable, old + weight * (new - old), old)
            for new, old in zip(change, self._velocity, strict=True)
        )
        self._velocity = (x, y, z)
        a, b, c = (xp.where(fresh, new, old) for new, old in zip(sight, self._sight, strict=True))
        self._sight = (a, b, c)
        self._stamp = xp.where(fresh, stamp, self._stamp)
        return self._velocity


class AirGuidance(Guidance):
    """A law for aircraft: subclasses say in :meth:`fly` what they want; the floor comes first."""

    Parameters: ClassVar[type[GuidanceSpec]] = AirSpec
    parameters: AirSpec

    def __init__(self, context: PolicyContext, parameters: GuidanceSpec) -> None:
        super().__init__(context, parameters)
        if context.action.kind != FlightSteering.kind:
            raise ContractError(
                f"guidance/{self.name}", f"commands an autopilot; {context.role} does not have one",
                context.action.kind,
                f"set roles.{context.role}.dynamics.action to guidance",
            )
        self.steering = FlightSteering(context, self.name)
        self.speed = self.steering.top_speed if self.parameters.airspeed is None else self.parameters.airspeed
        self._height = None if self.parameters.floor is None else AltitudeReader(context, self.name)

    @abstractmethod
    def fly(self, views: Views, own: Own, now: Array, due: Array) -> tuple[Array, Array | None]:
        """Return actions and where they are well founded, like :meth:`~pe_sim.guidance.base.Guidance.law`."""

    def law(self, views: Views, now: Array, due: Array) -> tuple[Array, Array | None]:
        """Return what the law wants, or the recovery where the floor is near."""
        own = self.steering.own(views)
        assert own is not None
        values, sure = self.fly(views, own, now, due)
        sure = own.known if sure is None else sure & own.known
        values = self.at_speed(values)
        if self._height is None:
            return values, sure
        height, known = self._height.read(views)
        low = self._too_low(height, own) & known & own.known
        pull = min(self.steering.most_load, 5.0)
        recovery = self.steering.level(own, 0.0, pull, 50.0)
        return self.xp.where(low[None], recovery, values), sure | low

    def at_speed(self, values: Array) -> Array:
        """Return actions with the airspeed of the parameters."""
        values[2] = self.xp.where(values[2] > self.speed, self.speed, values[2])
        return values

    def _too_low(self, height: Array, own: Own) -> Array:
        """Return where a pull-up must begin: the descent's sine gives the height that a round-out takes.

        A turn of radius v^2 / (g (n - 1)) from a dive of angle gamma takes the height r (1 - cos gamma), and a second
        goes by before the wings are level.
        """
        xp = self.xp
        floor = self.parameters.floor
        assert floor is not None
        speed = xp.where(own.speed > 1.0, own.speed, 1.0)
        sine = xp.clip(-own.velocity[2] / speed, 0.0, 1.0)
        radius = speed * speed / (GRAVITY * (min(self.steering.most_load, 5.0) - 1.0) * 0.6)
        need = radius * (1.0 - xp.sqrt(1.0 - sine * sine)) + 2.0 * speed * sine
        return height - need < floor


def direction_to(xp: Any, opponent: Opponent, own: Own, lead: Array | float) -> Vector:
    """Return the unit direction to where the opponent will be after a time [s], negative for where it was."""
    there = add(opponent.sight, scale(add(opponent.velocity, own.velocity), lead))
    return unit(xp, there)
