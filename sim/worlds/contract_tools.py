"""What the contract test of worlds needs: drawn commands, states as plain arrays, comparison to the bit."""

from __future__ import annotations

import copy
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pe_sim.actions import Mode
from pe_sim.worlds.base import Command, World


@lru_cache(maxsize=10_000)
def drawn_parts(episode: int, number: int, place: int, shape: tuple[int, int]) -> NDArray[Any]:
    """Return random parts of the way between limits, often at one: that is where motion goes wrong."""
    return np.clip(np.random.default_rng([episode, number, place]).uniform(-0.4, 1.4, shape), 0.0, 1.0)


def block_of(world: World) -> NDArray[Any]:
    """Return a copy of a world's state, (13, N, B)."""
    return np.asarray(world.state.block).copy()


def with_mode(world: World, command: Command, mode: Any) -> Command:
    """Return a command with a mode for all, or for each agent, (n, B)."""
    modes = np.broadcast_to(np.asarray(mode, dtype=np.int8), command.values.shape[1:]).copy()
    return Command(command.values, world.xp.asarray(modes))


def other_values(world: World, command: Command) -> Command:
    """Return a command whose values differ, within those present, where its mode does without them."""
    values, mode = np.asarray(command.values), np.asarray(command.mode)
    without = (mode == int(Mode.COAST)) | (mode == int(Mode.STOP))
    turned = copy.copy(values)
    turned[:, without] = values[:, without][:, ::-1] * np.float32(0.5)
    return Command(world.xp.asarray(turned), command.mode)


def same_bits(first: list[NDArray[Any]], second: list[NDArray[Any]], otherwise: str) -> None:
    """Assert that two lists of states are equal to the bit (-0.0 is not 0.0), or say where not and what to do."""
    for tick, (a, b) in enumerate(zip(first, second, strict=True)):
        if a.tobytes() == b.tobytes():
            continue
        where = np.argwhere(a.view(np.int64) != b.view(np.int64)) if a.dtype == np.float64 else np.argwhere(a != b)
        place = tuple(int(i) for i in where[0])
        raise AssertionError(f"{otherwise}. First at state {tick}, index {place}: {a[place]!r} and {b[place]!r}")
