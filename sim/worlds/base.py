"""The contract of a world: it owns the true state, takes commands, and advances one tick at a time.

A world says what moves and how; it knows nothing of sensors, policies, rules or ROS. Its contract is also a test:
inherit :class:`pe_sim.worlds.contract.WorldContract` and give it an engagement file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from pe_sim.actions import ActionSpec, Mode
from pe_sim.arrays import Array
from pe_sim.quantities import Duration, Length
from pe_sim.schema import Strict
from pe_sim.state import State

if TYPE_CHECKING:
    from pe_sim.engagement import Engagement


KEPT_MEMORY = 2**25 - 2**16
"""Size of an allocation [bytes] just below the most that glibc learns from."""


class WorldSpec(Strict):
    """What every world's section of the file holds.

    Attributes:
        backend: name of the world.
        tick: length of a tick [s].
        min_start_distance: least distance between a pursuer and an evader at the start [m].
        min_separation: least distance between any two agents at the start [m].
    """

    backend: str
    tick: Annotated[Duration, Field(gt=0)] = 10_000_000
    min_start_distance: Annotated[Length, Field(ge=0.0)] = 0.0
    min_separation: Annotated[Length, Field(ge=0.0)] = 0.0


class DynamicsSpec(Strict):
    """What every dynamics model's section of the file holds: the model's name."""

    model: str


@dataclass
class Command:
    """What the agents of one role are told to do during one tick.

    Attributes:
        values: action values, float32, (A, n, B).
        mode: :class:`~pe_sim.actions.Mode` per agent, int8, (n, B); None where all are EXECUTE.
    """

    values: Array
    mode: Array | None

    def is_mode(self, mode: Mode) -> Array | None:
        """Return where a mode applies, (n, B), or None where nowhere by construction."""
        return None if self.mode is None else self.mode == int(mode)


class World(ABC):
    """True motion of all agents of a batch of engagements.

    Attributes:
        name: name under which the engagement file selects it.
        Parameters: its section of the engagement file.
        movable: whether its arena and obstacles can be drawn anew for every episode.
        state: the canonical state after the last tick, written in place by :meth:`step`.
        failed: agents whose motion ended by itself (crash, overstress), (N, B) bool, or None where that cannot happen.
        outside: attributes whose state does not lie in arrays, but in a library or in other processes; what brings it
            back is in :meth:`recollection`.
    """

    name: ClassVar[str]
    Parameters: ClassVar[type[WorldSpec]] = WorldSpec
    movable: ClassVar[bool] = False
    outside: ClassVar[frozenset[str]] = frozenset()

    state: State
    failed: Array | None = None

    def __init__(self, engagement: Engagement, batch: int, xp: Any) -> None:
        self.engagement = engagement
        self.batch = batch
        self.xp = xp
        keep_freed_memory()
        self.state = State.zeros(xp, len(engagement.agents), batch)

    @classmethod  # noqa: B027 (most worlds have nothing to refuse)
    def check(cls, engagement: Engagement) -> None:
        """Refuse an engagement that this world cannot run.

        Raises:
            PydanticCustomError: with path and rule.
        """

    @classmethod  # noqa: B027 (most worlds have nothing to refuse)
    def check_draws(cls, engagement: Engagement) -> None:
        """Refuse what cannot be drawn for every episode in this world; ``engagement.randomise`` is resolved.

        Raises:
            PydanticCustomError: with path and rule.
        """

    @abstractmethod
    def action_spec(self, role: str) -> ActionSpec:
        """Return what the agents of a role can do."""

    @abstractmethod
    def reset(self, keys: Array, rows: Array | None) -> None:
        """Put engagements at their start.

        Args:
            keys: root stream key of each engagement to reset, int64 (R,): the only source of randomness.
            rows: which engagements, indices (R,); None for all.
        """

    @abstractmethod
    def step(self, commands: dict[str, Command], active: Array | None) -> None:
        """Advance one tick under the commands, held constant over the tick.

        Args:
            commands: role -> command, one for every role, in any order.
            active: agents that move, bool (N, B); None for all. The others keep their state.
        """

    def failures(self, row: int) -> dict[str, str]:
        """Return agent -> why its motion ended by itself, in one engagement; empty where nobody's did."""
        if self.failed is None:
            return {}
        ended = self.failed[:, row].tolist()
        return {agent: "crash" for agent, failed in zip(self.engagement.agents, ended, strict=True) if failed}

    def remember(self) -> None:  # noqa: B027 (most worlds lie in arrays)
        """Keep, from the next reset of all engagements on, what :meth:`recollection` needs."""

    def shared(self) -> list[Array]:
        """Return the arrays whose memory others than the world write: their values are put back in place."""
        return []

    def recollection(self) -> dict[str, Array]:
        """Return, as plain arrays, what brings back the state that does not lie in arrays.

        Raises:
            PeError: if it was not kept: see :meth:`remember`.
        """
        return {}

    def relive(  # noqa: B027 (most worlds lie in arrays)
        self, recollection: dict[str, Array], progress: Callable[[int, int], None] | None = None
    ) -> None:
        """Bring back the state that does not lie in arrays; that in arrays has been put back already.

        Args:
            recollection: what :meth:`recollection` has returned.
            progress: called with how much is done of how much.

        Raises:
            PeError: if it does not come to the state in the arrays.
        """

    def close(self) -> None:  # noqa: B027 (most worlds hold nothing)
        """Release what the world holds; safe to call twice."""


def told(failures: dict[str, str]) -> str:
    """Return who ended by itself and why (see :meth:`World.failures`), for a person."""
    return ", ".join(f"{agent} {reason.replace('_', ' ')}" for agent, reason in failures.items())


def keep_freed_memory() -> None:
    """Let the C library keep the memory of freed arrays instead of giving it back after every tick.

    Arrays of a large batch are made and freed many times a tick. glibc returns freed memory at the top of its heap
    to the system once it exceeds a threshold, and every page is then mapped anew: at 8192 engagements that took two
    thirds of a multirotor tick. It learns the threshold from the largest block ever freed; this one is never touched.
    """
    np.empty(KEPT_MEMORY, dtype=np.uint8)
