"""What every core is, for one learner or for many: it trains in environments, is kept whole, and may only infer."""

from __future__ import annotations

from abc import ABC
from argparse import Namespace
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from pe_sim.errors import PeError
from pe_sim.learning.agents.callbacks import BaseCallback
from pe_sim.learning.agents.marl_vector_env import VecMultiAgentEnv
from pe_sim.learning.agents.vector_env import VecEnv
from pe_sim.learning.checkpoint import read_checkpoint, write_checkpoint
from pe_sim.learning.networks import plain, tensors

Envs = TypeVar("Envs", VecEnv, VecMultiAgentEnv)


class Core(ABC, Generic[Envs]):
    """Base of :class:`~pe_sim.learning.agents.agent.Agent` and of all multi-agent cores.

    Attributes:
        config: settings.
        train_envs: training environments; None where it only infers.
        callback: called at each stage.
        n_envs: number of environments.
        current_step: environment steps so far, over all environments.
        current_episode: episodes ended in each environment, (n_envs,).
        policy: the networks.
        memory: what it learns from.
        generator: of random draws of networks.
        best_episode_video: file of the last test's best episode, None where none was asked for.
    """

    config: Namespace
    train_envs: Envs | None
    callback: BaseCallback
    n_envs: int
    current_step: int
    current_episode: NDArray[np.int32]
    policy: Any
    memory: Any
    generator: torch.Generator
    best_episode_video: Path | None

    named: ClassVar[str] = "agent"
    """Under which key of :meth:`state` its class is named."""

    def training_envs(self) -> Envs:
        """Return the training environments.

        Raises:
            ValueError: if there are none.
        """
        if self.train_envs is None:
            raise ValueError(f"{type(self).__name__} was built without envs: it only infers")
        return self.train_envs

    @property
    def trains(self) -> bool:
        """Whether there is something to train with: environments and a memory."""
        return self.train_envs is not None and self.memory is not None

    def state(self) -> dict[str, Any]:
        """Return everything needed to go on to the same bits, as plain data."""
        return {
            self.named: type(self).__name__, "policy": plain(self.policy.state_dict()), "step": self.current_step,
            "episodes": self.current_episode.copy(), "generator": self.generator.get_state().numpy().copy(),
            "memory": self.memory.state() if self.trains else None,
            "envs": self.train_envs.state() if self.train_envs is not None else None,
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

        With environments the training goes on to the same bits as if it had not stopped; without, it infers.

        Raises:
            PeError: if it is missing, damaged, of another core, or of another number of environments; the core is as
                it was, but for environments that do not come back to where they were.
        """
        file = Path(path) / model if model else Path(path)
        state = read_checkpoint(file)
        try:
            self._require_fit(file, state)
            self._restore(state)
        except (KeyError, TypeError, ValueError, RuntimeError, AttributeError) as fault:
            raise PeError(str(file), f"is no checkpoint of {type(self).__name__}: {fault}") from fault

    def _require_fit(self, file: Path, state: dict[str, Any]) -> None:
        """Refuse a state of another core before anything is changed."""
        own = type(self).__name__
        if state[self.named] != own:
            raise PeError(str(file), f"is of a {state[self.named]}", cure=f"load it into that, not into {own}")
        mine = {name: tuple(values.shape) for name, values in self.policy.state_dict().items()}
        kept = {name: np.shape(values) for name, values in state["policy"].items()}
        differing = sorted(name for name in mine.keys() | kept.keys() if mine.get(name) != kept.get(name))
        if differing:
            name = differing[0]
            raise PeError(f"{file}: {name}", f"has the shape {kept.get(name)}, that of this {own} is {mine.get(name)}")
        if self._goes_on_from(state) and len(state["episodes"]) != self.n_envs:
            cure = f"give as many, or build {own} from spaces, without envs, to infer"
            raise PeError(str(file), f"is of a training in {len(state['episodes'])} environments", self.n_envs, cure)

    def _goes_on_from(self, state: dict[str, Any]) -> bool:
        """Return whether training can go on from a state, where it stopped."""
        return self.trains and state["memory"] is not None

    def _restore(self, state: dict[str, Any]) -> None:
        """Go on from a :meth:`state`."""
        if self.train_envs is not None and self._goes_on_from(state):
            self.train_envs.restore(state["envs"])
            self.memory.restore(state["memory"])
            self.current_episode = state["episodes"].copy()
        self.policy.load_state_dict(tensors(state["policy"]))
        self.current_step = int(state["step"])
        self.generator.set_state(torch.tensor(state["generator"]))
