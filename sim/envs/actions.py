"""From what a user hands an environment as an action to checked float32 values."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from pe_sim.actions import ActionSpec
from pe_sim.errors import ActionError


def action_space(action: ActionSpec) -> gym.spaces.Discrete | gym.spaces.Box:
    """Return the space of one agent's action: Discrete, or Box of float32."""
    if action.discrete:
        return gym.spaces.Discrete(action.choices)
    return gym.spaces.Box(action.low, action.high, dtype=np.float32)


def observation_space(size: int) -> gym.spaces.Box:
    """Return the space of one agent's observation vector: Box of float32."""
    return gym.spaces.Box(-np.inf, np.inf, (size,), np.float32)


def checked_values(agent: str, spec: ActionSpec, action: Any) -> NDArray[np.float32]:
    """Return an action as float32 values (A,).

    Raises:
        ActionError: if it is no number or array of numbers, of a wrong shape, not finite, or no choice there is.
    """
    rule = "an action must be a number or an array of numbers"
    if isinstance(action, np.ndarray) and action.dtype.kind == "c":  # NumPy would drop the imaginary part
        raise ActionError(agent, rule, action)
    try:
        values = np.asarray(action, dtype=np.float64)
    except (TypeError, ValueError) as fault:
        raise ActionError(agent, rule, action) from fault
    values = values.reshape(-1) if values.ndim == 0 else values
    rule = spec.fault(values)
    if rule:
        raise ActionError(agent, rule, action)
    if (np.abs(values) > np.finfo(np.float32).max).any():
        raise ActionError(agent, "must fit 32 bits", action)
    return values.astype(np.float32)
