"""Several policies that share one role over a batch: in every episode one of them plays.

Who plays is drawn at the beginning of an episode from a stream keyed by seed and episode, with the probabilities of
that moment: the same episode of the same run meets the same policy whatever else the batch holds.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from pe_sim import streams
from pe_sim.arrays import Array
from pe_sim.policies.base import Policy, PolicyContext, Views

STREAM = streams.name_key("opponent")


class MixedPolicy(Policy):
    """Plays one of its members in each engagement.

    Args:
        context: the agents.
        members: who may play, at least one; more may be added.

    Attributes:
        members: the same.
        probabilities: of each member to play an episode that begins, (M,).
        chosen: who plays, index of the member, int64 (B,).
        last: who played the episode before, int64 (B,); -1 for nobody.
    """

    def __init__(self, context: PolicyContext, members: list[Policy]) -> None:
        super().__init__(context)
        self.members = list(members)
        self.probabilities = np.full(len(members), 1.0 / len(members))
        self.chosen = np.zeros(context.batch, np.int64)
        self.last = np.full(context.batch, -1, np.int64)
        self.deterministic = all(member.deterministic for member in members)
        self.recurrent = any(member.recurrent for member in members)

    def add(self, member: Policy) -> None:
        """Take another one in, who plays once there is a probability for it."""
        self.members.append(member)
        self.deterministic = self.deterministic and member.deterministic
        self.recurrent = self.recurrent or member.recurrent

    @property
    def sha256(self) -> str:
        """Hash of the members' hashes, in order."""
        return hashlib.sha256(" ".join(member.sha256 for member in self.members).encode()).hexdigest()

    def reset(self, roots: Array, rows: Array | None) -> None:
        """Begin episodes: draw who plays."""
        where: Any = slice(None) if rows is None else np.asarray(rows)
        draws = np.asarray(streams.uniform(self.xp, streams.derive(roots, STREAM), 0))
        bounds = np.cumsum(self.probabilities)
        found = np.searchsorted(bounds, draws * bounds[-1], side="right")
        self.last[where] = self.chosen[where]
        self.chosen[where] = np.minimum(found, len(bounds) - 1)
        for member in self.members:
            member.reset(roots, rows)

    def decide(self, views: Views, now: Array, due: Array) -> Array:
        """Return the actions, float32 (A, n, B), of whoever plays."""
        xp = self.xp
        out = xp.zeros((self.context.action.size, *due.shape), dtype=xp.float32)
        for number, member in enumerate(self.members):
            mine = due & xp.asarray(self.chosen == number)[None]
            if bool(xp.any(mine)):
                out = xp.where(mine[None], member.decide(views, now, mine), out)
        return out

    def warm_up(self) -> None:
        """Warm every member up."""
        for member in self.members:
            member.warm_up()
