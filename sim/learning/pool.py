"""A pool of frozen opponents, played the more often the harder they are to beat (Vinyals et al., 2019)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pe_sim.learning.elo import START, updated
from pe_sim.learning.opponents_spec import OpponentSpec


@dataclass
class Member:
    """Somebody in the pool.

    Attributes:
        name: 'guidance/<name>', a bundle's directory, or the update of the snapshot.
        uses: role -> what plays it, of snapshots the path of their bundle; other roles follow the engagement.
        hashes: role -> hash of what plays it, of snapshots.
        elo: its rating; that of a snapshot is the learners' when it was taken.
        games: games that the opposing learners have played against it, weighted by how recent they are.
        score: sum of their scores, weighted alike.
        total: all games.
    """

    name: str
    uses: dict[str, str]
    hashes: dict[str, str] = field(default_factory=dict)
    elo: float = START
    games: float = 0.0
    score: float = 0.0
    total: int = 0

    @property
    def win_rate(self) -> float:
        """Share of the games that the opposing learners win against it; a half while nothing is known."""
        return (self.score + 1.0) / (self.games + 2.0)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)

    def find_in(self, directory: Path) -> None:
        """Of a snapshot, whose places were kept relative to the training's directory: say where they are now."""
        if self.hashes:
            self.uses = {role: str(directory / use) for role, use in self.uses.items()}


def priority(win_rate: float, kind: str) -> float:
    """Return how much an opponent is worth playing, who is beaten in a share ``win_rate`` of the games."""
    return {"hard": (1.0 - win_rate) ** 2, "even": win_rate * (1.0 - win_rate), "uniform": 1.0}[kind]


class Pool:
    """The frozen opponents of one team's learners.

    Args:
        team: the team that the members play.
        spec: how it is kept.

    Attributes:
        members: in the order in which they came.
    """

    def __init__(self, team: str, spec: OpponentSpec) -> None:
        self.team, self.spec = team, spec
        self.members: list[Member] = []

    def add(self, member: Member) -> None:
        """Take somebody in."""
        self.members.append(member)

    def probabilities(self) -> NDArray[np.float64]:
        """Return how often each member is to play, (M,)."""
        spec = self.spec
        weights = np.asarray([priority(member.win_rate, spec.prioritise) for member in self.members])
        if len(weights) > spec.capacity:
            # The newest always plays; of the others those who are worth it most.
            others = np.argsort(-weights[:-1], kind="stable")
            weights[others[spec.capacity - 1 :]] = 0.0
        if weights.sum() <= 0.0:
            weights = np.ones(len(weights))
        shares: NDArray[np.float64] = (1.0 - spec.newest) * weights / weights.sum()
        shares[-1] += spec.newest
        return shares

    def note(self, members: NDArray[Any], scores: NDArray[Any]) -> None:
        """Take games into account: who was played, and the scores of the learners who played against it."""
        for number, member in enumerate(self.members):
            mine = scores[members == number]
            member.games += len(mine)
            member.total += len(mine)
            member.score += float(mine.sum())

    def forget(self) -> None:
        """Let what is known weigh a little less: the learners have learned since."""
        for member in self.members:
            member.games *= self.spec.memory
            member.score *= self.spec.memory

    def rate(self, rating: float, members: NDArray[Any], scores: NDArray[Any]) -> float:
        """Return the learners' rating after games."""
        games = []
        for number, member in enumerate(self.members):
            mine = scores[members == number]
            games.append((member.elo, float(len(mine)), float(mine.sum())))
        return updated(rating, games)

    def state(self) -> list[dict[str, Any]]:
        """Return everything needed to go on."""
        return [member.as_dict() for member in self.members]

    def restore(self, state: list[dict[str, Any]]) -> None:
        """Go on from :meth:`state`."""
        self.members = [Member(**plain) for plain in state]
