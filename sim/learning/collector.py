"""Collects rollouts: steps the batched environment under the learners' policies and keeps what each agent did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pe_sim.envs.vector_pursuit import Finals, VectorPursuit, VectorStep
from pe_sim.learning.ippo import Ippo, Slot
from pe_sim.learning.sequences import Sequences
from pe_sim.policies.runner import scale_up
from pe_sim.rules import OUTCOMES
from pe_sim.timing import seconds

Observations = dict[str, NDArray[Any]]


def past_actions(names: tuple[str, ...]) -> NDArray[np.bool_]:
    """Return which places of an observation vector are the agent's own past actions."""
    return np.asarray([name.startswith("action[") for name in names], np.bool_)


@dataclass
class EpisodeFigures:
    """Episodes that ended in a rollout.

    Attributes:
        outcomes: name -> how many.
        durations: engagement time of each [s].
        returns: sums of rewards per role, of all agents and rollout steps.
    """

    outcomes: dict[str, int] = field(default_factory=dict)
    durations: list[float] = field(default_factory=list)
    returns: dict[str, float] = field(default_factory=dict)


class Collector:
    """Runs the environment for some learners.

    Args:
        env: the environment; all of its controlled roles belong to a learner.
        learners: who decides; their agents are disjoint.
        decisions: decisions of the fastest role in a rollout.

    Attributes:
        rollouts: what each learner's agents did.
        steps: world ticks so far, over all engagements.
        on_episodes: called with the episodes that have ended in a step, or None.
    """

    def __init__(self, env: VectorPursuit, learners: list[Ippo], decisions: int) -> None:
        self.env, self.learners = env, learners
        self._step: VectorStep = env.reset()
        engagement = env.engagement
        tick = engagement.world.tick * env.stride
        period = min(engagement.roles[role].trigger.period for role in env.roles)
        self.horizon = max(2, round(decisions * period / tick))
        self.rollouts = [
            Sequences(
                (len(one.slots), env.batch), self._capacity(one, tick), len(one.sizes.names), one.seen_size,
                one.action_size, one.actor.state_size,
            )
            for one in learners
        ]
        self.steps = 0
        self.on_episodes: Callable[[Finals], None] | None = None
        self._kept = {role: ~past_actions(env.layout(role).names) for role in env.roles}
        self._actions = {}
        for role, space in env.action_spaces.items():
            shape = (env.batch, engagement.roles[role].count)
            self._actions[role] = (
                np.zeros(shape, np.int64) if space.shape == () else np.zeros((*shape, *(space.shape or ())), np.float32)
            )

    def _capacity(self, learner: Ippo, tick: int) -> int:
        """Return room for an agent's decisions in a rollout; a rollout ends early where many short episodes fill it."""
        period = min(self.env.engagement.roles[role].trigger.period for role, _ in learner.slots)
        return min(self.horizon, round(self.horizon * tick / max(period, tick)) + 8) + 1

    def collect(self) -> EpisodeFigures:
        """Run one rollout and return what its episodes came to."""
        figures = EpisodeFigures(returns=dict.fromkeys(self.env.roles, 0.0))
        for rollout in self.rollouts:
            rollout.begin()
        for _ in range(self.horizon):
            for learner, rollout in zip(self.learners, self.rollouts, strict=True):
                self._decide(learner, rollout)
            self._step = self.env.step(self._actions)
            self.steps += self.env.stride * self.env.batch
            for learner, rollout in zip(self.learners, self.rollouts, strict=True):
                self._receive(learner, rollout)
            self._note(figures)
            if any(rollout.full for rollout in self.rollouts):
                break
        return figures

    def _decide(self, learner: Ippo, rollout: Sequences) -> None:
        """Let the agents of a learner that are due decide."""
        step = self._step
        due = np.stack([step.due[role][:, number] for role, number in learner.slots])
        agents, rows = np.nonzero(due)
        if len(agents) == 0:
            return
        bounds = np.searchsorted(agents, np.arange(len(learner.slots) + 1))
        spans = [slice(a, b) for a, b in pairwise(bounds)]
        places = list(zip(learner.slots, spans, strict=True))
        observation = np.concatenate([step.observations[role][rows[span], number] for (role, number), span in places])
        seen = observation if learner.seen_by_critic == "own" else self.joint(step.observations, learner, rows)
        if learner.actor.state_size:
            choice, memory = learner.act_on(observation, seen, agents, rollout.memory[agents, rows])
            rollout.decide(agents, rows, observation, seen, choice, memory)
        else:
            choice = learner.act(observation, seen, agents)
            rollout.decide(agents, rows, observation, seen, choice)
        spec = learner.sizes.action
        for (role, number), span in places:
            drawn = choice[0][span]
            if spec.discrete:
                self._actions[role][rows[span], number] = drawn[:, 0]
            else:
                self._actions[role][rows[span], number] = scale_up(np, drawn, spec.low, spec.high)

    def team(self, learner: Ippo) -> list[Slot]:
        """Return the learning agents of a learner's team, in order."""
        return team_of(self.env, learner.slots[0][0])

    def joint(self, observations: Observations, learner: Ippo, rows: NDArray[Any]) -> NDArray[Any]:
        """Return what the team of a learner sees, without own past actions, (R, C)."""
        parts = [observations[role][rows, number][:, self._kept[role]] for role, number in self.team(learner)]
        return np.concatenate(parts, axis=1)

    def _receive(self, learner: Ippo, rollout: Sequences) -> None:
        """Add rewards, and close what has ended."""
        step, finals = self._step, self._step.finals
        rollout.receive(np.stack([step.rewards[role][:, number] for role, number in learner.slots]))
        over = step.terminated | step.truncated
        out = np.stack([over | ~step.alive[role][:, number] for role, number in learner.slots])
        bootstrap = np.zeros(out.shape)
        late = np.nonzero(step.truncated[finals.rows])[0]
        if len(late):
            rows = finals.rows[late]
            for slot, (role, number) in enumerate(learner.slots):
                seen = finals.observations[role][late, number]
                if learner.seen_by_critic == "team":
                    seen = self.joint(finals.observations, learner, late)
                bootstrap[slot, rows] = learner.judge(seen, np.full(len(rows), slot))
        rollout.end(out, bootstrap)

    def _note(self, figures: EpisodeFigures) -> None:
        finals = self._step.finals
        if self.on_episodes is not None and len(finals.rows):
            self.on_episodes(finals)
        tick = self.env.engagement.world.tick
        for outcome, ticks in zip(finals.outcomes, finals.ticks, strict=True):
            name = OUTCOMES[int(outcome)]
            figures.outcomes[name] = figures.outcomes.get(name, 0) + 1
            figures.durations.append(seconds(int(ticks) * tick))
        for role in self.env.roles:
            figures.returns[role] += float(self._step.rewards[role].sum())

    def refresh(self) -> None:
        """Look at the environment anew after its state was put back."""
        self._step = self.env._result([])  # noqa: SLF001 - the present state, which is what a step would show


def team_of(env: VectorPursuit, role: str) -> list[Slot]:
    """Return the controlled agents of the team of a role, in order."""
    roles = env.engagement.roles
    return [
        (name, number)
        for name in env.roles
        if roles[name].team == roles[role].team
        for number in range(roles[name].count)
    ]
