"""Dubins car: constant speed, told its turn rate (Dubins: On curves of minimal length, Am. J. Math. 79, 1957)."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from pe_sim.actions import ActionSpec, continuous
from pe_sim.arrays import Array
from pe_sim.quantities import AngularRate, Speed
from pe_sim.worlds.base import DynamicsSpec
from pe_sim.worlds.dynamics.planar import Planar, PlanarSpec


class DubinsCarSpec(PlanarSpec):
    """Limits of a Dubins car; its least turn radius is ``speed / max_turn_rate``.

    Attributes:
        speed: the speed it always has [m/s].
        max_turn_rate: greatest turn rate [rad/s].
    """

    speed: Annotated[Speed, Field(gt=0.0)]
    max_turn_rate: Annotated[AngularRate, Field(gt=0.0)]


class DubinsCar(Planar):
    """Action: turn rate [rad/s; counter-clockwise]. It cannot stop: told to, it circles to the left."""

    name: ClassVar[str] = "dubins_car"
    Parameters: ClassVar[type[DynamicsSpec]] = DubinsCarSpec
    drawable: ClassVar[tuple[str, ...]] = ("speed", "max_turn_rate")
    full_command: ClassVar[dict[str, str]] = {"turn_rate": "max_turn_rate"}

    def prepare(self) -> None:
        """Work out the limits of each agent."""
        super().prepare()
        self._speed = self.each(lambda spec: spec.speed)
        self._max_turn_rate = self.each(lambda spec: spec.max_turn_rate)

    @classmethod
    def action_spec(cls, spec: Any, dimensions: int) -> ActionSpec:
        """Turn rate."""
        del dimensions
        top = spec.max_turn_rate
        return continuous("dubins", {"turn_rate": ("rad/s", -top, top)}, frame="body")

    @classmethod
    def top_speed(cls, spec: Any) -> float:
        """Its speed [m/s]."""
        return float(spec.speed)

    def start_speed(self, speed: Array, where: Any) -> Array:
        """Its speed."""
        return speed * 0.0 + self.limit_at(self._speed, where)

    def coast_values(self) -> Array:
        """Straight on."""
        return self.xp.zeros((1, *self.block.shape[1:]), dtype=self.xp.float64)

    def stop_values(self) -> Array:
        """As tight a circle as it can."""
        return self.coast_values() + self._max_turn_rate

    def drive(self, values: Array) -> tuple[Array, Array, Array, Array]:
        """Turn at the commanded rate; a surface may hold it up for a tick, never slow it down for longer."""
        rate = self.xp.clip(values[0], -self._max_turn_rate, self._max_turn_rate)
        self.memory[0] = self._speed
        speed = self.memory[0]
        return speed * self.tick, rate * self.tick, speed, rate
