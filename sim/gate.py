"""The safety gate: what an action must satisfy before it reaches a world or a robot. No ROS, no memory of its own.

Order: shape and finiteness first (a bad action never counts), then limits, then slew against the last action let
through. The bits are GATE_* of pe_ros/Action.
"""

from __future__ import annotations

from enum import IntFlag
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic_core import PydanticCustomError

from pe_sim.actions import ActionSpec
from pe_sim.arrays import Array
from pe_sim.errors import EngagementError
from pe_sim.quantities import exact
from pe_sim.schema import nearest

if TYPE_CHECKING:
    from pe_sim.roles import GateSpec


class Gate(IntFlag):
    """What the gate changed, and why."""

    NONE = 0
    CLIPPED = 1
    SLEW = 2
    NOT_FINITE = 4
    WRONG_SHAPE = 8
    STALE = 16
    WATCHDOG = 32
    STOP_LATCHED = 64


class ActionGate:
    """Applies a role's limits to its actions.

    Args:
        spec: limits of the engagement file.
        action: what the agents can do.
        period: nominal time between decisions [s]; the greatest change per decision is slew times this.
        xp: array namespace.
        path: where the limits stand in the file, for errors.

    Attributes:
        open: whether every choice of a discrete action passes.

    Raises:
        EngagementError: if a limit names no action value or is empty.
    """

    def __init__(self, spec: GateSpec, action: ActionSpec, period: float, xp: Any, path: str = "gate") -> None:
        self._xp = xp
        self.action = action
        low, high = action.low.copy(), action.high.copy()
        step = np.full(action.size, np.inf, dtype=np.float32)
        for name, (least, greatest) in spec.limits.items():
            i = _index(action, name, f"{path}.limits")
            first, last = (_value(bound, action.units[i], f"{path}.limits.{name}") for bound in (least, greatest))
            low[i], high[i] = max(low[i], first), min(high[i], last)
            if low[i] > high[i]:
                raise EngagementError(f"{path}.limits.{name}", "leaves no action possible", (least, greatest))
        for name, rate in spec.slew.items():
            i = _index(action, name, f"{path}.slew")
            change = _value(rate, f"{action.units[i]}/s", f"{path}.slew.{name}")
            if change <= 0.0:
                raise EngagementError(f"{path}.slew.{name}", "must be greater than 0", rate)
            step[i] = change * period
        self.low, self.high, self.step = low, high, step
        self._low = xp.asarray(low)[:, None, None]
        self._high = xp.asarray(high)[:, None, None]
        self._step = xp.asarray(step)[:, None, None] if np.isfinite(step).any() else None
        self._none: Array = None
        self.open = self._is_open()

    def _is_open(self) -> bool:
        """Return whether every choice of a discrete action passes."""
        action = self.action
        whole = bool((self.low == action.low).all()) and bool((self.high == action.high).all())
        return action.discrete and whole and self._step is None

    def check(self, values: Array, previous: Array, has_previous: Array) -> tuple[Array, Array]:
        """Return the action let through and the gate bits.

        Args:
            values: requested, float32 (A, n, B).
            previous: last action let through, float32 (A, n, B).
            has_previous: where there is one, bool (n, B).

        Returns:
            The allowed action, float32 (A, n, B), equal to ``previous`` (or the middle of the limits) where a
            value is not finite (NaN or infinite); and Gate bits, int64 (n, B).
        """
        xp = self._xp
        allowed = xp.clip(xp.round(values) if self.action.discrete else values, self._low, self._high)
        same = allowed == values
        if self._step is None and bool(xp.all(same)):
            return allowed, self.untouched(values.shape[1:])
        finite = xp.all(xp.isfinite(values), axis=0)
        rest = xp.where(has_previous, previous, xp.clip(xp.zeros_like(values), self._low, self._high))
        allowed = xp.where(finite, allowed, rest)
        bits = xp.where(finite, xp.where(xp.all(same, axis=0), 0, int(Gate.CLIPPED)), int(Gate.NOT_FINITE))
        if self._step is not None:
            slow = xp.clip(allowed, previous - self._step, previous + self._step)
            slow = xp.where(has_previous, slow, allowed)
            bits = bits | xp.where(xp.any(slow != allowed, axis=0), int(Gate.SLEW), 0)
            allowed = slow
        return allowed, bits

    def untouched(self, shape: tuple[int, ...]) -> Array:
        """Return Gate.NONE for all; nobody may write into it."""
        if self._none is None or self._none.shape != shape:
            self._none = self._xp.zeros(shape, dtype=self._xp.int64)
        return self._none


def _index(action: ActionSpec, name: str, path: str) -> int:
    if name not in action.names:
        raise EngagementError(f"{path}.{name}", "no such action value", cure=nearest(name, action.names))
    return action.names.index(name)


def _value(said: float | str, unit: str, path: str) -> float:
    """Return what the file says as a number in a unit."""
    try:
        return float(exact(said, "dimensionless" if unit == "1" else unit))
    except PydanticCustomError as fault:
        raise EngagementError(path, fault.message(), said) from fault
