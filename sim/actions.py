"""What an agent can do: the kind, names, units and limits of its action, and how it is applied.

The kind says what the values mean; a policy and an agent must agree on it. In order:

===============  ======================================================================================================
kind             values
===============  ======================================================================================================
velocity         x, y, z: velocity [m/s; world]; yaw_rate [rad/s; counter-clockwise]. In 2-D no z. Models:
                 single_integrator (follows at once), multirotor (follows with a lag and limits). The vector is
                 shortened to ``max_speed``.
acceleration     x, y, z: acceleration [m/s^2; world]. In 2-D no z. Model: double_integrator. Shortened to
                 ``max_acceleration``.
turn             speed [m/s; along the heading], turn_rate [rad/s; counter-clockwise]. Model: unicycle.
dubins           turn_rate [rad/s; counter-clockwise]; the speed is the constant ``speed`` of the dynamics (there is
                 no ``max_speed``). Model: dubins_car.
car              acceleration [m/s^2; along the heading, negative brakes], steering [rad; angle of the front wheels,
                 positive to the left]: turn rate = speed * tan(steering) / ``wheelbase``, the angle changing by at
                 most ``max_steering_rate``. Model: car.
airplane         speed [m/s; along the flight path], turn_rate [rad/s; of the course, counter-clockwise], climb_angle
                 [rad; flight-path angle, positive up]. Only in 3-D. Model: airplane.
flight           heading [rad; counter-clockwise from east] or bank [rad; positive to the right]; altitude [m], climb
                 [m/s] or load_factor [1]; airspeed [m/s; true]. Model: aircraft with action guidance.
surfaces         aileron, elevator, rudder in [-1, 1], throttle in [0, 1]: positive turns positively about the FLU axes
                 of the body. Model: aircraft with action surfaces.
grid_move<k>     choice: one of k moves of :data:`pe_sim.worlds.grid.MOVES`. Model: grid_mover.
line_speed       speed [m/s; along x]. Model: template_mover.
===============  ======================================================================================================

Where an action is missing (:class:`Mode`): COAST means no control input (velocity kept, straight on, wheels straight);
STOP brings the agent to rest within its limits, and lets what cannot stop (dubins, airplane) circle on the spot.
An aircraft keeps heading, height and airspeed, or its trimmed surfaces, in both.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

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

    def fault(self, values: NDArray[Any]) -> str:
        """Return why values cannot be carried out, for whoever gave them; '' where they can."""
        if values.shape != (self.size,):
            return f"needs {self.size} value{'s' * (self.size > 1)} ({', '.join(self.names)})"
        if not np.isfinite(values).all():
            return "must be finite"
        if self.discrete and not (values[0] == int(values[0]) and 0 <= values[0] < self.choices):
            return f"must be one of 0 to {self.choices - 1}"
        return ""


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
