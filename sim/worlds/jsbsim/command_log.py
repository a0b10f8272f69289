"""What the aircraft of each engagement were told since its start: all that it takes to fly them there again.

JSBSim does not give its state away, but a start equals that of a fresh instance to the bit, and what follows depends on
the commands alone. Only changes are kept: commands are held over many ticks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pe_sim.errors import PeError
from pe_sim.worlds.jsbsim.fleet import ACTION_VALUES, FleetArrays

SPARE = 4096
"""Changes of engagements that have begun anew since, which are kept before they are looked for."""

Columns = dict[str, NDArray[Any]]


class CommandLog:
    """The commands of a batch's present episodes.

    Args:
        agents: N.
        batch: engagements B.

    Attributes:
        ticks: flown since the start of each engagement's episode, int64 (B,).
    """

    def __init__(self, agents: int, batch: int) -> None:
        self.ticks = np.zeros(batch, np.int64)
        self._agents = agents
        self._episode = np.zeros(batch, np.int64)  # counts starts, so that changes of episodes before are known
        self._action = np.zeros((ACTION_VALUES, agents, batch))
        self._mode = np.zeros((agents, batch), np.int8)
        self._active = np.zeros((agents, batch), np.bool_)
        self._parts: list[Columns] = []
        self._count, self._live = 0, 0

    def begin(self, rows: NDArray[Any]) -> None:
        """Forget what was told in engagements that begin anew, by indices."""
        self.ticks[rows] = 0
        self._episode[rows] += 1

    def note(self, arrays: FleetArrays) -> None:
        """Keep what is told for the tick that is about to be flown."""
        changed = (arrays.action != self._action).any(axis=0) | (arrays.mode != self._mode)
        changed |= arrays.active != self._active
        rows = np.flatnonzero(changed.any(axis=0) | (self.ticks == 0))
        if len(rows):
            self._action[...], self._mode[...], self._active[...] = arrays.action, arrays.mode, arrays.active
            self._parts.append({
                "row": rows, "episode": self._episode[rows], "tick": self.ticks[rows],
                "action": self._action[..., rows].transpose(2, 1, 0), "mode": self._mode[:, rows].T,
                "active": self._active[:, rows].T,
            })
            self._count += len(rows)
            if self._count > 2 * self._live + SPARE:
                self._live = len(self._tidied()["row"])
        self.ticks += 1

    def _tidied(self) -> Columns:
        """Return the changes of the present episodes in the order of their ticks, and keep only those."""
        if not self._parts:
            self._parts = [self._nothing()]
        whole = {name: np.concatenate([part[name] for part in self._parts]) for name in self._parts[0]}
        kept = np.flatnonzero(whole["episode"] == self._episode[whole["row"]])
        kept = kept[np.argsort(whole["tick"][kept], kind="stable")]
        whole = {name: column[kept] for name, column in whole.items()}
        self._parts, self._count = [whole], len(kept)
        return whole

    def _nothing(self) -> Columns:
        return {
            "row": np.zeros(0, np.int64), "episode": np.zeros(0, np.int64), "tick": np.zeros(0, np.int64),
            "action": np.zeros((0, self._agents, ACTION_VALUES)), "mode": np.zeros((0, self._agents), np.int8),
            "active": np.zeros((0, self._agents), np.bool_),
        }

    def state(self) -> Columns:
        """Return the log as plain arrays."""
        return {**self._tidied(), "ticks": self.ticks.copy(), "episodes": self._episode.copy()}

    def restore(self, state: Columns) -> None:
        """Take over what :meth:`state` has returned.

        Raises:
            KeyError, ValueError: if it does not fit.
        """
        self.ticks[...], self._episode[...] = state["ticks"], state["episodes"]
        self._parts = [{name: np.array(state[name], kind.dtype) for name, kind in self._nothing().items()}]
        whole = self._tidied()
        self._live = len(whole["row"])
        for name, held in (("action", self._action), ("mode", self._mode), ("active", self._active)):
            shape = (self._live, *held.shape[:-1][::-1])
            if whole[name].shape != shape:
                raise ValueError(f"{name} must have the shape {shape}")
            held.T[whole["row"]] = whole[name]  # of several changes of a row, the last one stays

    def fly(
        self, arrays: FleetArrays, restart: Callable[[], None], step: Callable[[], None],
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """Fly all engagements from their starts to where they were.

        Args:
            arrays: of the fleet; holds the starts, and in the end the last commands and states.
            restart: begins the flights of the engagements marked.
            step: flies a tick.
            progress: called with ticks flown and ticks to fly, in all engagements together.

        Raises:
            PeError: if they do not come to the states and failures that ``arrays`` held.
        """
        held = {name: array.copy() for name, array in vars(arrays).items()}
        whole, longest, total, done = self._tidied(), int(self.ticks.max()), int(self.ticks.sum()), 0
        bounds = np.searchsorted(whole["tick"], np.arange(longest + 1))
        moves = np.zeros_like(arrays.active)
        arrays.restart[...] = True
        restart()
        for tick in range(longest):
            span = slice(bounds[tick], bounds[tick + 1])
            rows = whole["row"][span]
            arrays.action.T[rows] = whole["action"][span]
            arrays.mode.T[rows] = whole["mode"][span]
            moves.T[rows] = whole["active"][span]
            going = self.ticks > tick
            arrays.active[...] = moves & going
            step()
            done += int(going.sum())
            if progress is not None:
                progress(done, total)
        same = all(
            np.array_equal(getattr(arrays, name), held[name], equal_nan=held[name].dtype.kind == "f")
            for name in ("state", "failure")
        )
        for name, array in held.items():
            getattr(arrays, name)[...] = array
        if not same:
            rule = "is not what flying it again comes to: it is of another version of JSBSim or kind of processor"
            raise PeError("the environment's state", rule, cure="go on where the training was begun")
