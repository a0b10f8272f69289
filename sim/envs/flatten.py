"""The flat observation vector of a role: one float32 vector per agent, with a name and a unit for every place."""

from __future__ import annotations

from dataclasses import dataclass

from pe_sim.actions import ActionSpec
from pe_sim.arrays import Array
from pe_sim.policies.base import Views
from pe_sim.roles import ObserveSpec
from pe_sim.sensors.channel import SensorLayout
from pe_sim.timing import NANOSECONDS


@dataclass(frozen=True)
class FlatLayout:
    """Names and units of the flat vector.

    Attributes:
        names: '<sensor>.<field>', '<sensor>.<field>.valid', '<sensor>.age', 'action[-1].<name>'.
        units: one per name.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]


class Flattener:
    """Builds the flat vector: sensors' values (0 where not valid), validity flags, ages [s], own last actions."""

    def __init__(self, spec: ObserveSpec, layouts: tuple[SensorLayout, ...], action: ActionSpec) -> None:
        self._spec = spec
        self._layouts = layouts
        self.layout = self._describe(action)

    def _describe(self, action: ActionSpec) -> FlatLayout:
        names: list[str] = []
        units: list[str] = []
        for layout in self._layouts:
            names += [f"{layout.sensor}.{field}" for field in layout.fields]
            units += layout.units
        if self._spec.mask:
            for layout in self._layouts:
                names += [f"{layout.sensor}.{field}.valid" for field in layout.fields]
                units += ["dimensionless"] * len(layout.fields)
        if self._spec.age:
            names += [f"{layout.sensor}.age" for layout in self._layouts]
            units += ["s"] * len(self._layouts)
        for k in range(1, self._spec.actions + 1):
            names += [f"action[-{k}].{name}" for name in action.names]
            units += action.units
        return FlatLayout(tuple(names), tuple(units))

    @property
    def size(self) -> int:
        """Length of the vector."""
        return len(self.layout.names)

    def flatten(self, views: Views, actions: list[Array], out: Array) -> Array:
        """Write the vectors, float32 (K, n, B), and return them.

        Args:
            views: what the agents know.
            actions: their last actions, newest first, each float32 (A, n, B).
            out: where to write them.
        """
        place = 0
        for layout in self._layouts:
            place = _write(out, place, views[layout.sensor].values)
        if self._spec.mask:
            for layout in self._layouts:
                place = _write(out, place, views[layout.sensor].valid)
        if self._spec.age:
            for layout in self._layouts:
                place = _write(out, place, (views[layout.sensor].age / NANOSECONDS)[None])
        for values in actions[: self._spec.actions]:
            place = _write(out, place, values)
        return out


def _write(out: Array, place: int, part: Array) -> int:
    """Write a part and return the place after it."""
    end: int = place + part.shape[0]
    out[place:end] = part
    return end
