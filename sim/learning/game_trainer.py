"""The training of a grid game against the best response; stops at any round and goes on to the same bits."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pe_sim.engagement import Engagement, override, parse, policy_changes
from pe_sim.errors import PeError
from pe_sim.evaluation.exact_game import best_response, solve_exactly, start_states
from pe_sim.evaluation.grid_policy import exact_figures, game_of, observations
from pe_sim.learning.checkpoint import MISFITS, read_checkpoint, write_checkpoint
from pe_sim.learning.exploitability import ExploitabilityDescent
from pe_sim.learning.game_spec import GameTrainingSpec
from pe_sim.learning.networks import plain, tensors
from pe_sim.learning.normaliser import RunningNormaliser
from pe_sim.learning.trainer import CHECKPOINT, require_same
from pe_sim.learning.training import Done, Progress
from pe_sim.policies.bundle import Bundle, Normalisation, Weights, write
from pe_sim.policies.describe import describe

FREE = ("checkpoint_every", "evaluate_episodes", "description")
"""What may be changed when a training goes on."""


class GameTrainer:
    """One training of a grid game.

    Args:
        spec: the training file.
        engagement: the engagement.
        directory: where checkpoint and bundle go.

    Attributes:
        steps: rounds so far.
        history: key figures, as plain data.
    """

    def __init__(self, spec: GameTrainingSpec, engagement: Engagement, directory: Path) -> None:
        torch.set_num_threads(1)
        self.spec, self.engagement, self.directory = spec, engagement, directory
        self._generator = torch.Generator().manual_seed(spec.seed)
        self._game = game_of(engagement)
        self._starts = start_states(self._game, engagement.world.min_start_distance)
        solution = solve_exactly(self._game)
        if solution.endless:
            rule = "is not sure in this game: the best evader is never caught, and there is nothing to learn against it"
            raise PeError("capture", rule)
        self._exact_value = float(solution.value[self._starts].mean())
        seen = observations(engagement, self._game, spec.game.role)
        self._observed = RunningNormaliser(seen.shape[1])
        self._observed.update(seen)
        clip = Normalisation().clip
        scaled = np.clip((seen - self._observed.mean) / self._observed.deviation, -clip, clip).astype(np.float32)
        self._learner = ExploitabilityDescent(spec.game, self._game, self._starts, scaled, self._generator)
        self.steps = 0
        self.history: list[dict[str, Any]] = []

    @property
    def done(self) -> bool:
        """Whether the training has come to its end."""
        return self.steps >= self.spec.steps

    def run(self, report: Callable[[Progress], bool] | None = None) -> None:
        """Train to the end, or until ``report`` returns False; checkpoints are written on the way and at the end.

        Raises:
            PeError: if a checkpoint cannot be written.
        """
        begin = time.perf_counter()
        while not self.done:
            at = time.perf_counter()
            figures = {"loss": self._learner.round(self.steps, self.spec.steps)}
            self.steps += 1
            if self.steps % self.spec.checkpoint_every == 0 or self.done:
                against = best_response(self._game, self._learner.table(), most_rounds=1000)
                figures["against_best_response"] = float(against[self._starts].mean())
                self.save()
            now = time.perf_counter()
            progress = Progress(self.steps, self.steps, now - begin, 1.0 / max(now - at, 1e-9), figures)
            if len(figures) > 1:
                self.history.append(progress.as_dict())
            if report is not None and not report(progress):
                break
        self.save()

    def save(self) -> Path:
        """Write the checkpoint.

        Raises:
            PeError: if it cannot be written.
        """
        learner = self._learner
        path = self.directory / CHECKPOINT
        write_checkpoint(path, {
            "training": self.spec.model_dump(mode="json"), "engagement": self.engagement.sha256, "steps": self.steps,
            "generator": self._generator.get_state().numpy().copy(), "body": plain(learner.body.state_dict()),
            "optimiser": plain(learner.optimiser.state_dict()), "value": learner.value.numpy().copy(),
            "weight": learner.weight.numpy().copy(), "history": self.history,
        })
        return path

    def close(self) -> None:
        """Nothing here runs in processes of its own."""

    def resume(self, path: Path, done: Done | None = None) -> None:
        """Go on from a checkpoint of the same training file; nothing takes its time here, so ``done`` hears nothing.

        Raises:
            PeError: if it is damaged, no checkpoint, or of another training.
        """
        del done
        state = read_checkpoint(path)
        try:
            require_same(path, self.spec, self.engagement, state, FREE)
            self._generator.set_state(torch.tensor(state["generator"]))
            self._learner.body.load_state_dict(tensors(state["body"]))
            self._learner.optimiser.load_state_dict(tensors(state["optimiser"]))
            self._learner.value = torch.tensor(state["value"]).reshape(self._learner.value.shape)
            self._learner.weight = torch.tensor(state["weight"]).reshape(self._learner.weight.shape)
            self.steps, self.history = int(state["steps"]), list(state["history"])
        except MISFITS as fault:
            raise PeError(str(path), f"is no checkpoint of this training: {fault}") from fault

    def flown_by(self, paths: dict[str, Path]) -> Engagement:
        """Return the engagement with the bundles of some roles in place of the file's policies."""
        return parse(override(self.engagement.resolved(), policy_changes(paths)))

    def write_bundles(self, evaluation: dict[str, Any] | None = None) -> dict[str, Bundle]:
        """Write the bundle into ``<directory>/<role>`` and return it; with an evaluation, the exact figures too."""
        role = self.spec.game.role
        scaling = {"normalisation.mean": self._observed.mean, "normalisation.deviation": self._observed.deviation}
        state = self._learner.body.state_dict()
        parts = {name: values.numpy().astype(np.float32).copy() for name, values in state.items()}
        weights: Weights = {f"0.{name}": values for name, values in {**parts, **scaling}.items()}
        provenance = {
            "training": self.spec.training, "algorithm": "exploitability_descent", "steps": self.steps,
            "seed": self.spec.seed, "engagement": self.engagement.engagement,
            "engagement_sha256": self.engagement.sha256, "torch": str(torch.__version__),
            "command": f"pe-ros train {self.spec.training}.yaml",
        }
        exact = {}
        if evaluation is not None:
            flown = self.flown_by({role: self.directory / role})
            found = {name: value for name, value in exact_figures(flown).items() if name[:4] != "evad"}
            told = {name: value if math.isfinite(value) else None for name, value in found.items()}
            exact = {"exact": {**told, "value_of_solver": self._exact_value}}
        description = describe(
            self.engagement, role, self.spec.game.network, deterministic=False, provenance=provenance,
            evaluation={**(evaluation or {}), **exact},
        )
        return {role: write(self.directory / role, description, weights)}
