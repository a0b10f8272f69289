"""Self-play: each team learns by its own algorithm against a pool of frozen opponents, its own past among them.

Every learning team is a side: a training of its own, in an environment of its own, in which the other team is played
by members of that team's pool. Snapshots of the learners join their pool on the way. The sides take turns, one rollout
and update each; nothing of the one team's learning passes into the other's but what it does.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from pe_sim.engagement import Engagement
from pe_sim.errors import EngagementError, PeError
from pe_sim.learning.checkpoint import MISFITS, read_checkpoint, write_checkpoint
from pe_sim.learning.opponents_spec import OpponentSpec
from pe_sim.learning.pool import Member, Pool
from pe_sim.learning.side import Side
from pe_sim.learning.spec import TrainingSpec
from pe_sim.learning.tournament import POOL
from pe_sim.learning.trainer import CHECKPOINT, Trainer, require_same
from pe_sim.learning.training import Done, Training
from pe_sim.policies.bundle import Bundle, read, replace_file
from pe_sim.schema import nearest

SEED_STEP = 7919
"""Between the seeds of the sides, whose episodes are others."""

SHARED = ("episodes", "capture", "duration")
"""Figures that every side has."""

class SelfPlay(Training):
    """A training of teams that play against pools.

    Args:
        spec: the training file.
        engagement: the engagement to train on.
        directory: where checkpoints, bundles and snapshots go.

    Attributes:
        sides: the learning teams.
        pools: team -> the frozen opponents that play it.

    Raises:
        EngagementError: if there are not two teams, or a team in ``opponents`` is none of them.
    """

    def __init__(self, spec: TrainingSpec, engagement: Engagement, directory: Path) -> None:
        super().__init__(spec, engagement, directory)
        teams = list(dict.fromkeys(role.team for role in engagement.roles.values()))
        if len(teams) != 2:
            raise EngagementError("opponents", "a pool needs exactly two teams", teams)
        learning = [team for team in teams if any(engagement.roles[role].team == team for role in spec.roles)]
        self.pools = {team: self._pool(team, learning) for team in teams}
        self.sides = [
            self._side(team, teams[1 - teams.index(team)], number) for number, team in enumerate(learning)
        ]
        self._begun = False

    def _begin(self) -> None:
        """Take the first snapshots, of those who know nothing yet, and let the sides meet their opponents."""
        for side in self.sides:
            if any(other.pool is self.pools[side.team] for other in self.sides):
                self._snapshot(side, welcome=False)
        for side in self.sides:
            side.meet()
        self._begun = True

    def _pool(self, team: str, learning: list[str]) -> Pool:
        """Return the pool of a team with those that are in it from the beginning.

        A team that learns too and is not named is played as the other one is, by its own snapshots.
        """
        spec = self.spec.opponents.get(team)
        if spec is None or spec.kind != "pool":
            named = next(one for one in self.spec.opponents.values() if one.kind == "pool")
            spec = named.model_copy(update={"members": ()}) if team in learning else OpponentSpec(kind="pool")
        pool = Pool(team, spec)
        roles = [name for name, role in self.engagement.roles.items() if role.team == team]
        for use in spec.members:
            pool.add(Member(use, dict.fromkeys(roles, use)))
        if not pool.members and team not in learning:
            pool.add(Member("as the engagement says", {}))
        return pool

    def _side(self, team: str, other: str, number: int) -> Side:
        roles = {name: how for name, how in self.spec.roles.items() if self.engagement.roles[name].team == team}
        mine = self.spec.model_copy(
            update={"roles": roles, "opponents": {}, "seed": self.spec.seed + SEED_STEP * number}
        )
        pool = self.pools[other]
        how = {"deterministic": pool.spec.deterministic, "compute": "matrices"}
        chases = team == self.engagement.rules.pursuers
        return Side(team, Trainer(mine, self.engagement, self.directory), pool, how, chases=chases)

    @property
    def steps(self) -> int:
        """World ticks so far, over all engagements of all sides."""
        return sum(side.trainer.steps for side in self.sides)

    def advance(self) -> dict[str, float]:
        """Let every side run a rollout and learn from it; take snapshots when it is time; return the key figures."""
        if not self._begun:
            self._begin()
        parts = [side.advance() for side in self.sides]
        self.update += 1
        figures = {key: value for part in parts for key, value in part.items() if key not in SHARED}
        figures.update(_together(parts))
        for side in self.sides:
            pool = self.pools[side.team]
            if any(other.pool is pool for other in self.sides):
                if self.update % pool.spec.snapshot_every == 0:
                    self._snapshot(side)
                figures[f"{side.team}/pool"] = float(len(pool.members))
        return figures

    def _snapshot(self, side: Side, *, welcome: bool = True) -> None:
        """Freeze the learners of a side as they are, and take them into their pool."""
        name = f"{self.update:06d}"
        bundles = side.trainer.write_bundles(directory=self.directory / "pool" / side.team / name)
        uses = {role: str(bundle.path) for role, bundle in bundles.items()}
        hashes = {role: bundle.description.sha256 for role, bundle in bundles.items()}
        member = Member(name, uses, hashes, elo=side.rating)
        self.pools[side.team].add(member)
        for other in self.sides:
            if welcome and other.pool.team == side.team:
                other.welcome(member)

    def state(self) -> dict[str, Any]:
        """Return everything needed to go on."""
        return {
            "training": self.spec.model_dump(mode="json"), "engagement": self.engagement.sha256,
            "update": self.update, "history": self.history,
            "pools": {team: [self._kept(member) for member in pool.members] for team, pool in self.pools.items()},
            "sides": {side.team: {**side.trainer.state(), "rating": side.rating} for side in self.sides},
        }

    def _kept(self, member: Member) -> dict[str, Any]:
        """Return a member as plain data; of snapshots where they lie in the training's directory, wherever that is."""
        if not member.hashes:
            return member.as_dict()
        uses = {role: os.path.relpath(use, self.directory) for role, use in member.uses.items()}
        return replace(member, uses=uses).as_dict()

    def save(self) -> Path:
        """Write the checkpoint, and who is in the pools as JSON beside it.

        Raises:
            PeError: if they cannot be written.
        """
        path = self.directory / CHECKPOINT
        write_checkpoint(path, self.state())
        shown = {
            "engagement": self.engagement.engagement, "update": self.update,
            "learners": {side.team: {"elo": side.rating} for side in self.sides},
            "pools": {
                team: [{**self._kept(member), "win_rate_against": member.win_rate} for member in pool.members]
                for team, pool in self.pools.items()
            },
            "deterministic": {team: pool.spec.deterministic for team, pool in self.pools.items()},
            "par": {team: pool.spec.par for team, pool in self.pools.items()},
        }
        try:
            replace_file(self.directory / POOL, (json.dumps(shown, indent=2) + "\n").encode())
        except OSError as fault:
            raise PeError(str(self.directory / POOL), f"cannot be written: {fault.strerror or fault}") from fault
        return path

    def resume(self, path: Path, done: Done | None = None) -> None:
        """Go on from a checkpoint of the same training file.

        Raises:
            PeError: if it is damaged, no checkpoint, or of another training, or a snapshot is not what it was.
        """
        state = read_checkpoint(path)
        try:
            require_same(path, self.spec, self.engagement, state)
            for team, pool in self.pools.items():
                pool.restore(state["pools"][team])
                for member in pool.members:
                    member.find_in(self.directory)
                    _require_whole(member)
            for side in self.sides:
                side.meet()
                side.trainer.restore(state["sides"][side.team], path, done)
                side.rating = float(state["sides"][side.team]["rating"])
            self.update, self.history, self._begun = int(state["update"]), list(state["history"]), True
        except MISFITS as fault:
            raise PeError(str(path), f"is no checkpoint of this training: {fault}") from fault

    def close(self) -> None:
        """End what the environments run in processes of their own."""
        for side in self.sides:
            side.trainer.close()

    def write_bundles(
        self, evaluation: dict[str, Any] | None = None, directory: Path | None = None
    ) -> dict[str, Bundle]:
        """Write a bundle for every learning role into ``<directory>/<role>`` and return them."""
        bundles: dict[str, Bundle] = {}
        for side in self.sides:
            bundles.update(side.trainer.write_bundles(evaluation, directory))
        return bundles


def _require_whole(member: Member) -> None:
    """Refuse a snapshot that is missing or another than was taken."""
    for role, sha in member.hashes.items():
        if read(member.uses[role]).description.sha256 != sha:
            raise PeError(member.uses[role], "is not the snapshot that the training has taken", sha[:12])


def _together(parts: list[dict[str, float]]) -> dict[str, float]:
    """Return the figures of the episodes of all sides."""
    total = sum(part["episodes"] for part in parts)
    figures = {"episodes": total}
    for name in ("capture", "duration"):
        if total:
            figures[name] = sum(part.get(name, 0.0) * part["episodes"] for part in parts) / total
    return figures


def training_of(spec: TrainingSpec, engagement: Engagement, directory: Path) -> Training:
    """Return the training that a file describes: against pools where it names one, else of all roles at once.

    Raises:
        EngagementError: if its opponents do not go with the engagement.
    """
    teams = {role.team for role in engagement.roles.values()}
    for team, opponent in spec.opponents.items():
        if team not in teams:
            raise EngagementError(f"opponents.{team}", "no such team", team, nearest(team, teams))
        learns = [name for name in spec.roles if engagement.roles[name].team == team]
        if learns and opponent.kind != "pool":
            raise EngagementError(
                f"opponents.{team}.kind", f"{learns[0]} of this team learns: only a pool can play it as well",
                opponent.kind,
            )
        if opponent.kind == "pool" and all(engagement.roles[name].team == team for name in spec.roles):
            raise EngagementError(f"opponents.{team}", "nobody learns against this team", list(spec.roles))
    pooled = any(opponent.kind == "pool" for opponent in spec.opponents.values())
    return (SelfPlay if pooled else Trainer)(spec, engagement, directory)
