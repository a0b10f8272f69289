"""Rules: capture, escape, time limit, outcome. The judge of an engagement, in simulation and on robots alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pe_sim.air_combat import Guns, loss_of
from pe_sim.arrays import Array, copy_of
from pe_sim.capture import Capture, Scene
from pe_sim.rewards import Events, Rewards
from pe_sim.rules_spec import EscapeSpec, RulesSpec
from pe_sim.scales import scales_of
from pe_sim.state import State
from pe_sim.timing import seconds
from pe_sim.verdict import (
    ABORTED,
    CAPTURE,
    COMBAT_CODES,
    ESCAPE,
    FAILURE,
    OUTCOMES,
    RUNNING,
    STOPPED,
    TIMEOUT,
    Verdict,
)

if TYPE_CHECKING:
    from pe_sim.engagement import Engagement

__all__ = [
    "ABORTED", "CAPTURE", "ESCAPE", "FAILURE", "OUTCOMES", "RUNNING", "STOPPED", "TIMEOUT", "EscapeSpec", "Rules",
    "RulesSpec", "Verdict",
]

NOBODY: tuple[int, ...] = ()
"""No engagement, where indices of some are expected."""

FAR = 1e9
"""Distance [m] that stands for 'no opponent'."""


def index_block(indices: list[int]) -> slice | list[int]:
    """Return consecutive indices as a slice, whose memory is one block, others as they are."""
    first = indices[0]
    return slice(first, first + len(indices)) if indices == list(range(first, first + len(indices))) else indices


class Rules:
    """Judges a batch of engagements tick by tick.

    Attributes:
        pursuers: indices of the pursuers, P of them.
        evaders: indices of the evaders, E of them.
    """

    def __init__(
        self, spec: RulesSpec, teams: tuple[str, ...], horizon: int, xp: Any, *, tick: int = 10_000_000, axes: int = 3,
        scales: tuple[float, tuple[float, ...]] | None = None,
    ) -> None:
        self._spec = spec
        self._xp = xp
        self._horizon = horizon
        self._axes = axes
        self._agents = len(teams)
        self.pursuers = [i for i, team in enumerate(teams) if team == spec.pursuers]
        self.evaders = [i for i, team in enumerate(teams) if team == spec.evaders]
        self._pursuers = index_block(self.pursuers)
        self._evaders = index_block(self.evaders)
        self._capture = Capture(spec.capture, tick, xp)
        self._rewards = Rewards(
            spec.rewards, teams, self.pursuers, self.evaders, tick=seconds(tick), scales=scales, xp=xp
        )
        gun = None if spec.combat is None else spec.combat.gun
        sides = (self.pursuers, self.evaders)
        self.guns = None if gun is None else Guns(gun, sides, self._agents, seconds(tick), xp)
        self._nothing: tuple[Array, Array, Array] | None = None

    @property
    def pays_events_only(self) -> bool:
        """Whether nobody receives anything in a tick without an event."""
        return self._rewards.only_events

    @classmethod
    def of(cls, engagement: Engagement, xp: Any) -> Rules:
        """Return the judge of an engagement."""
        return cls(
            engagement.rules, engagement.teams, engagement.horizon, xp, tick=engagement.world.tick,
            axes=2 if engagement.world.backend == "grid" else 3,
            scales=scales_of(engagement) if engagement.rules.rewards.normalise else None,
        )

    def reset(self, state: State, rows: Array | None, distances: Array | None = None) -> Array:
        """Begin episodes in the given engagements (indices; None for all).

        Args:
            state: state at the start.
            rows: which engagements.
            distances: those of all engagements so far [m], (P, E, B).

        Returns:
            The distances with those of ``rows`` renewed.
        """
        if rows is None or distances is None:
            relative, distance = self._measure(state.block)
        else:
            relative, fresh = self._measure(state.block[: self._axes, :, rows])
            distance = distances + 0.0
            distance[:, :, rows] = fresh
        self._capture.reset(relative, None if distances is None else rows)
        if self.guns is not None:
            self.guns.reset(distance.shape[-1], rows)
        return distance

    def distances(self, state: State) -> Array:
        """Return the distance of each pursuer to each evader [m], (P, E, B)."""
        return self._measure(state.block)[1]

    def _measure(self, block: Array) -> tuple[Array, Array]:
        """Return pursuer minus evader [m; world], (axes, P, E, B), and its length, (P, E, B), from a state's memory."""
        place = block[: self._axes]
        relative = place[:, self._pursuers][:, :, None] - place[:, self._evaders][:, None]
        square = relative * relative
        total = square[0] + square[1]
        return relative, self._xp.sqrt(total if self._axes == 2 else total + square[2])

    def judge(
        self, state: State, alive: Array, tick: Array, failed: Array | None, clock: int | None = None,
        *, everyone: bool = False, going: Array | None = None,
    ) -> Verdict:
        """Judge the state after a tick.

        Args:
            state: state after the tick.
            alive: agents alive before it, bool (N, B).
            tick: number of the tick just completed, int64 (B,).
            failed: agents whose motion ended by itself, bool (N, B), or None.
            clock: the tick's number where it is one for all engagements, else None.
            everyone: whether all agents are known to be alive before it, in the engagements to be judged.
            going: engagements that are to be judged, bool (B,); None for all. Of the others nothing is said.
        """
        relative, distance = self._measure(state.block)
        before = None if everyone else alive
        crashed = None if failed is None else failed & alive
        if crashed is not None and not bool(self._xp.any(crashed)):
            crashed = None
        after = alive if crashed is None else alive & ~crashed
        fire = None if self.guns is None else self.guns.fire(state, after)
        chasing, running = after[self._pursuers], after[self._evaders]
        in_play = None if everyone and crashed is None else chasing[:, None] & running[None]
        caught, captors = self._caught(state, relative, distance, in_play, (chasing, running), tick)
        escaped = self._escaped(state, running, caught)
        timeout = None if clock is not None and clock < self._horizon else tick >= self._horizon
        events = Events(caught, captors, escaped, crashed, timeout)
        if fire is not None:
            events.dealt, events.taken = fire.dealt, fire.taken
            after = after & ~fire.destroyed
        nearest_to = self._nearest(distance, in_play) if self._rewards.needs_nearest else None
        rows = None if fire is not None else self._concerned(events, going)
        if rows is None or 4 * len(rows) > distance.shape[-1]:
            return self._settle(state, after, before, events, nearest_to, distance)
        return self._settle_few(rows, (state, after, before, events, nearest_to, distance))

    def _concerned(self, events: Events, going: Array | None) -> Array:
        """Return the engagements in which anything happened, of those to be judged, indices."""
        xp, concerned = self._xp, events.timeout
        for happened in (events.caught, events.escaped, events.crashed):
            if happened is not None:
                somebody = happened[0] if happened.shape[0] == 1 else xp.any(happened, axis=0)
                concerned = somebody if concerned is None else concerned | somebody
        if concerned is None:
            return NOBODY
        return xp.nonzero(concerned if going is None else concerned & going)[0]

    def _settle(
        self, state: State, alive: Array, before: Array | None, events: Events, nearest_to: Array | None,
        distance: Array,
    ) -> Verdict:
        """Draw the conclusions from what happened; ``alive`` are those who neither crashed nor were shot down."""
        xp = self._xp
        after = self._out_of_play(alive, events.caught, events.escaped)
        terminated, outcome = self._ended(after, events.caught, events.escaped)
        truncated = terminated & False if events.timeout is None else events.timeout & ~terminated
        outcome = xp.where(truncated, TIMEOUT, outcome)
        events.timeout = truncated
        rewards = self._rewards.of_tick(state, nearest_to, events, before, (self._agents, distance.shape[-1]))
        return Verdict(after, terminated, truncated, outcome, rewards, distance)

    def _settle_few(self, rows: Array, what: tuple[State, Array, Array | None, Events, Array | None, Array]) -> Verdict:
        """Draw the conclusions where only in a few engagements anything happened: the same, with less work."""
        state, alive, before, events, nearest_to, distance = what
        shape = (self._agents, distance.shape[-1])
        not_ended, still_running, nothing = self._calm(shape)
        rewards = nothing
        if not self._rewards.only_events:
            rewards = self._rewards.of_tick(state, nearest_to, Events(), before, shape)
        verdict = Verdict(alive, not_ended, not_ended, still_running, rewards, distance, rows)
        if verdict.quiet:
            return verdict
        verdict.few = self._settle(
            state if self._rewards.only_events else State(state.block[:, :, rows]),
            alive[:, rows], None if before is None else before[:, rows], events.of_rows(rows),
            None if nearest_to is None else nearest_to[:, rows], distance[:, :, rows],
        )
        return verdict

    def _calm(self, shape: tuple[int, int]) -> tuple[Array, Array, Array]:
        """Return 'not ended', 'running' and 'no reward' for a batch; nobody may write into them."""
        if self._nothing is None or self._nothing[0].shape[0] != shape[1]:
            xp = self._xp
            self._nothing = (
                xp.zeros(shape[1:], dtype=xp.bool), xp.full(shape[1:], RUNNING, dtype=xp.int64),
                xp.zeros(shape, dtype=xp.float64),
            )
        return self._nothing

    def _caught(
        self, state: State, relative: Array, distance: Array, in_play: Array | None, sides: tuple[Array, Array],
        tick: Array,
    ) -> tuple[Array | None, Array | None]:
        place = state.block[:3]
        scene = Scene(
            relative, distance, in_play, place[:, self._pursuers], place[:, self._evaders], sides[0], sides[1]
        )
        return self._capture.judge(scene, tick)

    def _escaped(self, state: State, running: Array, caught: Array | None) -> Array | None:
        if self._spec.escape is None:
            return None
        escaped = self._spec.escape.region.contains(self._xp, state.block[:3, self._evaders]) & running
        if caught is not None:
            escaped = escaped & ~caught
        return escaped if bool(self._xp.any(escaped)) else None

    def _out_of_play(self, alive: Array, caught: Array | None, escaped: Array | None) -> Array:
        if caught is None and escaped is None:
            return alive
        after = copy_of(alive)
        for gone in (caught, escaped):
            if gone is not None:
                after[self._evaders] = after[self._evaders] & ~gone
        return after

    def _ended(self, after: Array, caught: Array | None, escaped: Array | None) -> tuple[Array, Array]:
        """Return which episodes the game itself has ended, bool (B,), and the outcome, int64 (B,)."""
        xp, spec = self._xp, self._spec
        nobody = ~xp.any(after[self._evaders], axis=0)
        capture = escape = nobody & False
        if caught is not None:
            captured = xp.any(caught, axis=0)
            capture = captured & nobody if spec.capture.ends == "all" else captured
        if escaped is not None and spec.escape is not None:
            away = xp.any(escaped, axis=0)
            escape = (away & nobody if spec.escape.ends == "all" else away) & ~capture
        alone = ~xp.any(after[self._pursuers], axis=0)
        lost = (nobody | alone) & ~capture & ~escape
        loss = FAILURE if spec.combat is None else loss_of(xp, alone, nobody, COMBAT_CODES)
        outcome = xp.where(capture, CAPTURE, xp.where(escape, ESCAPE, xp.where(lost, loss, RUNNING)))
        return capture | escape | lost, outcome

    def _nearest(self, distance: Array, in_play: Array | None) -> Array:
        """Return each agent's distance to its nearest opponent in play, (N, B), 0 where there is none."""
        xp = self._xp
        out = xp.zeros((self._agents, distance.shape[-1]), dtype=xp.float64)
        counted = distance if in_play is None else xp.where(in_play, distance, FAR)
        for own, nearest_to in ((self._pursuers, xp.min(counted, axis=1)), (self._evaders, xp.min(counted, axis=0))):
            out[own] = nearest_to if in_play is None else xp.where(nearest_to < FAR, nearest_to, 0.0)
        return out
