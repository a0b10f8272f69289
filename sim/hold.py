"""Zero-order hold: the action in effect, those under way, their expiry, and what was too old to count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pe_sim.actions import ActionSpec, Mode
from pe_sim.arrays import Array, choose, copy_of
from pe_sim.draws import Parameter
from pe_sim.timing import NEVER
from pe_sim.worlds.base import Command

if TYPE_CHECKING:
    from pe_sim.roles import RoleSpec

EXPIRED = {"hold": Mode.EXECUTE, "coast": Mode.COAST, "stop": Mode.STOP}
"""What an expired action turns into, by the file's word for it."""


@dataclass
class _Pending:
    """Actions under way.

    Attributes:
        values: float32 (A, n, B).
        mode: int8 (n, B).
        stamp: instant decided for [ns], int64 (n, B).
        effect: instant of effect [ns], int64 (n, B); NEVER where there is none or it has come.
        delay: from stamp to effect where drawn [ns], int64 (n, B); None where all is one or was given.
        first: no action comes into effect before this time of the scheduler [ns].
    """

    values: Array
    mode: Array
    stamp: Array
    effect: Array
    delay: Any
    first: int


class ActionHold:
    """Actions of the n agents of one role in B engagements.

    Before the first action has taken effect the agents coast. A stop holds until the next action, whatever the
    validity. Instants are those of each engagement; ``elapsed`` is a time [ns] that runs evenly for the whole batch, by
    which the hold knows when it need not look at all.

    Attributes:
        newest: last action submitted, float32 (A, n, B).
        decided: where there is one, bool (n, B).
        stale: actions dropped because a newer one was in effect, int64 (n, B).
    """

    def __init__(
        self, spec: RoleSpec, action: ActionSpec, agents: int, batch: int, xp: Any, latency: Parameter | None = None
    ) -> None:
        self._xp = xp
        self._latency: Any = spec.action.latency
        self._least_latency = self._latency if latency is None else int(latency.low)
        self._drawn = latency if latency is not None and latency.drawn else None
        self._valid_for = spec.valid_for
        self._expired = EXPIRED[spec.action.on_expiry]
        self._shape = (action.size, agents, batch)
        self._execute = xp.full((agents, batch), int(Mode.EXECUTE), dtype=xp.int8)
        self._coast = xp.full((agents, batch), int(Mode.COAST), dtype=xp.int8)
        self.reset(None)

    @property
    def immediate(self) -> bool:
        """Whether every action takes effect at the instant it is decided for."""
        return self._drawn is None and bool(self._latency == 0)

    def reset(self, rows: Array | None, roots: Array | None = None) -> None:
        """Forget every action in the given engagements (indices), None for all.

        Where the latency is drawn for every episode, it is drawn from the episodes' root keys ``roots`` (R,).
        """
        xp, shape = self._xp, self._shape[1:]
        if self._drawn is not None and roots is not None:
            self._drawn.redraw(roots, rows)
            self._latency = self._drawn.value
            self._least_latency = int(xp.min(self._latency))
        self._command: Command | None = None
        self._next = 0
        self._expiry = -1
        self._asked: int | None = None
        self._latest: int | None = None
        if rows is None:
            self._values = xp.zeros(self._shape, dtype=xp.float32)
            self._mode = self._coast
            self._stamp = xp.full(shape, -1, dtype=xp.int64)
            self._effect = xp.full(shape, NEVER, dtype=xp.int64)
            self._all_at: Array | None = None
            self.newest = xp.zeros(self._shape, dtype=xp.float32)
            self.decided = xp.zeros(shape, dtype=xp.bool)
            self.stale = xp.zeros(shape, dtype=xp.int64)
            self._pending: list[_Pending] = []
            return
        if self._mode is not self._coast:
            self._mode = copy_of(self._mode)
            self._mode[:, rows] = int(Mode.COAST)
        if self._all_at is None:
            self._stamp[:, rows] = -1
            self._effect[:, rows] = NEVER
        else:
            self._all_at = copy_of(self._all_at)
            self._all_at[rows] = -1
        for array in (self._values, self.newest):
            array[..., rows] = 0.0
        self.decided[:, rows] = False
        self.stale[:, rows] = 0
        for pending in self._pending:
            pending.effect[..., rows] = NEVER
            pending.stamp[..., rows] = NEVER

    def put(
        self, values: Array, where: Array, stamp: Array, effect: Array | None = None, mode: Array | None = None,
        elapsed: int | None = None,
    ) -> None:
        """Take actions decided at ``stamp``.

        Args:
            values: float32 (A, n, B); kept, not copied.
            where: who decided, bool (n, B).
            stamp: instant decided for [ns], int64 (B,) or (n, B).
            effect: instant of effect [ns], int64 (n, B); default stamp + latency.
            mode: how to carry it out, int8 (n, B); default EXECUTE.
            elapsed: the scheduler's time [ns], if :meth:`command` is told it too.
        """
        xp = self._xp
        everyone = bool(xp.all(where))
        self.newest = values if everyone else xp.where(where, values, self.newest)
        self.decided = where | self.decided
        if everyone and effect is None and mode is None and self._is_next(elapsed):
            # The common case in training: all decide, at once in effect; 'command' has nothing to merge.
            assert elapsed is not None
            self._values, self._mode, self._all_at = values, self._execute, stamp
            self._command = Command(values, None)
            self._expiry = self._next = elapsed + self._valid_for
            return
        self._settle()
        first = 0 if elapsed is None or effect is not None else elapsed + self._least_latency
        delay = self._latency if effect is None and self._drawn is not None else None
        effect = xp.where(where, stamp + self._latency if effect is None else effect, NEVER)
        mode = self._execute if mode is None else mode + self._execute
        self._pending.append(_Pending(values, mode, stamp + xp.zeros_like(self._stamp), effect, delay, first))
        self._next = min(self._next, first)

    def _is_next(self, elapsed: int | None) -> bool:
        """Return whether actions put now take effect now, and nothing else can."""
        if elapsed is None or elapsed == self._latest:
            return False
        self._latest = elapsed
        return self.immediate and not self._pending

    def _settle(self) -> None:
        """Write out the stamps of actions that all agents took at once."""
        if self._all_at is not None:
            self._stamp = self._all_at + self._xp.zeros_like(self._stamp)
            self._effect = self._xp.where(self._stamp >= 0, self._stamp, NEVER)
            self._all_at = None

    def command(self, now: Array, elapsed: int | None = None) -> Command:
        """Return the action in effect at an instant [ns], int64 (B,). Ask once per tick, in order."""
        if self._command is not None and elapsed is not None and elapsed < self._next:
            self._asked = elapsed
            return self._command
        xp = self._xp
        self._settle()
        if self._pending:
            self._take_effect(now, elapsed)
        upcoming = [pending.first for pending in self._pending]
        mode = self._mode
        if self._expired is not Mode.EXECUTE and not self._none_expires(elapsed):
            left = self._effect - now + self._valid_for
            # A stop does not expire: an agent that is being stopped must not coast on at the speed it still has.
            expires = (self._stamp >= 0) & (self._mode != int(Mode.STOP))
            expired = expires & (left <= 0)
            if bool(xp.any(expired)):
                mode = xp.where(expired, xp.asarray(int(self._expired), dtype=xp.int8), mode)
            # Every engagement that runs moves on by one tick a tick: the least time left is time until then.
            soonest = xp.min(xp.where(expires & ~expired, left, NEVER))
            self._expiry = -1 if mode is not self._mode else (elapsed or 0) + int(soonest)
            upcoming.append((elapsed or 0) + int(soonest))
        elif self._expired is not Mode.EXECUTE:
            upcoming.append(self._expiry)
        self._asked = elapsed
        self._next = min(upcoming, default=int(NEVER))
        plain = mode is self._execute or not bool(xp.any(mode != int(Mode.EXECUTE)))
        self._command = Command(self._values, None if plain else mode)
        return self._command

    def _none_expires(self, elapsed: int | None) -> bool:
        """Return whether nothing has expired by now, as far as is known without looking."""
        if elapsed is None or self._asked is None or elapsed >= self._expiry:
            return False
        # What has taken effect since it was last asked expires no sooner than this.
        self._expiry = min(self._expiry, self._asked + self._valid_for)
        return elapsed < self._expiry

    def _take_effect(self, now: Array, elapsed: int | None) -> None:
        xp = self._xp
        kept = []
        for pending in self._pending:
            if elapsed is not None and elapsed < pending.first:
                kept.append(pending)
                continue
            come = pending.effect <= now
            newer = come & (pending.stamp > self._stamp)
            if bool(xp.all(newer)):
                self._values, self._mode = pending.values, pending.mode
                self._stamp, self._effect = pending.stamp, pending.effect
                continue
            if pending.delay is not None and bool(xp.all(newer | (pending.stamp == self._stamp))):
                # Where delays differ it takes some ticks until all of one decision have come; it is as if at once then.
                self._values, self._mode = pending.values, pending.mode
                self._stamp, self._effect = pending.stamp, pending.stamp + pending.delay
                continue
            late = come & ~newer
            if bool(xp.any(late)):
                self.stale = self.stale + xp.astype(late, xp.int64)
            self._values = choose(xp, newer, pending.values, self._values)
            if pending.mode is not self._mode:
                self._mode = xp.where(newer, pending.mode, self._mode)
            self._stamp = xp.where(newer, pending.stamp, self._stamp)
            self._effect = xp.where(newer, pending.effect, self._effect)
            pending.effect = xp.where(come, NEVER, pending.effect)
            if bool(xp.any(pending.effect < NEVER)):
                kept.append(pending)
        self._pending = kept

    @property
    def effect(self) -> Array:
        """Instant at which the action in effect took effect [ns], int64 (n, B); NEVER before the first."""
        self._settle()
        return self._effect

    @property
    def stamp(self) -> Array:
        """Instant for which the action in effect was decided [ns], int64 (n, B); -1 before the first."""
        self._settle()
        return self._stamp
