"""Saving and loading multi-agent cores whole, and handing out what one agent needs to fly."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from pe_sim.errors import PeError
from pe_sim.learning.agents.marl_grouping import Group
from pe_sim.learning.agents.marl_vector_env import VecMultiAgentEnv
from pe_sim.learning.checkpoint import read_checkpoint, write_checkpoint
from pe_sim.learning.networks import plain, tensors
from pe_sim.learning.normaliser import RunningNormaliser
from pe_sim.policies.bundle import Weights


class SavedAgents:
    """What is kept of multi-agent cores; see :class:`~pe_sim.learning.agents.marl_agents.MARLAgents`."""

    config: Any
    train_envs: VecMultiAgentEnv | None
    policy: nn.ModuleDict
    optimisers: dict[str, torch.optim.Optimizer]
    memory: Any
    groups: list[Group]
    obs_rms: dict[str, RunningNormaliser]
    generator: torch.Generator
    rng: np.random.Generator
    current_step: int
    iterations: int
    current_episode: NDArray[np.int32]
    n_envs: int

    acting_network = "actor"
    """Which network of the policy acts."""

    hidden: Any = None
    """Recurrent state of the episodes under way."""

    def state(self) -> dict[str, Any]:
        """Return everything needed to go on to the same bits, as plain data."""
        envs = self.train_envs
        return {
            "agents": type(self).__name__, "policy": plain(self.policy.state_dict()),
            "optimisers": {name: plain(one.state_dict()) for name, one in self.optimisers.items()},
            "obs_rms": {key: one.state() for key, one in self.obs_rms.items()}, "step": self.current_step,
            "iterations": self.iterations, "episodes": self.current_episode.copy(),
            "generator": self.generator.get_state().numpy().copy(), "rng": self.rng.bit_generator.state,
            "hidden": plain(self.hidden), "memory": None if envs is None else self.memory.state(),
            "envs": None if envs is None else envs.state(),
        }

    def save_model(self, model_name: str, model_path: str | Path | None = None) -> Path:
        """Write :meth:`state` to ``model_path``/``model_name``: whole or not at all.

        Raises:
            PeError: if it cannot be written.
        """
        path = Path(model_path or ".") / model_name
        write_checkpoint(path, self.state())
        return path

    def load_model(self, path: str | Path, model: str | None = None) -> None:
        """Read what :meth:`save_model` wrote; ``model`` is its name where ``path`` is the directory.

        With environments the training goes on to the same bits as if it had not stopped; without, the agents infer.

        Raises:
            PeError: if it is missing, damaged, of other agents, or of another number of environments.
        """
        file = Path(path) / model if model else Path(path)
        state = read_checkpoint(file)
        try:
            self._require_fit(file, state)
            self._restore(state)
        except (KeyError, TypeError, ValueError, RuntimeError, AttributeError) as fault:
            raise PeError(str(file), f"is no checkpoint of these agents: {fault}") from fault

    def _require_fit(self, file: Path, state: dict[str, Any]) -> None:
        """Refuse a state of other agents before anything is changed."""
        if state["agents"] != type(self).__name__:
            raise PeError(str(file), f"is of {state['agents']}", cure=f"these agents are {type(self).__name__}")
        mine = {name: tuple(values.shape) for name, values in self.policy.state_dict().items()}
        kept = {name: np.shape(values) for name, values in state["policy"].items()}
        differing = sorted(name for name in mine.keys() | kept.keys() if mine.get(name) != kept.get(name))
        if differing:
            name = differing[0]
            raise PeError(f"{file}: {name}", f"has the shape {kept.get(name)}, these agents' has {mine.get(name)}")
        if self.train_envs is not None and state["envs"] is not None and len(state["episodes"]) != self.n_envs:
            cure = "give as many, or build the agents from spaces, without envs, to infer"
            raise PeError(str(file), f"is of a training in {len(state['episodes'])} environments", self.n_envs, cure)

    def _restore(self, state: dict[str, Any]) -> None:
        if self.train_envs is not None and state["envs"] is not None:
            self.train_envs.restore(state["envs"])
            self.memory.restore(state["memory"])
            self.current_episode, self.hidden = state["episodes"].copy(), tensors(state["hidden"])
        self.policy.load_state_dict(tensors(state["policy"]))
        for name, one in self.optimisers.items():
            one.load_state_dict(tensors(state["optimisers"][name]))
        for key, statistics in self.obs_rms.items():
            statistics.restore(state["obs_rms"][key])
        self.current_step, self.iterations = int(state["step"]), int(state["iterations"])
        self.generator.set_state(torch.tensor(state["generator"]))
        self.rng.bit_generator.state = state["rng"]

    def export(self, agent: str) -> Weights:
        """Return what one agent needs to act: weights and scaling of observations, as a policy bundle names them.

        Who of a group it is, which shared networks see, has become part of the weights.

        Raises:
            ValueError: if no bundle can hold its network.
        """
        group = next(group for group in self.groups if agent in group.agents)
        net: Any = self.policy[self.acting_network][group.key]  # type: ignore[index]
        weights: Weights = net.weights(group.agents.index(agent), len(group.agents))
        if "log_std" in self.policy and group.key in self.policy["log_std"]:  # type: ignore[operator]
            spread: Any = self.policy["log_std"][group.key]  # type: ignore[index]
            weights["log_std"] = spread.detach().numpy().copy()
        if getattr(self.config, "use_obsnorm", False):
            statistics = self.obs_rms[group.key]
            weights |= {"normalisation.mean": statistics.mean, "normalisation.deviation": statistics.deviation}
        return weights
