"""What all multi-agent cores share: agents, spaces, groups, networks and steps of optimisers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from argparse import Namespace
from pathlib import Path
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn

from pe_sim.learning.agents.callbacks import BaseCallback
from pe_sim.learning.agents.learner import step_of
from pe_sim.learning.agents.marl_batches import JointBatches
from pe_sim.learning.agents.marl_env import Info
from pe_sim.learning.agents.marl_grouping import groups, require_alike
from pe_sim.learning.agents.marl_networks import SequenceNet
from pe_sim.learning.agents.marl_saving import SavedAgents
from pe_sim.learning.agents.marl_vector_env import VecMultiAgentEnv
from pe_sim.learning.agents.settings import setting, widths
from pe_sim.learning.agents.targets import follow
from pe_sim.learning.requirement import require_torch


class MARLAgents(JointBatches, SavedAgents, ABC):
    """Base of all multi-agent cores; an algorithm builds networks (:meth:`_build_policy`) and learns from samples.

    How they train: :class:`~pe_sim.learning.agents.marl_training.TrainedAgents`.

    Built without environments, from spaces, it only infers. Settings of all: seed, gamma, parallels (number of
    environments where there are none), use_parameter_sharing (all agents, or none), parameter_sharing (finer: 'none',
    'role', 'all', or the agents of each named group), use_global_state, use_actions_mask, use_rnn with rnn ('GRU',
    'LSTM'), recurrent_hidden_size, N_recurrent_layers and fc_hidden_sizes, use_obsnorm, obsnorm_range, update_rms
    (whether tests change the statistics of observations), learning_rate, use_grad_clip, grad_clip_norm, n_epochs,
    buffer_size, render, render_mode, fps and log_dir (of the video of a test's best episode).

    Args:
        config: settings.
        envs: training environments.
        num_agents, agent_keys: how many agents and which, where there are no environments; else as the spaces say.
        state_space: of the global state, where there are no environments and it is used.
        observation_space, action_space: agent -> space, where there are no environments.
        callback: called at each stage.

    Attributes:
        agent_keys: all agents, in order.
        groups: who shares parameters with whom.
        model_keys: names of the sets of parameters: the first agent of each group.
        current_step: environment steps so far, over all environments.
        current_episode: episodes ended in each environment, (n_envs,).
        policy: the networks.
        iterations: updates so far.
        best_episode_video: file of the last test's best episode, None where none was asked for.

    Raises:
        ValueError: if a space is missing or a setting impossible.
        PeError: if a setting is missing, or agents that are not alike share parameters.
    """

    needs_state: ClassVar[bool] = False

    def __init__(  # noqa: PLR0917 - XuanCe's signature
        self,
        config: Namespace,
        envs: VecMultiAgentEnv | None = None,
        num_agents: int | None = None,
        agent_keys: list[str] | None = None,
        state_space: gym.Space[Any] | None = None,
        observation_space: dict[str, gym.Space[Any]] | None = None,
        action_space: dict[str, gym.Space[Any]] | None = None,
        callback: BaseCallback | None = None,
    ) -> None:
        require_torch(type(self).__name__)
        self.config, self.train_envs, self.callback = config, envs, callback or BaseCallback()
        self.use_global_state = self.needs_state or bool(getattr(config, "use_global_state", False))
        self.use_actions_mask = bool(getattr(config, "use_actions_mask", False))
        self.use_rnn = bool(getattr(config, "use_rnn", False))
        if envs is not None:
            envs.reset()
            agent_keys, state_space = envs.agents, envs.state_space
            observation_space, action_space = envs.observation_space, envs.action_space
        if observation_space is None or action_space is None:
            raise ValueError("give observation_space and action_space where there are no envs: networks need them")
        if self.use_global_state and state_space is None:
            raise ValueError("give state_space where there are no envs: the critic sees the global state")
        self.n_envs = int(setting(config, "parallels")) if envs is None else envs.num_envs
        self.agent_keys = list(agent_keys or observation_space)
        self.n_agents = len(self.agent_keys)
        if num_agents not in {None, self.n_agents}:
            raise ValueError(f"num_agents: there are {self.n_agents} agents, {self.agent_keys} (got {num_agents})")
        self.observation_space, self.action_space, self.state_space = observation_space, action_space, state_space
        shared = "all" if getattr(config, "use_parameter_sharing", False) else "none"
        self.groups = groups(getattr(config, "parameter_sharing", None) or shared, self.agent_keys)
        for group in self.groups:
            require_alike(group, observation_space, action_space)
        self.model_keys = [group.key for group in self.groups]
        self.use_parameter_sharing = len(self.groups) < self.n_agents
        self._measure()
        self.generator = torch.Generator().manual_seed(int(setting(config, "seed")))
        self.rng = np.random.default_rng(int(config.seed))
        self.gamma, self.n_epochs = float(setting(config, "gamma")), int(getattr(config, "n_epochs", 1))
        self.current_step, self.current_episode = 0, np.zeros(self.n_envs, np.int32)
        self.iterations = 0
        self.optimisers: dict[str, torch.optim.Optimizer] = {}
        self.best_episode_video: Path | None = None
        self.policy: nn.ModuleDict = self._build_policy()
        if envs is not None:
            self.memory = self._build_memory()

    @abstractmethod
    def _build_policy(self) -> nn.ModuleDict:
        """Return the networks and set :attr:`optimisers`."""

    @abstractmethod
    def _build_memory(self) -> Any:
        """Return an empty memory."""

    @abstractmethod
    def test_actions(self, envs: VecMultiAgentEnv, hidden: Any, *, deterministic: bool) -> tuple[dict[str, Any], Any]:
        """Return what :meth:`get_actions` says of the present in test mode, and the recurrent state after it."""

    @abstractmethod
    def first_hidden(self, n_envs: int) -> Any:
        """Return the recurrent state at the beginning of ``n_envs`` episodes; None without recurrent networks."""

    @abstractmethod
    def init_rnn_hidden(self, n_envs: int) -> Any:
        """Return all recurrent states at the beginning of ``n_envs`` episodes."""

    @abstractmethod
    def reset_hidden(self, i_env: int, hidden: Any) -> Any:
        """Return the recurrent state with that of one environment as at the beginning; None without."""

    @abstractmethod
    def update(self, sample: dict[str, Any]) -> dict[str, float]:
        """Learn from one sample of sequences, arrays (L, U, ...) by field and agent; return metrics."""

    @property
    def state_size(self) -> int:
        """Length of the global state."""
        assert self.state_space is not None
        return int(np.prod(self.state_space.shape or (1,)))

    def network(self, part: str, inputs: int, outputs: int, gain: float, *, recurrent: bool = True) -> SequenceNet:
        """Return a network with the widths that the settings give for 'actor', 'critic' or 'q'."""
        config = self.config
        if not (self.use_rnn and recurrent):
            return SequenceNet(self.generator, inputs, widths(config, part), outputs, gain=gain)
        hidden = tuple(int(width) for width in getattr(config, "fc_hidden_sizes", (64,)))
        memory, layers = getattr(config, "recurrent_hidden_size", 64), getattr(config, "N_recurrent_layers", 1)
        return SequenceNet(
            self.generator, inputs, hidden, outputs, gain=gain, recurrent=str(getattr(config, "rnn", "GRU")),
            memory=int(memory), layers=int(layers),
        )

    def own_networks(self, part: str, gain: float) -> nn.ModuleDict:
        """Return, for each group, a network from an agent's own observation to what it can do."""
        nets = {g.key: self.network(part, self.seen_size(g), self.action_size(g.key), gain) for g in self.groups}
        return nn.ModuleDict(nets)

    def optimiser(self, parameters: Any, name: str = "learning_rate") -> torch.optim.Optimizer:
        """Return an optimiser with the rate that the setting ``name``, or else learning_rate, gives."""
        rate = getattr(self.config, name, None) or setting(self.config, "learning_rate")
        return torch.optim.Adam(parameters, lr=float(rate), eps=1e-5)

    def step_optimiser(self, name: str, loss: Tensor) -> float:
        """Take one step of an optimiser and return the loss.

        Raises:
            PeError: if the loss is not finite.
        """
        return step_of(self.optimisers[name], name, loss, self.config)

    def sync(self) -> None:
        """Copy the networks that have targets to them, every sync_frequency updates."""
        if (self.iterations + 1) % int(getattr(self.config, "sync_frequency", 100)) == 0:
            follow(self.policy, 1.0, *(name for name in self.policy if f"target_{name}" in self.policy))

    def score(self, info: Info) -> float:
        """Return the score of an episode: the mean over the agents."""
        return float(np.mean([info["episode_score"][agent] for agent in self.agent_keys]))
