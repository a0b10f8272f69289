"""What every training is: advances update by update until its steps are done, saved on the way."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pe_sim.engagement import Engagement, override, parse, policy_changes
from pe_sim.learning.spec import TrainingSpec
from pe_sim.policies.bundle import Bundle

Done = Callable[[int, int], None]
"""Is told how much is done of how much."""


@dataclass(frozen=True)
class Progress:
    """Where a training stands after an update.

    Attributes:
        update: updates so far.
        steps: world ticks so far, over all engagements.
        seconds: wall time of this run [s].
        steps_per_second: of the last rollout and update.
        figures: key figures.
    """

    update: int
    steps: int
    seconds: float
    steps_per_second: float
    figures: dict[str, float]

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "update": self.update, "steps": self.steps, "seconds": self.seconds,
            "steps_per_second": self.steps_per_second, **self.figures,
        }


class Training(ABC):
    """One training.

    Args:
        spec: the training file.
        engagement: the engagement to train on.
        directory: where checkpoints and bundles go.

    Attributes:
        update: updates so far.
        history: key figures of every update, as plain data.
    """

    def __init__(self, spec: TrainingSpec, engagement: Engagement, directory: Path) -> None:
        self.spec, self.engagement, self.directory = spec, engagement, directory
        self.update = 0
        self.history: list[dict[str, Any]] = []

    @property
    @abstractmethod
    def steps(self) -> int:
        """World ticks so far, over all engagements."""

    @abstractmethod
    def advance(self) -> dict[str, float]:
        """Run one rollout and learn from it; return the key figures."""

    @abstractmethod
    def save(self) -> Path:
        """Write the checkpoint.

        Raises:
            PeError: if it cannot be written.
        """

    @abstractmethod
    def resume(self, path: Path, done: Done | None = None) -> None:
        """Go on from a checkpoint of the same training file.

        Args:
            path: the checkpoint.
            done: told how much of the environment has come back, where a world has to be flown there again.

        Raises:
            PeError: if it is damaged, no checkpoint, or of another training.
        """

    @abstractmethod
    def write_bundles(
        self, evaluation: dict[str, Any] | None = None, directory: Path | None = None
    ) -> dict[str, Bundle]:
        """Write a bundle for every learning role into ``<directory>/<role>`` (the training's) and return them."""

    @abstractmethod
    def close(self) -> None:
        """End what runs in processes of their own; nothing can be trained any more."""

    @property
    def done(self) -> bool:
        """Whether the training has come to its end."""
        return self.steps >= self.spec.steps

    def run(self, report: Callable[[Progress], bool] | None = None) -> None:
        """Train to the end, or until ``report`` returns False; checkpoints are written on the way and at the end.

        Raises:
            PeError: if a loss is not finite, or a checkpoint cannot be written.
        """
        begin = time.perf_counter()
        while not self.done:
            before, at = self.steps, time.perf_counter()
            figures = self.advance()
            now = time.perf_counter()
            progress = Progress(
                self.update, self.steps, now - begin, (self.steps - before) / max(now - at, 1e-9), figures
            )
            self.history.append(progress.as_dict())
            if self.update % self.spec.checkpoint_every == 0:
                self.save()
            if report is not None and not report(progress):
                break
        self.save()

    def flown_by(self, paths: dict[str, Path]) -> Engagement:
        """Return the engagement with the bundles of some roles in place of the file's policies."""
        return parse(override(self.engagement.resolved(), policy_changes(paths)))
