"""Rewards: terms of the engagement file, summed per agent and tick."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from pe_sim.arrays import Array, dot
from pe_sim.schema import Strict
from pe_sim.state import State


class RewardTerm(Strict):
    """One term of the reward.

    Attributes:
        term: what is rewarded: 'capture' (once, when an evader is caught), 'timeout' (once, when time runs out),
            'distance' (to the nearest opponent [m], every tick), 'speed_squared' ([m^2/s^2], every tick),
            'time' (every tick).
        team: who receives it.
        weight: factor.
    """

    term: Literal["capture", "timeout", "distance", "speed_squared", "time"]
    team: str
    weight: float


class RewardSpec(Strict):
    """The reward of every agent.

    Attributes:
        terms: summed.
        zero_sum: subtract the mean over all agents, so that every tick's rewards sum to zero.
        scale: factor on the sum of the terms.
        clip: greatest magnitude after scaling, or None.
    """

    terms: tuple[RewardTerm, ...] = (
        RewardTerm(term="capture", team="pursuers", weight=1.0),
        RewardTerm(term="capture", team="evaders", weight=-1.0),
    )
    zero_sum: bool = False
    scale: float = 1.0
    clip: Annotated[float, Field(gt=0.0)] | None = None


class Rewards:
    """Computes the rewards of one tick for a batch."""

    def __init__(self, spec: RewardSpec, teams: tuple[str, ...], xp: Any) -> None:
        self._spec = spec
        self._xp = xp
        self._members = {
            team: xp.asarray([1.0 if member == team else 0.0 for member in teams], dtype=xp.float64)[:, None]
            for team in {term.team for term in spec.terms}
        }

    def of_tick(self, state: State, nearest: Array, captured: Array, timeout: Array, alive: Array) -> Array:
        """Return the rewards of one tick, float64 (N, B).

        Args:
            state: state after the tick.
            nearest: distance of each agent to its nearest living opponent [m], (N, B).
            captured: whether an evader was caught in this tick, (B,).
            timeout: whether time ran out in this tick, (B,).
            alive: agents alive at the start of the tick, (N, B): the others receive nothing.
        """
        xp = self._xp
        total = xp.zeros(nearest.shape, dtype=xp.float64)
        for term in self._spec.terms:
            if term.term == "capture":
                value: Array = xp.astype(captured, xp.float64)
            elif term.term == "timeout":
                value = xp.astype(timeout, xp.float64)
            elif term.term == "distance":
                value = nearest
            elif term.term == "speed_squared":
                velocity = state.agents(0, nearest.shape[0]).velocity
                value = dot(velocity, velocity)
            else:
                value = xp.ones((1,), dtype=xp.float64)
            total = total + self._members[term.team] * (term.weight * value)
        total = xp.where(alive, total * self._spec.scale, 0.0)
        if self._spec.clip is not None:
            total = xp.clip(total, -self._spec.clip, self._spec.clip)
        if self._spec.zero_sum:
            total = _without_mean(total, alive, xp)
        return total


def _without_mean(total: Array, alive: Array, xp: Any) -> Array:
    """Subtract the mean over living agents, the last of them taking the rounding, so that the sum is zero."""
    count = xp.zeros(total.shape[1:], dtype=xp.float64)
    mean = xp.zeros(total.shape[1:], dtype=xp.float64)
    for i in range(total.shape[0]):
        mean = mean + total[i]
        count = count + xp.astype(alive[i], xp.float64)
    mean = mean / xp.where(count > 0.0, count, 1.0)
    return xp.where(alive, total - mean, 0.0)
