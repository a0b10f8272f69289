"""Agents of the kinematic world that move alike, and what they are told to do in a tick."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pe_sim import registry
from pe_sim.actions import Mode
from pe_sim.arrays import Array
from pe_sim.worlds.base import Command
from pe_sim.worlds.dynamics.base import Dynamics, Setting

if TYPE_CHECKING:
    from pe_sim.engagement import Engagement


class Group:
    """Neighbouring roles of one model, moved by one set of array operations.

    Attributes:
        first, last: their agents are ``first`` to ``last`` - 1.
        model: what moves them.
    """

    def __init__(
        self, spans: dict[str, tuple[int, int]], model: Dynamics, exposure: list[float], setting: Setting
    ) -> None:
        xp = setting.xp
        self._xp = xp
        self.first = min(first for first, _ in spans.values())
        self.last = max(last for _, last in spans.values())
        self.model = model
        self._roles = [(role, first - self.first, last - self.first) for role, (first, last) in spans.items()]
        self._exposure = xp.asarray(exposure, dtype=xp.float64)[:, None]
        size = len(model.action_spec(model.specs[0], setting.dimensions).names)
        self._values = xp.zeros((size, self.last - self.first, setting.batch), dtype=xp.float64)

    def step(self, commands: dict[str, Command], wind: Array | None) -> None:
        """Move the agents one tick under the commands of their roles, in a wind [m/s; world], (3, B)."""
        values, model = self._values, self.model
        for role, first, last in self._roles:
            command = commands[role]
            if model.stretch:
                self._stretch(command.values, first, last)
            else:
                values[:, first:last] = command.values
            if command.mode is not None:
                self._apply_modes(command.mode, first, last)
        if wind is not None and model.drift is not None:
            model.drift[...] = wind[:, None, :] * self._exposure
        model.step(values)

    def _stretch(self, told: Array, first: int, last: int) -> None:
        """Take over values (A, n, B) so that full command is the drawn limit."""
        for places, ratio in self.model.stretch:
            values = told[places]
            self._values[places, first:last] = values if ratio is None else values * ratio[first:last]

    def _apply_modes(self, mode: Array, first: int, last: int) -> None:
        """Put in what coasting and stopping mean; HOLD is to go on with the values given."""
        part = self._values[:, first:last]
        for kind, choose in ((Mode.COAST, self.model.coast_values), (Mode.STOP, self.model.stop_values)):
            chosen = mode == int(kind)
            if self._xp.any(chosen):
                part[...] = self._xp.where(chosen, choose()[:, first:last], part)


def model_of(dynamics: Any) -> type[Dynamics]:
    """Return the class of a role's dynamics model."""
    model: type[Dynamics] = registry.lookup("pe_sim.dynamics", dynamics.model)
    return model


def neighbours(engagement: Engagement) -> list[list[str]]:
    """Return the roles in order, neighbours of the same model together."""
    groups: list[list[str]] = []
    for name, role in engagement.roles.items():
        if groups and engagement.roles[groups[-1][-1]].dynamics.model == role.dynamics.model:
            groups[-1].append(name)
        else:
            groups.append([name])
    return groups
