"""IPPO: proximal policy optimisation (Schulman et al., 2017) of agents that learn from what they see themselves.

One object is one set of parameters and the agents (slots) that share it. An agent's actor and critic see its own
observation only (de Witt et al., 2020). See :mod:`pe_sim.learning.mappo` for a critic that sees the whole team.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pe_sim.actions import ActionSpec
from pe_sim.errors import PeError
from pe_sim.learning.advantage import gae
from pe_sim.learning.annealing import anneal
from pe_sim.learning.networks import Actor, Critic, plain, tensors
from pe_sim.learning.normaliser import CLIP, RunningNormaliser, scaled
from pe_sim.learning.padding import padded
from pe_sim.learning.sequences import Sequences
from pe_sim.learning.spec import LearnerSpec
from pe_sim.policies.bundle import Weights

__all__ = ["CLIP", "Ippo", "Sizes", "Slot", "clipped_objective", "scaled"]

Slot = tuple[str, int]
"""An agent: role and number."""


@dataclass(frozen=True)
class Sizes:
    """What a learner's networks are made for.

    Attributes:
        names: name of each place of an agent's observation vector.
        team: names of each place of the observation vectors of all learning agents of the team, one after another.
        action: what its agents can do.
    """

    names: tuple[str, ...]
    team: tuple[str, ...]
    action: ActionSpec


def flags(names: tuple[str, ...]) -> NDArray[np.bool_]:
    """Return which places are flags, which are not scaled."""
    return np.asarray([name.endswith(".valid") for name in names], np.bool_)


class Ippo:
    """Actor, critic and optimiser of agents that share parameters.

    Args:
        spec: how it learns.
        slots: the agents.
        sizes: lengths and names of what they see and do.
        generator: of all its random draws.

    Attributes:
        seen_by_critic: whether the critic sees the 'own' observation or that of the 'team'.
    """

    seen_by_critic: ClassVar[str] = "own"

    def __init__(self, spec: LearnerSpec, slots: list[Slot], sizes: Sizes, generator: torch.Generator) -> None:
        self.spec, self.slots, self.sizes = spec, slots, sizes
        self._generator = generator
        seen = sizes.names if self.seen_by_critic == "own" else sizes.team
        self.seen_size = len(seen)
        self.action_size = sizes.action.size
        outputs = sizes.action.choices or sizes.action.size
        self.actor = Actor(
            generator, spec.network, len(sizes.names), outputs, discrete=sizes.action.discrete,
            initial_std=spec.initial_std,
        )
        self.critic = Critic(generator, spec.critic.hidden, len(seen), self.heads)
        parameters = [*self.actor.parameters(), *self.critic.parameters()]
        self.optimiser = torch.optim.Adam(parameters, lr=spec.learning_rate, eps=1e-5)
        self.observed = RunningNormaliser(len(sizes.names), flags(sizes.names))
        self.seen = RunningNormaliser(len(seen), flags(seen))
        self.returns = RunningNormaliser(1)

    @property
    def heads(self) -> int:
        """Number of the critic's outputs: one, since it judges the agent whose observation it sees."""
        return 1

    def act(self, observation: NDArray[Any], seen: NDArray[Any], slots: NDArray[Any]) -> tuple[Any, Any, Any]:
        """Draw actions of R agents.

        Args:
            observation: (R, K).
            seen: what the critic sees, (R, C).
            slots: which agents they are, (R,).

        Returns:
            Actions float32 (R, A), a choice being its index; log-probabilities (R,); values (R,).
        """
        with torch.no_grad():
            action, log_prob = self.actor.sample(scaled(self.observed, observation), self._generator)
        return _as_array(action), log_prob.numpy(), self.judge(seen, slots)

    def act_on(
        self, observation: NDArray[Any], seen: NDArray[Any], slots: NDArray[Any], memory: NDArray[Any]
    ) -> tuple[tuple[Any, Any, Any], NDArray[np.float32]]:
        """Draw actions of R agents that remember (R, M); return what :meth:`act` does, and what they remember now."""
        with torch.no_grad():
            (action, log_prob), after = self.actor.sample_on(
                scaled(self.observed, observation), torch.tensor(memory), self._generator
            )
        return (_as_array(action), log_prob.numpy(), self.judge(seen, slots)), after.numpy()

    def judge(self, seen: NDArray[Any], slots: NDArray[Any]) -> NDArray[np.float64]:
        """Return the values (R,) of what the critic sees, (R, C), for the agents ``slots`` (R,)."""
        with torch.no_grad():
            out = self._values(scaled(self.seen, seen), torch.tensor(slots)).numpy().astype(np.float64)
        return out * float(self.returns.deviation[0]) + float(self.returns.mean[0])

    def _values(self, seen: Tensor, slots: Tensor) -> Tensor:
        """Return scaled values (R,)."""
        out: Tensor = self.critic(seen)
        return out.gather(1, slots[:, None] % self.heads)[:, 0]

    def update(self, rollout: Sequences, progress: float) -> dict[str, float]:
        """Learn from a rollout.

        Args:
            rollout: what the agents did.
            progress: share of the training that is done.

        Returns:
            Key figures: losses, entropy, divergence, clipped share, explained variance.

        Raises:
            PeError: if a loss is not finite.
        """
        spec, closed = self.spec, rollout.closed
        # The value that follows the last place is never read: a full sequence ends with an open decision.
        values = np.concatenate([rollout.value, rollout.value[-1:]])
        advantage = gae(
            rollout.reward, values, rollout.ended, rollout.bootstrap, gamma=spec.gamma, gae_lambda=spec.gae_lambda,
            counted=closed,
        )
        target = (advantage + rollout.value)[closed]
        self.returns.update(target[:, None])
        target = (target - float(self.returns.mean[0])) / float(self.returns.deviation[0])
        weight = advantage[closed]
        weight = (weight - weight.mean()) / (weight.std() + 1e-8)
        observation, seen = rollout.observation[closed], rollout.seen[closed]
        action = torch.tensor(rollout.action[closed])
        slots = np.broadcast_to(np.arange(closed.shape[1])[:, None], closed.shape[1:])
        data = (
            scaled(self.observed, observation), scaled(self.seen, seen),
            action[:, 0].long() if self.actor.discrete else action, torch.tensor(rollout.log_prob[closed]),
            torch.tensor(weight, dtype=torch.float32), torch.tensor(target, dtype=torch.float32),
            torch.tensor(np.broadcast_to(slots, closed.shape)[closed].astype(np.int64)),
        )
        if spec.anneal:
            anneal(self.optimiser, spec.learning_rate, progress)
        figures = self._passes(data) if not self.actor.state_size else self._passes_over_sequences(rollout, data)
        variance = float(np.var(target))
        error = float(np.var(target - (rollout.value[closed] - self.returns.mean[0]) / self.returns.deviation[0]))
        figures["explained_variance"] = 1.0 - error / variance if variance > 0 else 0.0
        if spec.warm_start is None:  # else the scaling stays: what was learned from guidance was learned with it
            self.observed.update(observation)
        self.seen.update(seen)
        return figures

    def _passes(self, data: tuple[Tensor, ...]) -> dict[str, float]:
        """Go over the data ``epochs`` times in ``minibatches`` parts that together hold every decision once."""
        spec, figures = self.spec, {}
        for _ in range(spec.epochs):
            order = torch.randperm(len(data[0]), generator=self._generator)
            for part in torch.chunk(order, spec.minibatches):
                figures = self._learn(tuple(values[part] for values in data))
            if spec.target_kl is not None and figures["divergence"] > spec.target_kl:
                break
        return figures

    def _passes_over_sequences(self, rollout: Sequences, data: tuple[Tensor, ...]) -> dict[str, float]:
        """Go over whole sequences of decisions, from what was remembered before each, in ``minibatches`` parts.

        What is padded at their ends counts for nothing: outputs there are dropped before anything is made of them.
        """
        spec, figures = self.spec, {}
        sequences = padded(rollout, self.observed)
        for _ in range(spec.epochs):
            order = torch.randperm(sequences.count, generator=self._generator)
            for part in torch.chunk(order, spec.minibatches):
                inputs, memory, fresh, counted, places = sequences.of(part)
                out = self.actor.unroll(inputs, memory, fresh)[counted]
                figures = self._learn(tuple(values[places] for values in data), out)
            if spec.target_kl is not None and figures["divergence"] > spec.target_kl:
                break
        return figures

    def _learn(self, part: tuple[Tensor, ...], out: Tensor | None = None) -> dict[str, float]:
        """Take one step of the optimiser; ``out`` are the actor's outputs where it remembers."""
        spec = self.spec
        observation, seen, action, old_log_prob, advantage, target, slots = part
        log_prob, entropy = self.actor.judge(self.actor.body(observation) if out is None else out, action)
        ratio = torch.exp(log_prob - old_log_prob)
        policy_loss = -clipped_objective(ratio, advantage, spec.clip).mean()
        value_loss = 0.5 * (self._values(seen, slots) - target).square().mean()
        bonus = entropy.mean()
        loss = policy_loss + spec.value_weight * value_loss - spec.entropy * bonus
        if not torch.isfinite(loss):
            raise PeError(
                f"loss of {self.slots[0][0]}", "is not finite: the training has diverged", float(loss.detach()),
                "lower learning_rate, or scale and clip the rewards of the engagement",
            )
        self.optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.optimiser.param_groups[0]["params"], spec.max_grad_norm)
        self.optimiser.step()
        with torch.no_grad():
            divergence = ((ratio - 1.0) - (log_prob - old_log_prob)).mean()
            share = ((ratio - 1.0).abs() > spec.clip).float().mean()
        return {
            "policy_loss": float(policy_loss.detach()), "value_loss": float(value_loss.detach()),
            "entropy": float(bonus.detach()), "divergence": float(divergence), "clipped": float(share),
        }

    def weights(self) -> Weights:
        """Return what flies: actor and scaling of observations, as a bundle names them."""
        scaling = {"normalisation.mean": self.observed.mean, "normalisation.deviation": self.observed.deviation}
        return {**self.actor.weights(), **scaling}

    def state(self) -> dict[str, Any]:
        """Return everything needed to go on."""
        return {
            "actor": plain(self.actor.state_dict()), "critic": plain(self.critic.state_dict()),
            "optimiser": plain(self.optimiser.state_dict()), "observed": self.observed.state(),
            "seen": self.seen.state(), "returns": self.returns.state(),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from :meth:`state`."""
        self.actor.load_state_dict(tensors(state["actor"]))
        self.critic.load_state_dict(tensors(state["critic"]))
        self.optimiser.load_state_dict(tensors(state["optimiser"]))
        for name in ("observed", "seen", "returns"):
            getattr(self, name).restore(state[name])


def _as_array(action: Tensor) -> NDArray[np.float32]:
    """Return actions as float32 (R, A)."""
    drawn: NDArray[np.float32] = action.numpy().astype(np.float32).reshape(len(action), -1)
    return drawn


def clipped_objective(ratio: Tensor, advantage: Tensor, clip: float) -> Tensor:
    """Return min(ratio * advantage, clipped ratio * advantage), to be made large (Schulman et al., 2017, eq. 7)."""
    return torch.minimum(ratio * advantage, torch.clamp(ratio, 1.0 - clip, 1.0 + clip) * advantage)
