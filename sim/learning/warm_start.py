"""Warm start: before it learns from rewards, a policy learns to do as scripted guidance does.

Dataset aggregation (S. Ross, G. Gordon, J. A. Bagnell, A reduction of imitation learning and structured prediction to
no-regret online learning, 2011): the guidance flies the first rollout, the learner all others; in each of them the
guidance says what it would do where the learner has come to, and the learner fits all that was said so far. Without
that it would not know what to do where only its own errors lead.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pe_sim.engagement import Engagement
from pe_sim.envs.vector_pursuit import VectorPursuit, VectorStep
from pe_sim.errors import EngagementError
from pe_sim.learning.annealing import anneal
from pe_sim.learning.ippo import Ippo
from pe_sim.learning.normaliser import scaled
from pe_sim.learning.turns import Turns
from pe_sim.learning.warm_start_spec import WarmStartSpec
from pe_sim.policies.loader import load_policy
from pe_sim.policies.runner import scale_up

SEED_OFFSET = 500_009
"""From a training's seed to that of its warm start, whose episodes are others."""


class Teacher:
    """Guidance that says what it would do in the agents' places, in every engagement of a batched environment.

    Args:
        env: the environment.
        role: whose places.
        spec: which guidance.
    """

    def __init__(self, env: VectorPursuit, role: str, spec: WarmStartSpec) -> None:
        self._env, self._role = env, role
        self._policies = [
            load_policy(
                env.engagement, role, lane.simulation.roles[role].action, batch=lane.simulation.batch, xp=env.xp,
                use=spec.use, parameters=spec.parameters,
            )
            for lane in env.lanes
        ]
        self.begin(None)

    def begin(self, rows: NDArray[Any] | None) -> None:
        """Forget what was before in engagements that begin anew, by indices; None for all."""
        for lane, policy in zip(self._env.lanes, self._policies, strict=True):
            roots = lane.simulation.roots
            if rows is None:
                policy.reset(roots, None)
                continue
            mine = rows[(rows >= lane.first) & (rows < lane.first + lane.simulation.batch)] - lane.first
            if len(mine):
                policy.reset(roots[mine], mine)

    def answers(self, step: VectorStep) -> NDArray[np.float32]:
        """Return what it would do now, float32 (B, n, A); only that of agents that are due means anything."""
        parts = []
        for lane, policy in zip(self._env.lanes, self._policies, strict=True):
            simulation = lane.simulation
            perception = simulation.roles[self._role].perception
            assert perception is not None
            due = step.due[self._role][lane.first : lane.first + simulation.batch].T
            parts.append(policy.decide(perception.view(simulation.now), simulation.now, due))
        whole: NDArray[np.float32] = np.concatenate(parts, axis=2).transpose(2, 1, 0)
        return whole


def warm_start(learner: Ippo, engagement: Engagement, batch: int, seed: int, generator: torch.Generator) -> float:
    """Teach a learner what its ``warm_start`` says; return the error of the last pass: mean square or cross entropy.

    The agents of a role that does not learn here follow the engagement's policies.

    Args:
        learner: the learner; all agents of its roles are its own.
        engagement: the engagement.
        batch: engagements at once.
        seed: of the training.
        generator: of all random draws.

    Raises:
        EngagementError: if the network has memory.
    """
    spec = learner.spec.warm_start
    assert spec is not None
    if learner.spec.network.recurrent != "none":
        path = f"roles.{learner.slots[0][0]}.warm_start"
        raise EngagementError(path, "teaches networks without memory only", learner.spec.network.recurrent)
    roles = tuple(dict.fromkeys(role for role, _ in learner.slots))
    env = VectorPursuit(engagement, batch, seed=seed + SEED_OFFSET, roles=roles)
    try:
        return _aggregate(learner, spec, env, {role: Teacher(env, role, spec) for role in roles}, generator)
    finally:
        env.close()


def _aggregate(
    learner: Ippo, spec: WarmStartSpec, env: VectorPursuit, teachers: dict[str, Teacher], generator: torch.Generator
) -> float:
    step, error = env.reset(), float("nan")
    seen: list[NDArray[Any]] = []
    told: list[NDArray[Any]] = []
    optimiser = torch.optim.Adam(learner.actor.body.parameters(), lr=spec.learning_rate)
    for round_ in range(spec.rounds):
        begin = len(seen)
        while sum(len(part) for part in seen[begin:]) < spec.decisions:
            actions = {}
            for role, teacher in teachers.items():
                answers, due = teacher.answers(step), step.due[role]
                seen.append(step.observations[role][due])
                told.append(_as_learned(learner, spec, answers[due]))
                flown = answers if round_ == 0 else _flown(learner, step.observations[role], generator)
                actions[role] = flown[..., 0].astype(np.int64) if learner.actor.discrete else flown
            step = env.step(actions)
            for teacher in teachers.values():
                teacher.begin(step.finals.rows)
        learner.observed.update(np.concatenate(seen[begin:]))
        anneal(optimiser, spec.learning_rate, round_ / spec.rounds)
        error = _fit(learner, spec, optimiser, (np.concatenate(seen), np.concatenate(told)), generator)
    return error


def _as_learned(learner: Ippo, spec: WarmStartSpec, answers: NDArray[Any]) -> NDArray[Any]:
    """Return answers as the network gives them: in [-1, 1], stretched, or the index of a choice, (R, A)."""
    action = learner.sizes.action
    if action.discrete:
        return answers
    share: NDArray[Any] = np.clip(2.0 * (answers - action.low) / (action.high - action.low) - 1.0, -1.0, 1.0)
    return share * spec.stretch


def _flown(learner: Ippo, observations: NDArray[Any], generator: torch.Generator) -> NDArray[Any]:
    """Return what the learner does, exploring as it will when it learns from rewards, (B, n, A)."""
    rows, action = observations.reshape(-1, observations.shape[-1]), learner.sizes.action
    with torch.no_grad():
        drawn = learner.actor.sample(scaled(learner.observed, rows), generator)[0].numpy()
    done = drawn if action.discrete else scale_up(np, drawn, action.low, action.high)
    flown: NDArray[Any] = done.reshape(*observations.shape[:-1], -1).astype(np.float32)
    return flown


def _fit(
    learner: Ippo, spec: WarmStartSpec, optimiser: torch.optim.Optimizer, data: tuple[NDArray[Any], NDArray[Any]],
    generator: torch.Generator,
) -> float:
    """Go over all that was said so far ``epochs`` times; return the mean loss of the last pass."""
    seen, wanted = torch.tensor(data[0]), torch.tensor(data[1])
    turns = Turns(learner.sizes.names) if spec.turns else None
    error = float("nan")
    for _ in range(spec.epochs):
        rows = seen if turns is None else turns.turned(seen, generator)
        inputs = scaled(learner.observed, rows.numpy())
        order, total = torch.randperm(len(inputs), generator=generator), 0.0
        for part in torch.split(order, spec.minibatch):
            out = learner.actor.body(inputs[part])
            if learner.actor.discrete:
                loss = torch.nn.functional.cross_entropy(out, wanted[part, 0].long())
            else:
                loss = torch.nn.functional.mse_loss(out, wanted[part].float())
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            total += float(loss.detach()) * len(part)
        error = total / len(inputs)
    return error


@contextmanager
def only_critic(learner: Ippo, update: int) -> Iterator[None]:
    """Keep the actor as it is in an update that belongs to the critic after a warm start."""
    spec = learner.spec.warm_start
    kept = spec is not None and update < spec.critic_updates
    parameters = [one for one in learner.actor.parameters() if one.requires_grad] if kept else []
    for one in parameters:
        one.requires_grad = False
    try:
        yield
    finally:
        for one in parameters:
            one.requires_grad = True
            one.grad = None
