"""Learning rates that fall linearly."""

from __future__ import annotations

import torch


def anneal(optimiser: torch.optim.Optimizer, rate: float, done: float, least: float = 0.0) -> None:
    """Set the learning rate to ``rate`` less the share of the training that is ``done``, at least ``least`` of it."""
    optimiser.param_groups[0]["lr"] = rate * max(least, 1.0 - done)
