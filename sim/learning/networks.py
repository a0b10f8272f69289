"""Networks in training: the actor, which becomes what flies, and the critic, which does not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from pe_sim.learning.layers import Perceptron, layer
from pe_sim.learning.recurrent import RecurrentPerceptron
from pe_sim.policies.bundle import Weights
from pe_sim.policies.networks import NetworkSpec

__all__ = ["Actor", "Critic", "Perceptron", "layer", "plain", "tensors"]


class Actor(nn.Module):
    """The policy in training: scaled observations to a distribution over actions.

    Args:
        generator: draws the weights.
        spec: its network.
        inputs: length of the observation vector.
        outputs: number of choices, or of the values of a continuous action.
        discrete: which of the two.
        initial_std: standard deviation of a continuous action in the beginning.
    """

    def __init__(
        self, generator: torch.Generator, spec: NetworkSpec, inputs: int, outputs: int, *, discrete: bool,
        initial_std: float,
    ) -> None:
        super().__init__()
        self.discrete = discrete
        self.state_size = spec.state_size
        self.body: Perceptron | RecurrentPerceptron
        if spec.recurrent == "none":
            self.body = Perceptron(generator, (inputs, *spec.hidden, outputs), gain=0.01)
        else:
            self.body = RecurrentPerceptron(generator, spec, inputs, outputs, gain=0.01)
        self.log_std = None if discrete else nn.Parameter(torch.full((outputs,), math.log(initial_std)))

    def sample(self, inputs: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Draw actions (R,) or (R, A), and return them with their log-probabilities (R,)."""
        return self._draw(self.body(inputs), generator)

    def sample_on(
        self, inputs: Tensor, memory: Tensor, generator: torch.Generator
    ) -> tuple[tuple[Tensor, Tensor], Tensor]:
        """Draw actions of agents that remember (R, state); return them as :meth:`sample`, and the new memory."""
        out, memory = self.body(inputs, memory)
        return self._draw(out, generator), memory

    def unroll(self, inputs: Tensor, memory: Tensor, fresh: Tensor) -> Tensor:
        """Return the outputs of sequences of decisions, see :meth:`RecurrentPerceptron.unroll`."""
        assert isinstance(self.body, RecurrentPerceptron)
        return self.body.unroll(inputs, memory, fresh)

    def _draw(self, out: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        if self.log_std is None:
            probabilities = torch.softmax(out, dim=-1)
            action = torch.multinomial(probabilities, 1, generator=generator)[:, 0]
        else:
            noise = torch.randn(out.shape, generator=generator)
            action = out + torch.exp(self.log_std) * noise
        return action, self._log_prob(out, action)

    def evaluate(self, inputs: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
        """Return log-probabilities (R,) and entropies (R,) of given actions."""
        return self.judge(self.body(inputs), action)

    def judge(self, out: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
        """Return log-probabilities (R,) and entropies (R,) of actions from the network's outputs (R, outputs)."""
        return self._log_prob(out, action), self._entropy(out)

    def _log_prob(self, out: Tensor, action: Tensor) -> Tensor:
        if self.log_std is None:
            return torch.log_softmax(out, dim=-1).gather(-1, action[:, None])[:, 0]
        z = (action - out) * torch.exp(-self.log_std)
        return (-0.5 * z * z - self.log_std - 0.5 * math.log(2.0 * math.pi)).sum(-1)

    def _entropy(self, out: Tensor) -> Tensor:
        if self.log_std is None:
            logs = torch.log_softmax(out, dim=-1)
            return -(logs.exp() * logs).sum(-1)
        return (self.log_std + 0.5 * math.log(2.0 * math.pi * math.e)).sum().expand(out.shape[0])

    def weights(self) -> Weights:
        """Return the weights as a bundle names them."""
        out = {name.removeprefix("body."): values for name, values in self.state_dict().items()}
        return {name: values.detach().numpy().astype(np.float32).copy() for name, values in out.items()}


class Critic(nn.Module):
    """The judge of states: vector to one value for each agent that it judges.

    Args:
        generator: draws the weights.
        hidden: width of each hidden layer.
        inputs: length of what it sees.
        outputs: number of agents it judges.
    """

    def __init__(self, generator: torch.Generator, hidden: tuple[int, ...], inputs: int, outputs: int) -> None:
        super().__init__()
        self.inputs = inputs
        self.body = Perceptron(generator, (inputs, *hidden, outputs), gain=1.0)

    def forward(self, x: Tensor) -> Tensor:
        """Return values (R, outputs) for what is seen, (R, inputs)."""
        out: Tensor = self.body(x)
        return out


def plain(value: Any) -> Any:
    """Return a nested state with tensors as arrays, to be stored."""
    if isinstance(value, Tensor):
        return value.detach().numpy().copy()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def tensors(value: Any) -> Any:
    """Return a nested state with arrays as tensors: the inverse of :func:`plain`."""
    if isinstance(value, np.ndarray):
        return torch.tensor(value)
    if isinstance(value, dict):
        return {key: tensors(item) for key, item in value.items()}
    if isinstance(value, list):
        return [tensors(item) for item in value]
    return value
