"""Data to learn from offline: steps that somebody took, checked against the spaces they are for."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from numpy.typing import NDArray

from pe_sim.errors import PeError
from pe_sim.learning.agents.replay import PARTS, Transitions
from pe_sim.policies.bundle import replace_file


def write_dataset(path: str | Path, transitions: Transitions) -> Path:
    """Write steps, e.g. ``agent.memory.transitions()``, as an .npz file of arrays named as D4RL names them.

    Raises:
        PeError: if it cannot be written.
    """
    file, data = Path(path), io.BytesIO()
    np.savez_compressed(data, **{name: getattr(transitions, name) for name in PARTS})
    try:
        replace_file(file, data.getvalue())
    except OSError as fault:
        raise PeError(str(file), f"cannot be written: {fault.strerror or fault}") from fault
    return file


def read_dataset(path: str | Path) -> Transitions:
    """Read an .npz file with the arrays that :class:`Transitions` names.

    Raises:
        PeError: if it cannot be read, or an array is missing.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            return as_transitions(str(path), dict(file))
    except OSError as fault:
        raise PeError(str(path), f"cannot be read: {fault.strerror or fault}") from fault
    except (ValueError, EOFError, TypeError, zipfile.BadZipFile) as fault:
        raise PeError(str(path), f"is no .npz file of plain arrays: {fault}") from fault


def as_transitions(name: str, arrays: Mapping[str, Any]) -> Transitions:
    """Return steps from arrays named as :class:`Transitions` names them.

    Raises:
        PeError: if one is missing, or is not as long as the others.
    """
    missing = [part for part in PARTS if part not in arrays]
    if missing:
        raise PeError(name, f"lacks {', '.join(missing)}", sorted(arrays), f"needs {', '.join(PARTS)}")
    found = {part: np.asarray(arrays[part]) for part in PARTS}
    rewards = found["rewards"]
    if rewards.ndim != 1 or len(rewards) == 0:
        raise PeError(f"{name}: rewards", "must be one number per step", rewards.shape)
    for part, values in found.items():
        if values.shape[:1] != rewards.shape:
            raise PeError(f"{name}: {part}", f"must hold {len(rewards)} steps, as rewards do", values.shape)
    found["terminals"] = found["terminals"].reshape(len(rewards)).astype(np.bool_)
    return Transitions(**found)


def require_fit(data: Transitions, observation_space: gym.Space[Any], action_space: gym.Space[Any]) -> None:
    """Refuse data of other spaces, or with numbers that are none.

    Raises:
        PeError: naming the array.
    """
    for part in ("observations", "next_observations"):
        _require_shape(part, getattr(data, part), observation_space.shape or ())
    _require_shape("actions", data.actions, action_space.shape or ())
    for part in ("observations", "next_observations", "actions", "rewards"):
        values = np.asarray(getattr(data, part))
        if not np.issubdtype(values.dtype, np.number):
            raise PeError(f"dataset: {part}", "must be numbers", str(values.dtype))
        broken = np.nonzero(~np.isfinite(values.reshape(len(values), -1)).all(axis=1))[0]
        if len(broken):
            raise PeError(f"dataset: {part}", f"must be finite in every step, is not in {len(broken)}", int(broken[0]))
    if isinstance(action_space, gym.spaces.Discrete):
        allowed = (data.actions >= 0) & (data.actions < action_space.n) & (data.actions == np.floor(data.actions))
        if not allowed.all():
            value = data.actions[~allowed][0]
            raise PeError("dataset: actions", f"must be choices from 0 to {action_space.n - 1}", value)
    elif isinstance(action_space, gym.spaces.Box):
        low, high = (np.asarray(bound, np.float32) for bound in (action_space.low, action_space.high))
        taken = np.asarray(data.actions, np.float32)
        if ((taken < low) | (taken > high)).any():
            raise PeError("dataset: actions", "must lie within the bounds of the action space")


def _require_shape(part: str, values: NDArray[Any], shape: tuple[int, ...]) -> None:
    if values.shape[1:] != shape:
        raise PeError(f"dataset: {part}", f"must have the shape {shape} in every step", values.shape[1:])


class OfflineMemory:
    """Steps to draw samples from.

    Args:
        data: the steps.
        batch_size: steps in a sample.
        generator: draws the samples.
    """

    def __init__(self, data: Transitions, batch_size: int, generator: torch.Generator) -> None:
        self.data, self.batch_size, self._generator = data, batch_size, generator

    def sample(self, batch_size: int | None = None) -> dict[str, NDArray[Any]]:
        """Return steps drawn evenly, with repetition: 'obs', 'actions', 'rewards', 'obs_next', 'terminals'."""
        count = self.batch_size if batch_size is None else batch_size
        return self.data.at(torch.randint(len(self.data), (count,), generator=self._generator).numpy())

    def state(self) -> dict[str, Any]:
        """Return what tells these data from others."""
        digest = hashlib.sha256()
        for part in PARTS:
            digest.update(np.ascontiguousarray(getattr(self.data, part)).tobytes())
        return {"steps": len(self.data), "sha256": digest.hexdigest()}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from :meth:`state`.

        Raises:
            PeError: if it is of other data.
        """
        if state != self.state():
            rule = f"differs from the {state['steps']} steps that this was trained on"
            raise PeError("dataset", rule, len(self.data))
