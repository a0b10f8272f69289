"""Rules: capture, time limit, outcome. The judge of an engagement, in simulation and on robots alike."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from pe_sim.arrays import Array, length, subtract
from pe_sim.quantities import Duration, Length
from pe_sim.rewards import Rewards, RewardSpec
from pe_sim.schema import Strict, nearest
from pe_sim.state import State
from pe_sim.timing import to_nanoseconds

OUTCOMES = ("", "capture", "timeout", "failure", "aborted", "stopped")
"""Names of the outcome codes; '' while running. 'failure': every agent of a side ended by its own motion."""

RUNNING, CAPTURE, TIMEOUT, FAILURE, ABORTED, STOPPED = range(len(OUTCOMES))

FAR = 1e9
"""Distance [m] that stands for 'no opponent'."""


class CaptureSpec(Strict):
    """When an evader is caught.

    Attributes:
        radius: caught when a pursuer is nearer than this [m].
        ends: whether the episode ends when 'all' evaders are caught or 'any' of them.
    """

    radius: Annotated[Length, Field(gt=0.0)] = 1.0
    ends: Literal["any", "all"] = "all"


class RulesSpec(Strict):
    """How an engagement is judged.

    Attributes:
        pursuers: team that chases.
        evaders: team that is chased.
        capture: when an evader is caught.
        time_limit: engagement time after which the episode ends [s].
        max_step: the same as a number of ticks, instead of ``time_limit``.
        rewards: what each agent receives.
    """

    pursuers: str = "pursuers"
    evaders: str = "evaders"
    capture: CaptureSpec = CaptureSpec()
    time_limit: Annotated[Duration, Field(gt=0)] = to_nanoseconds(Fraction(60))
    max_step: Annotated[int, Field(ge=1)] | None = None
    rewards: RewardSpec = RewardSpec()

    @model_validator(mode="after")
    def _sides_differ(self) -> RulesSpec:
        if self.pursuers == self.evaders:
            raise PydanticCustomError("teams", "pursuers and evaders must be two teams")
        return self

    def check(self, teams: set[str], horizon: int) -> None:
        """Refuse rules that name a team nobody belongs to."""
        del horizon
        named = {"pursuers": self.pursuers, "evaders": self.evaders}
        named.update({f"rewards.terms.{i}.team": term.team for i, term in enumerate(self.rewards.terms)})
        for key, team in named.items():
            if team not in teams:
                raise PydanticCustomError(
                    "teams",
                    "rules.{key}: no role belongs to the team {team}; {nearest}",
                    {"key": key, "team": repr(team), "nearest": nearest(team, teams)},
                )


@dataclass
class Verdict:
    """What the rules say after a tick.

    Attributes:
        alive: agents still in play, bool (N, B).
        terminated: episodes ended by the game itself, bool (B,).
        truncated: episodes ended by the time limit, bool (B,).
        outcome: index into :data:`OUTCOMES`, int8 (B,).
        rewards: rewards of the tick, float64 (N, B).
        distances: pursuer to evader [m], (P, E, B).
    """

    alive: Array
    terminated: Array
    truncated: Array
    outcome: Array
    rewards: Array
    distances: Array


def index_block(indices: list[int]) -> slice | list[int]:
    """Return consecutive indices as a slice, whose memory is one block, others as they are."""
    first = indices[0]
    return slice(first, first + len(indices)) if indices == list(range(first, first + len(indices))) else indices


class Rules:
    """Judges a batch of engagements tick by tick."""

    def __init__(self, spec: RulesSpec, teams: tuple[str, ...], horizon: int, xp: Any) -> None:
        self._spec = spec
        self._xp = xp
        self._horizon = horizon
        self.pursuers = [i for i, team in enumerate(teams) if team == spec.pursuers]
        self.evaders = [i for i, team in enumerate(teams) if team == spec.evaders]
        self._pursuers = index_block(self.pursuers)
        self._evaders = index_block(self.evaders)
        self._rewards = Rewards(spec.rewards, teams, xp)

    def distances(self, state: State) -> Array:
        """Return the distance of each pursuer to each evader [m], (P, E, B)."""
        block = state.block
        p = block[:3, self._pursuers][:, :, None]
        e = block[:3, self._evaders][:, None, :]
        return length(self._xp, subtract((p[0], p[1], p[2]), (e[0], e[1], e[2])))

    def judge(self, state: State, alive: Array, tick: Array, failed: Array | None) -> Verdict:
        """Judge the state after a tick.

        Args:
            state: state after the tick.
            alive: agents alive before it, bool (N, B).
            tick: number of the tick just completed, int64 (B,).
            failed: agents whose motion ended by itself, bool (N, B), or None.
        """
        xp = self._xp
        distance = self.distances(state)
        before = alive
        if failed is not None:
            alive = alive & ~failed
        in_play = alive[self._pursuers][:, None] & alive[self._evaders][None, :]
        counted = xp.where(in_play, distance, FAR)
        caught = xp.any(counted < self._spec.capture.radius, axis=0)
        after = xp.asarray(alive, copy=True)
        after[self._evaders] = alive[self._evaders] & ~caught
        timeout = tick >= self._horizon
        captured = xp.any(caught, axis=0)
        free = xp.any(after[self._evaders], axis=0)
        capture_ends = captured & ((~free) if self._spec.capture.ends == "all" else captured)
        no_pursuer = ~xp.any(after[self._pursuers], axis=0)
        failure = (no_pursuer | ~free) & ~capture_ends
        terminated = capture_ends | failure
        truncated = timeout & ~terminated
        outcome = xp.where(capture_ends, CAPTURE, xp.where(failure, FAILURE, xp.where(truncated, TIMEOUT, RUNNING)))
        rewards = self._rewards.of_tick(state, self._nearest(counted), captured, truncated, before)
        return Verdict(after, terminated, truncated, outcome, rewards, distance)

    def _nearest(self, counted: Array) -> Array:
        """Return each agent's distance to its nearest opponent in play, 0 where there is none."""
        xp = self._xp
        agents = len(self.pursuers) + len(self.evaders)
        out = xp.zeros((agents, counted.shape[-1]), dtype=xp.float64)
        for own, nearest_to in ((self._pursuers, xp.min(counted, axis=1)), (self._evaders, xp.min(counted, axis=0))):
            out[own] = xp.where(nearest_to < FAR, nearest_to, 0.0)
        return out
