"""What an agent can do: the kind, names, units and limits of its action, and how it is applied."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray


class Mode(IntEnum):
    """How a command is carried out (MODE_* of pe_ros/Action)."""

    EXECUTE = 0
    HOLD = 1
    COAST = 2
    STOP = 3


@dataclass(frozen=True)
class ActionSpec:
    """The action of an agent.

    Attributes:
        kind: e.g. acceleration, velocity, turn, grid_move; a policy and an agent must agree on it.
        names: one per value, in order.
        units: one per value.
        low: least values, float32, shape (A,).
        high: greatest values, float32, shape (A,).
        choices: number of choices of a discrete action (its single value is the index), 0 where continuous.
        frame: frame of the values: 'world' or 'body'.
    """

    kind: str
    names: tuple[str, ...]
    units: tuple[str, ...]
    low: NDArray[np.float32]
    high: NDArray[np.float32]
    choices: int = 0
    frame: str = "world"

    @property
    def size(self) -> int:
        """Number of values."""
        return len(self.names)

    @property
    def discrete(self) -> bool:
        """Whether the action is one index out of ``choices``."""
        return self.choices > 0


def continuous(kind: str, limits: dict[str, tuple[str, float, float]], frame: str = "world") -> ActionSpec:
    """Return the spec of a continuous action from name -> (unit, low, high)."""
    return ActionSpec(
        kind=kind,
        names=tuple(limits),
        units=tuple(unit for unit, _, _ in limits.values()),
        low=np.asarray([low for _, low, _ in limits.values()], dtype=np.float32),
        high=np.asarray([high for _, _, high in limits.values()], dtype=np.float32),
        frame=frame,
    )


def discrete(kind: str, choices: int, frame: str = "world") -> ActionSpec:
    """Return the spec of a discrete action: one value, the index of the choice."""
    top = np.asarray([choices - 1], dtype=np.float32)
    return ActionSpec(kind, ("choice",), ("1",), np.zeros(1, dtype=np.float32), top, choices, frame)
