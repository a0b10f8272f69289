"""What the learners of all algorithms share: steps of optimisers that refuse a loss that is not finite."""

from __future__ import annotations

from abc import ABC, abstractmethod
from argparse import Namespace
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pe_sim.errors import PeError
from pe_sim.learning.agents.action_scale import ActionScale
from pe_sim.learning.agents.settings import setting
from pe_sim.learning.agents.targets import follow
from pe_sim.learning.networks import plain


class Learner(ABC):
    """Changes networks by samples.

    Args:
        policy: the networks, those that follow slowly ('target_...') among them.
        config: settings; grad_clip_norm, where set, bounds the length of gradients unless use_grad_clip is False.
        scale: of actions.
        generator: of all its random draws.

    Attributes:
        optimisers: by name.
        iterations: updates so far.
    """

    def __init__(
        self, policy: nn.ModuleDict, config: Namespace, scale: ActionScale, generator: torch.Generator
    ) -> None:
        self.policy, self.config, self.scale, self.generator = policy, config, scale, generator
        self.optimisers: dict[str, torch.optim.Optimizer] = {}
        self.iterations = 0

    @abstractmethod
    def update(self, *arguments: Any, **samples: Any) -> dict[str, float]:
        """Learn from one batch, whose parts an algorithm names, and return its metrics."""

    def adam(self, name: str, parameters: Iterable[Any], rate: str, eps: float = 1e-8) -> None:
        """Add an optimiser (Kingma and Ba, 2015) whose learning rate is the setting ``rate``."""
        # fused: one call for all parameters, four times as fast for small networks
        rate_now = float(setting(self.config, rate))
        self.optimisers[name] = torch.optim.Adam(list(parameters), lr=rate_now, eps=eps, fused=True)

    def step(self, name: str, loss: Tensor) -> float:
        """Take one step of an optimiser and return the loss.

        Raises:
            PeError: if the loss is not finite.
        """
        return step_of(self.optimisers[name], name, loss, self.config)

    def target(self, rewards: Any, terminals: Any, following: Tensor) -> Tensor:
        """Return r + gamma * what follows, (R,); nothing follows a terminal state."""
        discount = float(setting(self.config, "gamma"))
        return numbers(rewards) + discount * (1.0 - numbers(terminals)) * following

    def follow(self, tau: float, *names: str) -> None:
        """Move target networks, see :func:`~pe_sim.learning.agents.targets.follow`."""
        follow(self.policy, tau, *names)

    def state(self) -> dict[str, Any]:
        """Return everything needed to go on that is not in the networks."""
        optimisers = {name: plain(optimiser.state_dict()) for name, optimiser in self.optimisers.items()}
        return {"optimisers": optimisers, "iterations": self.iterations}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from :meth:`state`, arrays made tensors."""
        for name, optimiser in self.optimisers.items():
            optimiser.load_state_dict(state["optimisers"][name])
        self.iterations = int(state["iterations"])


def numbers(values: Any) -> Tensor:
    """Return an array as a float32 tensor."""
    return torch.as_tensor(np.ascontiguousarray(values, np.float32))


def rows(values: Any) -> Tensor:
    """Return an array (R, ...) as a float32 tensor (R, K)."""
    return numbers(np.asarray(values).reshape(len(values), -1))


def step_of(optimiser: torch.optim.Optimizer, name: str, loss: Tensor, config: Namespace) -> float:
    """Take one step of an optimiser, its gradient bounded as the settings say, and return the loss.

    Raises:
        PeError: if the loss is not finite; no weight has changed then.
    """
    value = float(loss.detach())
    if not np.isfinite(value):
        raise PeError(f"loss of {name}", "is not finite: the training has diverged", value, "lower learning_rate")
    optimiser.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    bound = getattr(config, "grad_clip_norm", None)
    if bound and getattr(config, "use_grad_clip", True):
        nn.utils.clip_grad_norm_(optimiser.param_groups[0]["params"], float(bound))
    optimiser.step()
    return value
