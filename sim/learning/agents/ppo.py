"""PPO for one agent: proximal policy optimisation with a clipped objective (Schulman et al., 2017)."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pe_sim.errors import PeError
from pe_sim.learning.agents.on_policy import OnPolicyAgent
from pe_sim.learning.ippo import clipped_objective
from pe_sim.learning.networks import Actor, Critic, plain
from pe_sim.policies.networks import NetworkSpec


class PPOLearner:
    """Takes steps of the optimiser.

    Args:
        policy: module of 'actor' and 'critic'.
        config: learning_rate, clip_range, ent_coef, vf_coef, grad_clip_norm.
    """

    def __init__(self, policy: nn.ModuleDict, config: Any) -> None:
        self.policy, self.config = policy, config
        self.actor: Any = policy["actor"]
        self.critic: Any = policy["critic"]
        self.optimiser = torch.optim.Adam(policy.parameters(), lr=float(config.learning_rate), eps=1e-5)

    def update(
        self, obs: NDArray[Any], actions: NDArray[Any], returns: NDArray[Any], values: NDArray[Any],
        advantages: NDArray[Any], aux_batch: dict[str, NDArray[Any]],
    ) -> dict[str, float]:
        """Learn from a minibatch; ``aux_batch`` holds 'old_logp' and 'drawn', the action before it was scaled."""
        config, actor, critic = self.config, self.actor, self.critic
        seen, drawn = torch.tensor(obs.reshape(len(obs), -1)), torch.tensor(aux_batch["drawn"])
        log_prob, entropy = actor.evaluate(seen, drawn.long() if actor.discrete else drawn)
        ratio = torch.exp(log_prob - torch.tensor(aux_batch["old_logp"]))
        advantage = torch.tensor(advantages, dtype=torch.float32)
        policy_loss = -clipped_objective(ratio, advantage, float(config.clip_range)).mean()
        value_loss = (critic(seen)[:, 0] - torch.tensor(returns, dtype=torch.float32)).square().mean()
        loss: Tensor = policy_loss + float(config.vf_coef) * value_loss - float(config.ent_coef) * entropy.mean()
        if not torch.isfinite(loss):
            raise PeError("loss", "is not finite: the training has diverged", float(loss.detach()))
        self.optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.policy.parameters(), float(config.grad_clip_norm))
        self.optimiser.step()
        return {
            "actor_loss": float(policy_loss.detach()), "critic_loss": float(value_loss.detach()),
            "entropy": float(entropy.mean().detach()), "ratio": float(ratio.mean().detach()),
        }

    def state(self) -> dict[str, Any]:
        """Return the optimiser's state."""
        return {"optimiser": plain(self.optimiser.state_dict())}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from :meth:`state`."""
        self.optimiser.load_state_dict(state["optimiser"])


class PPOAgent(OnPolicyAgent):
    """Proximal policy optimisation; further settings: hidden (widths), initial_std, and the learner's."""

    def _build_policy(self) -> nn.ModuleDict:
        config, space = self.config, self.action_space
        inputs = int(np.prod(self.observation_space.shape or (1,)))
        outputs = int(space.n) if isinstance(space, gym.spaces.Discrete) else int(np.prod(space.shape or (1,)))
        hidden = tuple(getattr(config, "hidden", (64, 64)))
        actor = Actor(
            self.generator, NetworkSpec(hidden=hidden), inputs, outputs, discrete=self.discrete,
            initial_std=float(getattr(config, "initial_std", 0.6)),
        )
        policy = nn.ModuleDict({"actor": actor, "critic": Critic(self.generator, hidden, inputs, 1)})
        self.learner = PPOLearner(policy, config)
        return policy

    def _evaluate(self, observations: NDArray[Any], deterministic: bool) -> dict[str, Any]:
        seen = torch.tensor(np.asarray(observations, np.float32).reshape(len(observations), -1))
        actor: Any = self.policy["actor"]
        with torch.no_grad():
            out = actor.body(seen)
            if deterministic:
                drawn = out.argmax(-1) if self.discrete else out
                log_pi, _ = actor.evaluate(seen, drawn)
            else:
                drawn, log_pi = actor.sample(seen, self.generator)
            values = self.policy["critic"](seen)[:, 0].numpy()
        self._drawn = drawn.numpy().astype(np.float32)
        return {
            "actions": self._scaled(drawn.numpy()), "values": values, "dists": self._distributions(out),
            "log_pi": log_pi.numpy() - self._stretch(),
        }

    def get_aux_info(self, policy_output: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the log-probabilities that the actions were drawn with, and the actions before they were scaled."""
        assert policy_output is not None
        return {"old_logp": policy_output["log_pi"] + self._stretch(), "drawn": self._drawn}

    def _half(self) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """Return middle and half width of a bounded continuous action; None for others."""
        space = self.action_space
        if not isinstance(space, gym.spaces.Box) or not space.is_bounded():
            return None
        return (space.high + space.low) / 2.0, (space.high - space.low) / 2.0

    def _scaled(self, drawn: NDArray[Any]) -> NDArray[Any]:
        half = self._half()
        if self.discrete or half is None:
            return drawn
        scaled: NDArray[np.float32] = (half[0] + drawn.reshape(-1, *half[0].shape) * half[1]).astype(np.float32)
        return scaled

    def _stretch(self) -> float:
        """Return the logarithm of how much scaling stretches the space of actions."""
        half = self._half()
        return 0.0 if half is None else float(np.log(half[1]).sum())

    def _distributions(self, out: Tensor) -> list[Any]:
        """Return the distribution of each row: over choices, or over actions in their units."""
        if self.discrete:
            return [torch.distributions.Categorical(logits=row) for row in out]
        actor: Any = self.policy["actor"]
        half = self._half()
        middle, width = (0.0, 1.0) if half is None else (torch.tensor(x.reshape(-1)) for x in half)
        spread = torch.exp(actor.log_std.detach())
        return [torch.distributions.Normal(middle + row * width, spread * width) for row in out]
