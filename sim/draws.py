"""The draws of domain randomisation: parameters of every engagement of a batch, renewed at the start of its episodes.

A draw is a function of the seed, the episode, the parameter's path and, where each agent draws its own, the agent's
name: a row of a batch, a run alone and every node of a ROS graph draw the same. Where a file draws nothing, nothing
here is ever called.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pe_sim import streams
from pe_sim.arrays import Array, namespace
from pe_sim.randomise import bounds, number_of, targets
from pe_sim.timing import seconds

if TYPE_CHECKING:
    from pe_sim.engagement import Engagement

_PURPOSE = streams.name_key("randomise")


class Draw:
    """One parameter that is drawn for every episode.

    Args:
        engagement: the engagement.
        path: of the parameter in the file.
        xp: array namespace.
        agents: names of the agents that it is for; None for a parameter of the world.
        part: tells several draws of one path apart, e.g. the axes of a shift.

    Attributes:
        low, high: the least and the greatest that it can be; nanoseconds for a duration.
        duration: whether it is one: its draws are integers then.
        nominal: what the file says.
        each_agent: whether each agent draws its own.
    """

    def __init__(
        self, engagement: Engagement, path: str, xp: Any, agents: Sequence[str] | None = None, part: str = ""
    ) -> None:
        self._xp = xp
        spec, target = engagement.randomise[path], targets(engagement)[path]
        self.nominal, self.duration = target.nominal, target.duration
        self.low, self.high = bounds(target, spec)
        self._choices: Array = None
        if spec.choices is not None:
            kind = xp.int64 if self.duration else xp.float64
            self._choices = xp.asarray([number_of(target, value) for value in spec.choices], dtype=kind)
        self.each_agent = agents is not None and spec.per == "agent"
        self._path = streams.name_key(f"{path}/{part}" if part else path)
        self._agents = len(agents) if agents is not None else 0
        self._names: Array = None
        if agents is not None and self.each_agent:
            self._names = xp.asarray([[streams.name_key(name)] for name in agents], dtype=xp.int64)

    def values(self, roots: Array) -> Array:
        """Return the draws of episodes with root keys ``roots`` (int64, (R,)): (n, R) for n agents, else (R,).

        Durations are int64 [ns], everything else float64 in its SI unit.
        """
        xp = self._xp
        key = streams.derive(streams.derive(roots, _PURPOSE), self._path)
        if self._names is not None:
            key = streams.derive(key[None], self._names)
        share = streams.uniform(xp, key, 0)
        if self._choices is not None:
            count = self._choices.shape[0]
            place = xp.clip(xp.astype(share * float(count), xp.int64), None, count - 1)
            drawn = xp.take(self._choices, xp.reshape(place, (-1,)))
            drawn = xp.reshape(drawn, place.shape)
        elif self.duration:
            span = int(self.high) - int(self.low)
            drawn = int(self.low) + xp.clip(xp.astype(share * float(span + 1), xp.int64), None, span)
        else:
            # The upper bound is never passed, whatever the sum is rounded to.
            drawn = xp.clip(self.low + (self.high - self.low) * share, None, self.high)
        if self._agents and self._names is None:
            drawn = drawn[None] + xp.zeros((self._agents, 1), dtype=drawn.dtype)
        return drawn


def draw_of(
    engagement: Engagement, path: str, xp: Any, agents: Sequence[str] | None = None, part: str = ""
) -> Draw | None:
    """Return the draw of a parameter, None where the file draws it not."""
    if path not in engagement.randomise:
        return None
    return Draw(engagement, path, xp, agents, part)


class Parameter:
    """A parameter of n agents in B engagements: what the file says, or what is drawn for each episode.

    Args:
        engagement: the engagement.
        path: of the parameter in the file.
        nominal: what the file says; nanoseconds for a duration.
        xp: array namespace.
        agents: names of the agents.

    Attributes:
        value: a number where nothing is drawn, else (n, B).
        low, high: the least and the greatest that it can be.
        drawn: whether it is drawn.
    """

    def __init__(self, engagement: Engagement, path: str, nominal: Any, xp: Any, agents: Sequence[str]) -> None:
        self.value: Any = nominal
        self.low: Any = nominal
        self.high: Any = nominal
        self._draw = draw_of(engagement, path, xp, agents)
        if self._draw is not None:
            self.low, self.high = self._draw.low, self._draw.high
        self.drawn = self._draw is not None

    def redraw(self, roots: Array, rows: Array | None) -> None:
        """Draw for new episodes with root keys (R,) in the engagements ``rows`` (indices; None for all)."""
        if self._draw is None:
            return
        new = self._draw.values(roots)
        if rows is None:
            self.value = new
        else:
            self.value[:, rows] = new

    def only(self) -> Any:
        """Return the value of the one agent in the one engagement that there is."""
        return self.value[0, 0].item() if self.drawn and not isinstance(self.value, int | float) else self.value


def latency_of(engagement: Engagement, role: str) -> tuple[str, int]:
    """Return path and nominal value [ns] of the latency of a role's actions."""
    return f"roles.{role}.action.latency", engagement.roles[role].action.latency


def drawn_values(engagement: Engagement, seed: int, episode: int) -> dict[str, float | dict[str, float]]:
    """Return what is drawn in an episode: path -> value in SI units, or agent -> value where each draws its own.

    A shift has one value for each horizontal axis and obstacle: '<path>/x', '<path>/y'.
    """
    xp = namespace()
    roots = streams.episode_keys(np.asarray([seed], np.int64), np.asarray([episode], np.int64))
    out: dict[str, float | dict[str, float]] = {}
    known = targets(engagement)
    for path, spec in engagement.randomise.items():
        target = known[path]
        if path.startswith("world.obstacles"):
            for part in obstacle_parts(engagement, path):
                out[f"{path}/{part}"] = float(Draw(engagement, path, xp, None, part).values(roots)[0])
            continue
        agents = None
        if target.role is not None:
            first, last = engagement.role_ranges[target.role]
            agents = engagement.agents[first:last]
        values = Draw(engagement, path, xp, agents).values(roots).reshape(-1).tolist()
        shown = [seconds(value) if target.duration else value for value in values]
        out[path] = dict(zip(agents or (), shown, strict=True)) if spec.per == "agent" else shown[0]
    return out


def obstacle_parts(engagement: Engagement, path: str) -> list[str]:
    """Return the names of the draws of an obstacle's path: its number, and the axes of a shift."""
    *_, number, key = path.split(".")
    world: Any = engagement.world
    numbers = [number] if number.isdigit() else [str(i) for i in range(len(world.obstacles))]
    return [f"{n}/{axis}" for n in numbers for axis in "xy"] if key == "shift" else numbers
