"""Zero-order hold: the action in effect, those under way, their expiry, and what was too old to count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pe_sim.actions import ActionSpec, Mode
from pe_sim.arrays import Array
from pe_sim.timing import NEVER
from pe_sim.worlds.base import Command

if TYPE_CHECKING:
    from pe_sim.engagement import RoleSpec

EXPIRED = {"hold": Mode.EXECUTE, "coast": Mode.COAST, "stop": Mode.STOP}
"""What an expired action turns into, by the file's word for it."""


class ActionHold:
    """Actions of the n agents of one role in B engagements.

    Before the first action has taken effect the agents coast.

    Attributes:
        newest: last action submitted, float32 (A, n, B).
        decided: where there is one, bool (n, B).
        stale: actions dropped because a newer one was in effect, int64 (n, B).
    """

    def __init__(self, spec: RoleSpec, action: ActionSpec, agents: int, batch: int, xp: Any) -> None:
        self._xp = xp
        self._latency = spec.action.latency
        self._valid_for = spec.valid_for
        self._expired = EXPIRED[spec.action.on_expiry]
        self._shape = (action.size, agents, batch)
        self.reset(None)

    def reset(self, rows: Array | None) -> None:
        """Forget every action in the given engagements (indices), None for all."""
        xp = self._xp
        size, agents, batch = self._shape
        if rows is None:
            self._values = xp.zeros(self._shape, dtype=xp.float32)
            self._mode = xp.full((agents, batch), int(Mode.COAST), dtype=xp.int8)
            self._stamp = xp.full((agents, batch), -1, dtype=xp.int64)
            self._effect = xp.full((agents, batch), NEVER, dtype=xp.int64)
            self.newest = xp.zeros(self._shape, dtype=xp.float32)
            self.decided = xp.zeros((agents, batch), dtype=xp.bool)
            self.stale = xp.zeros((agents, batch), dtype=xp.int64)
            self._pending: list[tuple[Array, Array, Array, Array]] = []
            self._plain = False
            return
        for array, value in (
            (self._values, 0.0), (self._mode, int(Mode.COAST)), (self._stamp, -1), (self._effect, NEVER),
            (self.newest, 0.0), (self.decided, False), (self.stale, 0),
        ):
            array[..., rows] = value
        for _, _, _, effect in self._pending:
            effect[..., rows] = NEVER
        self._plain = False

    def put(
        self, values: Array, where: Array, stamp: Array, effect: Array | None = None, mode: Array | None = None
    ) -> None:
        """Take actions decided at ``stamp``.

        Args:
            values: float32 (A, n, B).
            where: who decided, bool (n, B).
            stamp: instant decided for [ns], int64 (B,) or (n, B).
            effect: instant of effect [ns], int64 (n, B); default stamp + latency.
            mode: how to carry it out, int8 (n, B); default EXECUTE.
        """
        xp = self._xp
        everyone = bool(xp.all(where))
        self.newest = values if everyone else xp.where(where, values, self.newest)
        self.decided = where if everyone else self.decided | where
        if effect is None:
            effect = stamp + self._latency
        if mode is None:
            mode = xp.zeros(self._shape[1:], dtype=xp.int8)
        if everyone and self._latency == 0 and not self._pending:
            # The common case in training: all decide, at once in effect; 'command' has nothing to merge.
            self._values, self._mode, self._plain = values, mode, True
            self._stamp = stamp + xp.zeros_like(self._stamp)
            self._effect = effect + xp.zeros_like(self._effect)
            return
        effect = xp.where(where, effect, NEVER)
        self._pending.append((values, mode, stamp + xp.zeros_like(self._stamp), effect))

    def command(self, now: Array) -> Command:
        """Return the action in effect at an instant [ns], int64 (B,)."""
        xp = self._xp
        if self._pending:
            self._take_effect(now)
        expired = (now >= self._effect + self._valid_for) & (self._stamp >= 0)
        if bool(xp.any(expired)) and self._expired is not Mode.EXECUTE:
            mode = xp.where(expired, xp.asarray(int(self._expired), dtype=xp.int8), self._mode)
            return Command(self._values, mode)
        if self._plain or not bool(xp.any(self._mode != int(Mode.EXECUTE))):
            return Command(self._values, None)
        return Command(self._values, self._mode)

    def _take_effect(self, now: Array) -> None:
        xp = self._xp
        kept = []
        self._plain = False
        for values, mode, stamp, effect in self._pending:
            come = effect <= now
            newer = come & (stamp > self._stamp)
            self.stale = self.stale + xp.astype(come & ~newer, xp.int64)
            self._values = xp.where(newer, values, self._values)
            self._mode = xp.where(newer, mode, self._mode)
            self._stamp = xp.where(newer, stamp, self._stamp)
            self._effect = xp.where(newer, effect, self._effect)
            rest = xp.where(come, NEVER, effect)
            if bool(xp.any(rest < NEVER)):
                kept.append((values, mode, stamp, rest))
        self._pending = kept

    @property
    def effect(self) -> Array:
        """Instant at which the action in effect took effect [ns], int64 (n, B); NEVER before the first."""
        return self._effect

    @property
    def stamp(self) -> Array:
        """Instant for which the action in effect was decided [ns], int64 (n, B); -1 before the first."""
        return self._stamp
