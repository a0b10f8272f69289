"""The training: rollouts and updates until the steps are done; stops at any update and goes on to the same bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from pe_sim.engagement import Engagement
from pe_sim.envs.vector_pursuit import VectorPursuit
from pe_sim.errors import EngagementError, PeError
from pe_sim.evaluation.evaluate import CAPTURES
from pe_sim.learning.checkpoint import MISFITS, read_checkpoint, write_checkpoint
from pe_sim.learning.collector import Collector, EpisodeFigures, past_actions, team_of
from pe_sim.learning.env_state import environment_state, restore_environment
from pe_sim.learning.game_spec import GameTrainingSpec
from pe_sim.learning.ippo import Ippo, Sizes, Slot
from pe_sim.learning.mappo import Mappo
from pe_sim.learning.spec import LearnerSpec, TrainingSpec
from pe_sim.learning.training import Done, Progress, Training
from pe_sim.learning.warm_start import only_critic, warm_start
from pe_sim.policies.bundle import Bundle, Weights, write
from pe_sim.policies.describe import describe

__all__ = ["ALGORITHMS", "CHECKPOINT", "Progress", "Trainer", "require_same"]

ALGORITHMS: dict[str, type[Ippo]] = {"ippo": Ippo, "mappo": Mappo}

CHECKPOINT = "checkpoint.bin"


class Trainer(Training):
    """One training in one environment, of all roles that learn.

    Args:
        spec: the training file.
        engagement: the engagement to train on.
        directory: where checkpoints and bundles go.

    Attributes:
        learners: one for each set of parameters.
    """

    def __init__(self, spec: TrainingSpec, engagement: Engagement, directory: Path) -> None:
        torch.set_num_threads(1)
        super().__init__(spec, engagement, directory)
        self._generator = torch.Generator().manual_seed(spec.seed)
        self.env = VectorPursuit(engagement, spec.batch, seed=spec.seed, roles=tuple(spec.roles))
        self.learners = [self._learner(how, slots) for how, slots in self._sets()]
        self._collector = Collector(self.env, self.learners, spec.decisions)

    @property
    def steps(self) -> int:
        """World ticks so far, over all engagements."""
        return self._collector.steps

    @property
    def collector(self) -> Collector:
        """What runs the environment."""
        return self._collector

    def _sets(self) -> list[tuple[LearnerSpec, list[Slot]]]:
        """Return the sets of parameters: how each learns, and the agents that share it."""
        sets: list[tuple[LearnerSpec, list[Slot]]] = []
        everybody: list[Slot] = []
        for role, how in self.spec.roles.items():
            slots = [(role, number) for number in range(self.engagement.roles[role].count)]
            if how.sharing == "none":
                sets += [(how, [slot]) for slot in slots]
            elif how.sharing == "role":
                sets.append((how, slots))
            else:
                everybody += slots
        if everybody:
            self._require_alike([role for role, how in self.spec.roles.items() if how.sharing == "all"])
            sets.append((self.spec.roles[everybody[0][0]], everybody))
        return sets

    def _require_alike(self, roles: list[str]) -> None:
        """Refuse roles that cannot share one set of parameters."""
        first = roles[0]
        for role in roles[1:]:
            if self.spec.roles[role] != self.spec.roles[first]:
                raise EngagementError(f"roles.{role}", f"shares its parameters with {first}, but learns otherwise")
            for what, (one, other) in {
                "what it sees": (self.env.layout(first).units, self.env.layout(role).units),
                "what it does": (self.env.action_spaces[first], self.env.action_spaces[role]),
                "the team": (self.engagement.roles[first].team, self.engagement.roles[role].team),
            }.items():
                if one != other:
                    raise EngagementError(f"roles.{role}.sharing", f"cannot be all: {what} differs from {first}'s")

    def _learner(self, how: LearnerSpec, slots: list[Slot]) -> Ippo:
        role = slots[0][0]
        team: list[str] = []
        for name, number in team_of(self.env, role):
            names = self.env.layout(name).names
            kept = ~past_actions(names)
            team += [f"{name}_{number}.{place}" for place, keep in zip(names, kept, strict=True) if keep]
        action = self.env._lanes[0].simulation.roles[role].action  # noqa: SLF001 - the same action for every lane
        sizes = Sizes(self.env.layout(role).names, tuple(team), action)
        return ALGORITHMS[how.algorithm](how, slots, sizes, self._generator)

    def advance(self) -> dict[str, float]:
        """Run one rollout and learn from it; return the key figures."""
        imitation = self._warm_start() if self.update == 0 else {}
        episodes = self._collector.collect()
        share = self.steps / self.spec.steps
        figures = {**_figures(episodes), **imitation}
        for learner, rollout in zip(self.learners, self._collector.rollouts, strict=True):
            name = learner.slots[0][0]
            if learner.spec.sharing == "none":
                name = f"{name}_{learner.slots[0][1]}"
            with only_critic(learner, self.update):
                learned = learner.update(rollout, share)
            figures.update({f"{name}/{key}": value for key, value in learned.items()})
        self.update += 1
        return figures

    def _warm_start(self) -> dict[str, float]:
        """Let the learners that are to follow guidance first do so; return the key figures."""
        figures, batch, seed = {}, self.spec.batch, self.spec.seed
        for learner in self.learners:
            if learner.spec.warm_start is not None:
                error = warm_start(learner, self.engagement, batch, seed, self._generator)
                figures[f"{learner.slots[0][0]}/imitation_loss"] = error
        return figures

    def state(self) -> dict[str, Any]:
        """Return everything needed to go on."""
        return {
            "training": self.spec.model_dump(mode="json"), "engagement": self.engagement.sha256,
            "update": self.update, "steps": self.steps, "generator": self._generator.get_state().numpy().copy(),
            "learners": [learner.state() for learner in self.learners],
            "rollouts": [rollout.state() for rollout in self._collector.rollouts],
            "environment": environment_state(self.env), "history": self.history,
        }

    def save(self) -> Path:
        """Write the checkpoint.

        Raises:
            PeError: if it cannot be written.
        """
        path = self.directory / CHECKPOINT
        write_checkpoint(path, self.state())
        return path

    def resume(self, path: Path, done: Done | None = None) -> None:
        """Go on from a checkpoint of the same training file.

        Raises:
            PeError: if it is damaged, no checkpoint, or of another training.
        """
        self.restore(read_checkpoint(path), path, done)

    def restore(self, state: dict[str, Any], path: Path, done: Done | None = None) -> None:
        """Go on from :meth:`state`, which was read from ``path``; ``done`` is told how much of it has come back.

        Raises:
            PeError: if it is of another training.
        """
        try:
            require_same(path, self.spec, self.engagement, state)
            self._generator.set_state(torch.tensor(state["generator"]))
            for learner, kept in zip(self.learners, state["learners"], strict=True):
                learner.restore(kept)
            for rollout, kept in zip(self._collector.rollouts, state["rollouts"], strict=True):
                rollout.restore(kept)
            restore_environment(self.env, state["environment"], done)
            self._collector.refresh()
            self._collector.steps, self.update = int(state["steps"]), int(state["update"])
            self.history = list(state["history"])
        except MISFITS as fault:
            raise PeError(str(path), f"is no checkpoint of this training: {fault}") from fault

    def close(self) -> None:
        """End what the environment runs in processes of their own."""
        self.env.close()

    def write_bundles(
        self, evaluation: dict[str, Any] | None = None, directory: Path | None = None
    ) -> dict[str, Bundle]:
        """Write a bundle for every learning role into ``<directory>/<role>`` (the training's) and return them."""
        bundles = {}
        for role, how in self.spec.roles.items():
            members = self.engagement.roles[role].count if how.sharing == "none" else 1
            weights: Weights = {}
            for member in range(members):
                learner = next(one for one in self.learners if (role, member) in one.slots)
                weights.update({f"{member}.{name}": values for name, values in learner.weights().items()})
            provenance = {
                "training": self.spec.training, "algorithm": how.algorithm, "steps": self.steps,
                "updates": self.update, "seed": self.spec.seed, "engagement": self.engagement.engagement,
                "engagement_sha256": self.engagement.sha256, "torch": str(torch.__version__),
                "command": f"pe-ros train {self.spec.training}.yaml",
            }
            description = describe(
                self.engagement, role, how.network, members=members, provenance=provenance, evaluation=evaluation,
            )
            bundles[role] = write((directory or self.directory) / role, description, weights)
        return bundles


FREE = ("steps", "checkpoint_every", "evaluate_episodes", "description")
"""What may be changed when a training goes on."""


def require_same(
    path: Path, spec: TrainingSpec | GameTrainingSpec, engagement: Engagement, state: dict[str, Any],
    free: tuple[str, ...] = FREE,
) -> None:
    """Refuse the checkpoint of another training.

    Raises:
        PeError: with the key that differs.
    """
    mine, theirs = spec.model_dump(mode="json"), dict(state["training"])
    for key, value in mine.items():
        if key in free:
            continue
        if theirs.get(key) != value:
            rule = f"is a checkpoint of another training, where it is {theirs.get(key)!r}"
            raise PeError(f"{path}: {key}", rule, value)
    if state["engagement"] != engagement.sha256:
        raise PeError(str(path), "is a checkpoint of a training on another engagement")


def _figures(episodes: EpisodeFigures) -> dict[str, float]:
    """Return the key figures of the episodes that ended in a rollout."""
    total = sum(episodes.outcomes.values())
    figures: dict[str, float] = {"episodes": float(total)}
    if total:
        figures["capture"] = sum(episodes.outcomes.get(name, 0) for name in CAPTURES) / total
        figures["duration"] = float(np.mean(episodes.durations))
    for role, value in episodes.returns.items():
        figures[f"{role}/reward"] = value / max(1, total)
    return figures
