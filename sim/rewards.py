"""Rewards: terms of the engagement file, summed per agent and tick."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from pe_sim.air_combat import TERMS as COMBAT_TERMS
from pe_sim.air_combat import CombatTerms
from pe_sim.arrays import Array, dot
from pe_sim.schema import Strict
from pe_sim.state import State

EVENTS = ("capture", "escape", "crash", "timeout", "hit", "hurt")
"""Terms that are paid once, when something happens; the others are paid every tick."""

OF_AGENTS = ("crash", "hit", "hurt")
"""Events that are told of every agent, not of the evaders."""

GRAIN = 2.0**32
"""Zero-sum rewards are whole multiples of 1 / GRAIN, so that their sum is exactly zero in any order."""


class RewardTerm(Strict):
    """One term of the reward.

    Attributes:
        term: what is rewarded. Once: 'capture' and 'escape' (per evader), 'crash' (per own agent that ended by its
            own motion), 'timeout' (when time runs out), 'hit' and 'hurt' (hit points taken from opponents, lost).
            Every tick: 'distance' (to the nearest opponent in play [m]), 'speed_squared' ([m^2/s^2]), 'diagonal' (1
            for a move along both horizontal axes), 'time' (1), and the terms of :data:`pe_sim.air_combat.TERMS`.
        team: who receives it.
        weight: factor.
        credit: whether an event pays the whole team, or only those it is about: the caught and their captors, who
            escaped, who crashed.
        per: whether the weight of a term paid every tick is for a tick or for a second.
    """

    term: Literal[
        "capture", "escape", "crash", "timeout", "hit", "hurt", "distance", "speed_squared", "diagonal", "time",
        "range", "closing_speed", "sight_rate", "antenna_train", "aspect", "heading_crossing", "specific_energy",
    ]
    team: str
    weight: float
    credit: Literal["team", "agent"] = "team"
    per: Literal["tick", "second"] = "tick"


class RewardSpec(Strict):
    """The reward of every agent: terms summed, then shared, scaled, clipped and balanced, in this order.

    Attributes:
        terms: summed.
        normalise: divide distances by the arena's diagonal and squared speeds by the square of the greatest speed.
        shared: every agent receives the mean over its team.
        scale: factor on the sum of the terms.
        clip: greatest magnitude of a tick's reward, or None.
        zero_sum: subtract the mean over all agents in play, so that every tick's rewards sum to exactly zero; where
            that would exceed ``clip``, all rewards of the tick are made smaller in proportion.
    """

    terms: tuple[RewardTerm, ...] = (
        RewardTerm(term="capture", team="pursuers", weight=1.0),
        RewardTerm(term="capture", team="evaders", weight=-1.0),
    )
    normalise: bool = False
    shared: bool = False
    scale: float = 1.0
    clip: Annotated[float, Field(gt=0.0)] | None = None
    zero_sum: bool = False


@dataclass
class Events:
    """What happened in a tick; None where nothing of the kind did.

    Attributes:
        caught: evaders caught, bool (E, B).
        captors: for each evader the pursuers whose presence counts, bool (P, E, B).
        escaped: evaders escaped, bool (E, B).
        crashed: agents whose motion ended by itself in this tick, bool (N, B).
        timeout: whether time ran out, bool (B,).
        dealt: hit points that each agent took from opponents, float64 (N, B).
        taken: hit points that each agent lost, float64 (N, B).
    """

    caught: Array | None = None
    captors: Array | None = None
    escaped: Array | None = None
    crashed: Array | None = None
    timeout: Array | None = None
    dealt: Array | None = None
    taken: Array | None = None

    def of_rows(self, rows: Array) -> Events:
        """Return what happened in some engagements, by indices."""
        return Events(**{name: None if value is None else value[..., rows] for name, value in vars(self).items()})


class Rewards:
    """Computes the rewards of one tick for a batch.

    Args:
        spec: the file's section.
        teams: team of every agent.
        pursuers: indices of the pursuers.
        evaders: indices of the evaders.
        tick: length of a tick [s].
        scales: greatest distance [m] and greatest speed of each agent [m/s] (N of them), for ``normalise``.
        xp: array namespace.
    """

    def __init__(
        self, spec: RewardSpec, teams: tuple[str, ...], pursuers: list[int], evaders: list[int], *, tick: float,
        scales: tuple[float, tuple[float, ...]] | None, xp: Any,
    ) -> None:
        self._spec = spec
        self._xp = xp
        self._teams = teams
        self._sides = (pursuers, evaders)
        self._tick = tick
        self._scales = scales if spec.normalise else None
        self.needs_nearest = any(term.term == "distance" for term in spec.terms)
        self._continuous = [self._prepared(term) for term in spec.terms if term.term not in EVENTS]
        self._events = [self._prepared(term) for term in spec.terms if term.term in EVENTS]
        self._values: dict[str, Callable[[State, Array | None], Array]] = {
            "distance": self._distance, "speed_squared": self._speed_squared, "diagonal": self._diagonal,
            "time": self._time,
        }
        self._combat = CombatTerms(teams, xp)
        self._values.update({name: self._combat.term(name) for name in COMBAT_TERMS})

    def _prepared(self, term: RewardTerm) -> tuple[RewardTerm, Array]:
        """Return a term with its weight for every agent, float64 (N, 1)."""
        weight = term.weight * (self._tick if term.per == "second" and term.term not in EVENTS else 1.0)
        column = [[weight if team == term.team else 0.0] for team in self._teams]
        return term, self._xp.asarray(column, dtype=self._xp.float64)

    @property
    def only_events(self) -> bool:
        """Whether nothing is paid in a tick without an event."""
        return not self._continuous

    def of_tick(self, state: State, nearest: Array | None, events: Events, alive: Array | None, shape: Any) -> Array:
        """Return the rewards of one tick, float64 (N, B).

        Args:
            state: state after the tick.
            nearest: distance of each agent to its nearest opponent in play [m], (N, B), 0 where there is none; may
                be None unless :attr:`needs_nearest`.
            events: what happened.
            alive: agents in play at the start of the tick, bool (N, B): the others receive nothing; None for all.
            shape: (N, B).
        """
        total: Array = None
        self._combat.in_play = alive
        for term, weight in self._continuous:
            part = weight * self._values[term.term](state, nearest)
            total = part if total is None else total + part
        for term, weight in self._events:
            value = self._event(term, events, shape)
            if value is not None:
                total = weight * value if total is None else total + weight * value
        if total is None:
            return self._xp.zeros(shape, dtype=self._xp.float64)
        return self._finished(total + self._xp.zeros(shape, dtype=self._xp.float64), alive)

    def _finished(self, total: Array, alive: Array | None) -> Array:
        xp, spec = self._xp, self._spec
        if alive is not None:
            total = xp.where(alive, total, 0.0)
        if spec.shared:
            total = self._shared(total, alive)
        if spec.scale != 1.0:
            total = total * spec.scale
        if spec.clip is not None:
            total = xp.clip(total, -spec.clip, spec.clip)
        return self._balanced(total, alive) if spec.zero_sum else total

    def _distance(self, state: State, nearest: Array | None) -> Array:
        del state
        assert nearest is not None
        return nearest if self._scales is None else nearest * (1.0 / self._scales[0])

    def _speed_squared(self, state: State, nearest: Array | None) -> Array:
        velocity = state.agents(0, len(self._teams)).velocity
        square = dot(velocity, velocity)
        if self._scales is None:
            return square
        return square * self._xp.asarray([[1.0 / (speed * speed)] for speed in self._scales[1]], dtype=self._xp.float64)

    def _diagonal(self, state: State, nearest: Array | None) -> Array:
        x, y, _ = state.agents(0, len(self._teams)).velocity
        return self._xp.astype((x != 0.0) & (y != 0.0), self._xp.float64)

    def _time(self, state: State, nearest: Array | None) -> Array:
        return self._xp.ones((1, 1), dtype=self._xp.float64)

    def _event(self, term: RewardTerm, events: Events, shape: Any) -> Array | None:
        """Return how often an event counts for each agent, float64 (N, B) or (1, B); None where it did not happen."""
        xp = self._xp
        if term.term == "timeout":
            return None if events.timeout is None else xp.astype(events.timeout, xp.float64)[None]
        happened = {
            "capture": events.caught, "escape": events.escaped, "crash": events.crashed, "hit": events.dealt,
            "hurt": events.taken,
        }[term.term]
        if happened is None:
            return None
        if term.credit == "agent":
            return self._about(term, happened, events, shape)
        concerned = list(range(happened.shape[0]))
        if term.term in OF_AGENTS:
            concerned = [i for i in concerned if self._teams[i] == term.team]
        return self._sum(xp.astype(happened, xp.float64), concerned)[None]

    def _about(self, term: RewardTerm, happened: Array, events: Events, shape: Any) -> Array:
        """Return how often an event is about each agent itself, float64 (N, B)."""
        xp = self._xp
        if term.term in OF_AGENTS:
            return xp.astype(happened, xp.float64)
        own = xp.zeros(shape, dtype=xp.float64)
        pursuers, evaders = self._sides
        for i, agent in enumerate(evaders):
            own[agent] = xp.astype(happened[i], xp.float64)
        if term.term == "capture" and events.captors is not None:
            for i, agent in enumerate(pursuers):
                mine = xp.astype(events.captors[i] & happened, xp.float64)
                own[agent] = self._sum(mine, list(range(mine.shape[0])))
        return own

    def _sum(self, values: Array, indices: list[int]) -> Array:
        """Return the sum over some agents, in their order."""
        total = values[indices[0]] + 0.0 if indices else values[0] * 0.0
        for i in indices[1:]:
            total = total + values[i]
        return total

    def _shared(self, total: Array, alive: Array | None) -> Array:
        xp = self._xp
        counted = xp.ones(total.shape, dtype=xp.float64) if alive is None else xp.astype(alive, xp.float64)
        out = xp.zeros(total.shape, dtype=xp.float64)
        for team in dict.fromkeys(self._teams):
            members = [i for i, other in enumerate(self._teams) if other == team]
            count = self._sum(counted, members)
            mean = self._sum(total, members) / xp.where(count > 0.0, count, 1.0)
            for i in members:
                out[i] = mean * counted[i]
        return out

    def _balanced(self, total: Array, alive: Array | None) -> Array:
        """Subtract the mean over the agents in play, the last of them taking the rounding: the sum is exactly zero."""
        xp, everyone = self._xp, list(range(total.shape[0]))
        counted = xp.ones(total.shape, dtype=xp.float64) if alive is None else xp.astype(alive, xp.float64)
        count = self._sum(counted, everyone)
        total = (total - self._sum(total, everyone) / xp.where(count > 0.0, count, 1.0)) * counted
        if self._spec.clip is not None:
            most = xp.max(xp.abs(total), axis=0)
            room = self._spec.clip - total.shape[0] / GRAIN
            total = total * xp.where(most > room, room / xp.where(most > 0.0, most, 1.0), 1.0)
        total = xp.round(total * GRAIN) / GRAIN
        surplus, still = self._sum(total, everyone), counted[0] * 0.0 == 0.0
        for i in reversed(everyone):
            takes = still & (counted[i] > 0.0)
            total[i] = xp.where(takes, total[i] - surplus, total[i])
            still = still & ~takes
        return total
