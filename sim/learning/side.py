"""One team's learning against a pool: its training, in an environment in which the pool's members play the others."""

from __future__ import annotations

from typing import Any

import numpy as np

from pe_sim.envs.vector_pursuit import Finals
from pe_sim.learning.elo import START
from pe_sim.learning.pool import Member, Pool
from pe_sim.learning.scores import pursuers_score
from pe_sim.learning.trainer import Trainer
from pe_sim.policies.base import Policy, PolicyContext, context_of
from pe_sim.policies.loader import load_policy
from pe_sim.policies.mixed import MixedPolicy


class Side:
    """A learning team and those it plays against.

    Args:
        team: the team.
        trainer: its training.
        pool: of the other team.
        parameters: of the bundles in it.
        chases: whether the team is the one that chases.

    Attributes:
        rating: of the learners as they are.
        games: members played and scores of the last rollout.
    """

    def __init__(self, team: str, trainer: Trainer, pool: Pool, parameters: dict[str, Any], *, chases: bool) -> None:
        self.team, self.trainer, self.pool = team, trainer, pool
        self.rating = START
        self.games: tuple[list[int], list[float]] = ([], [])
        self._parameters, self._chases = parameters, chases
        self._mixed: list[list[MixedPolicy]] = []  # for each lane, the other team's roles
        trainer.collector.on_episodes = self._note

    def meet(self) -> None:
        """Put the pool into the environment, in place of the engagement's policies, and begin anew."""
        engagement, self._mixed = self.trainer.engagement, []
        roles = [name for name, role in engagement.roles.items() if role.team == self.pool.team]
        for lane in self.trainer.env.lanes:
            mine = []
            for role in roles:
                runtime = lane.simulation.roles[role]
                context = context_of(engagement, role, runtime.action, lane.simulation.batch, lane.simulation.xp)
                mixed = MixedPolicy(context, [self._player(member, context) for member in self.pool.members])
                lane._policies[role] = mixed  # noqa: SLF001 - takes the seat of the engagement's policy
                mine.append(mixed)
            self._mixed.append(mine)
        self.weigh()
        self.trainer.env.reset()
        self.trainer.collector.refresh()

    def _player(self, member: Member, context: PolicyContext) -> Policy:
        use = member.uses.get(context.role)
        return load_policy(
            self.trainer.engagement, context.role, context.action, batch=context.batch, xp=context.xp, use=use,
            parameters=self._parameters if member.hashes else {},
        )

    def welcome(self, member: Member) -> None:
        """Let a new member of the pool play from the next episodes on."""
        for lane in self._mixed:
            for mixed in lane:
                mixed.add(self._player(member, mixed.context))
        self.weigh()

    def weigh(self) -> None:
        """Draw those who play from now on as the pool says."""
        shares = self.pool.probabilities()
        for lane in self._mixed:
            for mixed in lane:
                mixed.probabilities = shares

    def _note(self, finals: Finals) -> None:
        played = np.concatenate([lane[0].last for lane in self._mixed])[finals.rows]
        tick, par = self.trainer.engagement.world.tick, self.pool.spec.par
        for member, code, ticks in zip(played, finals.outcomes, finals.ticks, strict=True):
            score = pursuers_score(int(code), int(ticks) * tick, par)
            if score is not None:
                self.games[0].append(int(member))
                self.games[1].append(score if self._chases else 1.0 - score)

    def advance(self) -> dict[str, float]:
        """Run one rollout, learn from it, and take its games into account; return the key figures."""
        self.games = ([], [])
        figures = self.trainer.advance()
        members, scores = np.asarray(self.games[0], np.int64), np.asarray(self.games[1])
        self.rating = self.pool.rate(self.rating, members, scores)
        self.pool.forget()
        self.pool.note(members, scores)
        self.weigh()
        figures[f"{self.team}/elo"] = self.rating
        if len(scores):
            figures[f"{self.team}/score"] = float(scores.mean())
        return figures
