"""Generalised advantage estimates (Schulman et al., 2016), per agent over its own decisions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def gae(
    rewards: NDArray[Any], values: NDArray[Any], ended: NDArray[np.bool_], bootstrap: NDArray[Any], *,
    gamma: float, gae_lambda: float, counted: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64]:
    """Return the advantage of every decision.

    A decision's successor is the agent's next one. At the end of an episode there is none: the value that follows is
    ``bootstrap``, which is 0 where the game itself has ended and the critic's value of what was seen last where only
    time ran out.

    Args:
        rewards: received until the next decision, (T, ...).
        values: critic's value at each decision and at the one after the last, (T + 1, ...).
        ended: whether the episode ended before the next decision, bool (T, ...).
        bootstrap: value after the end, (T, ...); read only where ``ended``.
        gamma: discount per decision.
        gae_lambda: weight of longer estimates.
        counted: which decisions there are, bool (T, ...); None for all. The others' advantage is 0.
    """
    advantages = np.zeros(rewards.shape, np.float64)
    following = np.zeros(rewards.shape[1:], np.float64)
    for t in range(len(rewards) - 1, -1, -1):
        next_value = np.where(ended[t], bootstrap[t], values[t + 1])
        surprise = rewards[t] + gamma * next_value - values[t]
        following = surprise + gamma * gae_lambda * np.where(ended[t], 0.0, following)
        if counted is not None:
            following = np.where(counted[t], following, 0.0)
        advantages[t] = following
    return advantages
