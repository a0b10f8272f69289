"""Target networks: they follow the networks that learn, slowly or by being copied now and then."""

from __future__ import annotations

import torch
from torch import nn


def follow(policy: nn.ModuleDict, tau: float, *names: str) -> None:
    """Move 'target_<name>' towards '<name>' by the share ``tau`` (Lillicrap et al., 2016); 1 copies."""
    with torch.no_grad():
        for name in names:
            pairs = zip(policy[f"target_{name}"].parameters(), policy[name].parameters(), strict=True)
            for target, source in pairs:
                target.lerp_(source, tau)
