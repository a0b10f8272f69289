"""What the judge says: outcomes by code, and the verdict after a tick."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pe_sim.air_combat import COMBAT_OUTCOMES
from pe_sim.arrays import Array, copy_of

OUTCOMES = ("", "capture", "timeout", "failure", "aborted", "stopped", "escape", *COMBAT_OUTCOMES)
"""Names of the outcome codes; '' while running. 'failure': every agent of a side ended by its own motion."""

RUNNING, CAPTURE, TIMEOUT, FAILURE, ABORTED, STOPPED, ESCAPE, *COMBAT_CODES = range(len(OUTCOMES))


@dataclass
class Verdict:
    """What the rules say after a tick.

    Attributes:
        alive: agents still in play, bool (N, B).
        terminated: episodes ended by the game itself, bool (B,).
        truncated: episodes ended by the time limit, bool (B,).
        outcome: index into :data:`OUTCOMES`, int64 (B,).
        rewards: rewards of the tick, float64 (N, B).
        distances: pursuer to evader [m], (P, E, B).
        rows: where it is given, something happened in these engagements only, indices (R,): the arrays above say what
            is true of the others, who go on as before, and ``few`` what is true of these. See :meth:`whole`.
        few: the verdict of the engagements ``rows``.
    """

    alive: Array
    terminated: Array
    truncated: Array
    outcome: Array
    rewards: Array
    distances: Array
    rows: Any = None
    few: Verdict | None = None

    @property
    def quiet(self) -> bool:
        """Whether nobody left play and no episode ended."""
        return self.rows is not None and len(self.rows) == 0

    def whole(self) -> Verdict:
        """Return the same verdict with everything in its arrays."""
        if self.few is None:
            return self
        out = Verdict(self.alive, self.terminated, self.truncated, self.outcome, self.rewards, self.distances)
        for name in ("alive", "terminated", "truncated", "outcome", "rewards"):
            array = copy_of(getattr(self, name))
            array[..., self.rows] = getattr(self.few, name)
            setattr(out, name, array)
        return out
