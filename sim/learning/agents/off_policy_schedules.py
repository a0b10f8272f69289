"""When an off-policy core learns, and how much it explores: what follows from the environment steps that are done."""

from __future__ import annotations

from argparse import Namespace

from pe_sim.errors import PeError
from pe_sim.learning.agents.settings import setting


class OffPolicySchedules:
    """Schedules of off-policy cores, for one learner or many.

    Settings: start_training (environment steps before the first update, default 1), training_frequency (environment
    steps between updates, default 1), start_greedy, end_greedy and decay_step_greedy (share of choices at random),
    start_noise, end_noise and running_steps (noise on values).
    """

    config: Namespace
    n_envs: int
    current_step: int

    def _read_schedules(self) -> None:
        """Take the settings of when to learn.

        Raises:
            PeError: if they cannot be.
        """
        self.start_training = int(getattr(self.config, "start_training", 1))
        self.training_frequency = int(getattr(self.config, "training_frequency", 1))
        if self.training_frequency < 1:
            raise PeError("config.training_frequency", "must be at least 1 step", self.training_frequency)

    def _updates_due(self) -> int:
        """Return how many multiples of the training frequency, counted after start_training, the latest steps hold."""
        after, before = (max(0, n - self.start_training) for n in (self.current_step + self.n_envs, self.current_step))
        return after // self.training_frequency - before // self.training_frequency

    def _scheduled(self, what: str, duration: str) -> float | None:
        """Return start + share * (end - start), the share of the steps that are done being at most 1."""
        start, end = getattr(self.config, f"start_{what}", None), getattr(self.config, f"end_{what}", None)
        if start is None:
            return None
        if end is None or start == end:
            return float(start)
        share = min(1.0, self.current_step / max(1.0, float(setting(self.config, duration))))
        return float(end) if share == 1.0 else float(start) + share * (float(end) - float(start))
