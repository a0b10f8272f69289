"""The batched environment: thousands of engagements at once, arrays in and arrays out.

A step is one decision stride: the greatest common divisor of the decision periods of the controlled roles, in world
ticks; where a role decides at instants that no stride meets (on a jittering sensor, at a rate that divides nothing),
a stride is one tick. Engagements that end are reset within the step; what was seen last is kept.

Row i runs the episodes i, i + B, i + 2 B, ... of the seed, each equal to the same episode of the dict environment.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from pe_sim.actions import ActionSpec
from pe_sim.arrays import Array
from pe_sim.engagement import Engagement, load
from pe_sim.envs.actions import action_space, observation_space
from pe_sim.envs.episodes import checked_number
from pe_sim.envs.flatten import FlatLayout
from pe_sim.envs.lane import Lane, stride_of
from pe_sim.errors import ActionError, EngagementError
from pe_sim.schema import nearest

BLOCK = 8192
"""Engagements stepped together: their arrays fit the processor's caches."""


@dataclass
class Finals:
    """Episodes that ended in a step.

    Attributes:
        rows: their engagements, int64 (R,).
        observations: role -> what was seen last, float32 (R, n, K).
        outcomes: index into :data:`pe_sim.rules.OUTCOMES`, (R,).
        ticks: length of the episode in ticks, (R,).
    """

    rows: Array
    observations: dict[str, Array]
    outcomes: Array
    ticks: Array


@dataclass
class VectorStep:
    """What a step returns. The arrays are views of memory that the next step overwrites.

    Attributes:
        observations: role -> float32 (B, n, K), of the new episode where one has just ended.
        rewards: role -> float64 (B, n), of the stride.
        terminated: episodes ended by the game, bool (B,).
        truncated: episodes ended by the time limit, bool (B,).
        due: role -> who decides now, bool (B, n); the actions of the others are ignored.
        alive: role -> who is in play, bool (B, n).
        running: engagements that go on; the others wait to be begun anew, bool (B,).
        finals: the episodes that ended.
    """

    observations: dict[str, Array]
    rewards: dict[str, Array]
    terminated: Array
    truncated: Array
    due: dict[str, Array]
    alive: dict[str, Array]
    running: Array
    finals: Finals


@dataclass
class Buffers:
    """Memory of the whole batch, the batch last; lanes write their columns.

    Attributes:
        observations: role -> float32 (K, n, B).
        rewards: role -> float64 (n, B).
        due: role -> bool (n, B).
        alive: role -> bool (n, B).
        terminated: bool (B,).
        truncated: bool (B,).
        running: bool (B,).
    """

    observations: dict[str, Array]
    rewards: dict[str, Array]
    due: dict[str, Array]
    alive: dict[str, Array]
    terminated: Array
    truncated: Array
    running: Array


class VectorPursuit:
    """Batched multi-agent environment of one engagement file.

    Args:
        engagement: the engagement, or the path of its file.
        batch: number of engagements B.
        seed: of the run; default the file's.
        roles: roles that get their actions from outside; default all. The others follow the file's policies.
        threads: how many threads step the blocks; rows are independent, so results do not depend on it.
        block: engagements stepped together.
        library: 'numpy' or 'torch'.
        restart_share: engagements that end are begun anew once they are more than this share of the batch; 0 for
            within the step. To begin many at once is cheaper; until then the ended ones wait, nobody in them is due.

    Raises:
        EngagementError: if seed, batch, threads, block or restart_share cannot be.

    Attributes:
        roles: the controlled roles.
        stride: world ticks per step.
        observation_spaces: role -> space of one agent's vector.
        action_spaces: role -> space of one agent's action.
    """

    def __init__(
        self, engagement: Engagement | str | Path, batch: int, *, seed: int | None = None,
        roles: tuple[str, ...] | None = None, threads: int = 1, block: int = BLOCK, library: str = "numpy",
        restart_share: float = 0.0,
    ) -> None:
        self.engagement = engagement if isinstance(engagement, Engagement) else load(engagement)
        self.batch = batch = checked_number("batch", batch, 1)
        block, threads = checked_number("block", block, 1), checked_number("threads", threads, 1)
        if not 0.0 <= restart_share <= 1.0:
            raise EngagementError("restart_share", "must be from 0 to 1", restart_share)
        self.roles = self._chosen(roles)
        self.stride = stride_of(self.engagement, self.roles)
        self._seed = self.engagement.seed if seed is None else checked_number("seed", seed)
        self._lanes = [
            Lane(
                self.engagement, first, min(block, batch - first), self.roles,
                stride=self.stride, library=library, restart_share=restart_share,
            )
            for first in range(0, batch, block)
        ]
        for part in self._lanes:
            part.simulation.world.remember()
        self._pool = ThreadPoolExecutor(threads) if threads > 1 and len(self._lanes) > 1 else None
        lane = self._lanes[0]
        self.xp = lane.simulation.xp
        self.observation_spaces = {role: observation_space(lane.observer.size(role)) for role in self.roles}
        self.action_spaces = {role: action_space(lane.simulation.roles[role].action) for role in self.roles}
        self._buffers = self._allocate()
        self._views = self._transposed()

    def _chosen(self, roles: tuple[str, ...] | None) -> tuple[str, ...]:
        for role in roles or ():
            if role not in self.engagement.roles:
                raise ActionError(role, "no such role", cure=nearest(role, self.engagement.roles))
        return tuple(self.engagement.roles) if roles is None else tuple(roles)

    def _allocate(self) -> Buffers:
        xp, batch, lane = self.xp, self.batch, self._lanes[0]
        counts = {role: self.engagement.roles[role].count for role in self.roles}
        return Buffers(
            observations={
                r: xp.zeros((lane.observer.size(r), n, batch), dtype=xp.float32) for r, n in counts.items()
            },
            rewards={r: xp.zeros((n, batch), dtype=xp.float64) for r, n in counts.items()},
            due={r: xp.zeros((n, batch), dtype=xp.bool) for r, n in counts.items()},
            alive={r: xp.zeros((n, batch), dtype=xp.bool) for r, n in counts.items()},
            terminated=xp.zeros((batch,), dtype=xp.bool),
            truncated=xp.zeros((batch,), dtype=xp.bool),
            running=xp.zeros((batch,), dtype=xp.bool),
        )

    @property
    def lanes(self) -> list[Lane]:
        """The parts that the rows are stepped in, in order."""
        return self._lanes

    def layout(self, role: str) -> FlatLayout:
        """Return names and units of a role's observation vector."""
        return self._lanes[0].observer.layout(role)

    def single_spaces(self, role: str) -> tuple[gym.spaces.Box, gym.spaces.Discrete | gym.spaces.Box]:
        """Return the spaces of one agent of a role: observation, action."""
        return self.observation_spaces[role], self.action_spaces[role]

    def _each(self, work: Callable[[Lane], Any]) -> list[Any]:
        if self._pool is None:
            return [work(lane) for lane in self._lanes]
        return list(self._pool.map(work, self._lanes))

    def reset(self, seed: int | None = None) -> VectorStep:
        """Begin episode i in row i; ``seed`` begins a new run.

        Raises:
            EngagementError: if the seed is no whole number from 0 to 2^63 - 1.
        """
        self._seed = self._seed if seed is None else checked_number("seed", seed)
        self._each(lambda lane: lane.reset(self._seed, self.batch, self._buffers))
        self._buffers.terminated[...] = False
        self._buffers.truncated[...] = False
        return self._result([])

    def step(self, actions: dict[str, Array]) -> VectorStep:
        """Submit the actions of those that are due and run one stride.

        Args:
            actions: role -> (B, n) choices, or (B, n, A) values in the action's units.

        Raises:
            ActionError: if a role is missing or unknown, a shape is wrong, or an action that counts is not finite or
                no choice there is; nothing has happened then.
        """
        values = {role: self._checked(role, actions) for role in self.roles}
        for role in actions:
            if role not in self.roles:
                raise ActionError(role, "is no controlled role", cure=nearest(role, self.roles))
        return self._result(self._each(lambda lane: lane.step(values, self._buffers)))

    def _checked(self, role: str, actions: dict[str, Array]) -> Array:
        """Return a role's actions as an array (A, n, B)."""
        xp, spec = self.xp, self._lanes[0].simulation.roles[role].action
        if role not in actions:
            raise ActionError(role, "is controlled, but has no actions")
        shape = (self.batch, self.engagement.roles[role].count)
        given = xp.asarray(actions[role])
        wanted = shape if spec.discrete else (*shape, spec.size)
        if tuple(given.shape) not in (wanted, (*shape, spec.size)):
            raise ActionError(role, f"needs actions of shape {wanted}", tuple(given.shape))
        values = given.T[None] if given.ndim == 2 else xp.permute_dims(given, (2, 1, 0))
        if spec.discrete and isinstance(values, np.ndarray) and values.dtype.kind in "iu":
            # Seen as unsigned, a negative choice is a large one: one pass over memory instead of two.
            if values.view(f"u{values.dtype.itemsize}").max() < spec.choices:
                return values
        elif not spec.discrete and bool(xp.all(xp.isfinite(values))):
            return values
        self._refuse(role, spec, values)
        return xp.where(xp.isfinite(values), values, 0)

    def _refuse(self, role: str, spec: ActionSpec, values: Array) -> None:
        """Refuse actions that are no choice there is or not finite, of agents that are due."""
        xp, due = self.xp, self._buffers.due[role][None]
        bad, rule = ~xp.isfinite(values), "must be finite"
        if spec.discrete:
            bad = bad | (values < 0) | (values >= spec.choices) | (values != xp.round(values))
            rule = f"must be one of 0 to {spec.choices - 1}"
        rows = xp.any(xp.any(bad & due, axis=0), axis=0)
        if bool(xp.any(rows)):
            row = int(xp.nonzero(rows)[0][0])
            raise ActionError(f"{role} of row {row}", rule, values[:, :, row].T.tolist())

    def _result(self, ended: list[tuple[Array, dict[str, Array], Array, Array]]) -> VectorStep:
        xp = self.xp
        parts = [part for part in ended if part[0].shape[0]]
        if not parts:
            return self._views
        finals = Finals(
            xp.concat([part[0] for part in parts]),
            {r: xp.permute_dims(xp.concat([part[1][r] for part in parts], axis=2), (2, 1, 0)) for r in self.roles},
            xp.concat([part[2] for part in parts]),
            xp.concat([part[3] for part in parts]),
        )
        return replace(self._views, finals=finals)

    def _transposed(self) -> VectorStep:
        """Return what users see of the buffers: the batch first."""
        xp, buffers = self.xp, self._buffers
        nobody = xp.zeros((0,), dtype=xp.int64)
        return VectorStep(
            {r: xp.permute_dims(b, (2, 1, 0)) for r, b in buffers.observations.items()},
            {r: b.T for r, b in buffers.rewards.items()},
            buffers.terminated, buffers.truncated,
            {r: b.T for r, b in buffers.due.items()},
            {r: b.T for r, b in buffers.alive.items()},
            buffers.running,
            Finals(nobody, {r: xp.permute_dims(b[:, :, :0], (2, 1, 0)) for r, b in buffers.observations.items()},
                   nobody, nobody),
        )

    def sample(self, rng: np.random.Generator) -> dict[str, Array]:
        """Return uniformly random actions for all controlled roles, in memory order."""
        out = {}
        for role, space in self.action_spaces.items():
            shape = (self.engagement.roles[role].count, self.batch)
            if isinstance(space, gym.spaces.Discrete):
                out[role] = self.xp.asarray(rng.integers(space.n, size=shape)).T
            else:
                low, high = space.low[:, None, None], space.high[:, None, None]
                draws = rng.random((space.shape[0], *shape), dtype=np.float32)
                out[role] = self.xp.permute_dims(self.xp.asarray(low + (high - low) * draws), (2, 1, 0))
        return out

    def close(self) -> None:
        """Release worlds and threads."""
        if self._pool is not None:
            self._pool.shutdown()
        for lane in self._lanes:
            lane.simulation.close()
