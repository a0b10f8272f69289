"""Limits of agents that are drawn anew for every episode (see :mod:`pe_sim.randomise`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from pe_sim.arrays import Array
from pe_sim.draws import Draw

if TYPE_CHECKING:
    from pe_sim.engagement import Engagement

Limit = Callable[[Any], float]
"""What a model makes of an agent's section of the file, e.g. ``lambda spec: spec.max_acceleration * dt``."""

MOST_CORNERS = 256
"""Corners of the ranges up to which all are looked at; beyond, the least and the greatest of each parameter."""


class Seen:
    """An agent's section with other values for some of its keys.

    Attributes:
        said: the section as the file says it.
        asked: whether any of the other values was asked for.
    """

    def __init__(self, spec: Any, values: dict[str, Any]) -> None:
        self.said = spec
        self._values = values
        self.asked = False

    def __getattr__(self, key: str) -> Any:
        if key in self._values:
            self.asked = True
            return self._values[key]
        return getattr(self.said, key)


@dataclass
class _Kept:
    """A limit that depends on what is drawn.

    Attributes:
        limit: what it is.
        values: of every agent in every engagement, (n, B); written in place at every draw.
        whole: whether the formula takes arrays.
    """

    limit: Limit
    values: Array
    whole: bool


def draws_of(engagement: Engagement, role: str, xp: Any) -> dict[str, Draw]:
    """Return key -> draw of a role's dynamics."""
    first, last = engagement.role_ranges[role]
    start = f"roles.{role}.dynamics."
    return {
        path.removeprefix(start): Draw(engagement, path, xp, engagement.agents[first:last])
        for path in engagement.randomise
        if path.startswith(start)
    }


def extremes(spec: Any, draws: dict[str, Draw]) -> list[Any]:
    """Return an agent's section with its drawn keys at the ends of their ranges, in every combination."""
    if not draws:
        return [spec]
    ends = [[(key, draw.low), (key, draw.high)] for key, draw in draws.items()]
    if 2 ** len(ends) <= MOST_CORNERS:
        corners = [dict(corner) for corner in product(*ends)]
    else:
        corners = [{key: draw.low for key, draw in draws.items()}, {key: draw.high for key, draw in draws.items()}]
        corners += [dict([end]) for pair in ends for end in pair]
    return [spec.model_copy(update=corner) for corner in corners]


class Limits:
    """The limits of neighbouring roles whose agents move alike.

    Args:
        engagement: the engagement.
        roles: the roles in order.
        batch: number of engagements B.
        xp: array namespace.

    Attributes:
        extremes: the sections of all agents at the ends of the ranges.
        drawn: keys of which any agent's value is drawn.
    """

    def __init__(self, engagement: Engagement, roles: Sequence[str], batch: int, xp: Any) -> None:
        self._xp, self._batch = xp, batch
        self._specs = [engagement.roles[role].dynamics for role in roles for _ in range(engagement.roles[role].count)]
        self._draws = [(engagement.roles[role].count, draws_of(engagement, role, xp)) for role in roles]
        self.drawn = {key for _, draws in self._draws for key in draws}
        self.extremes = tuple(
            end for (count, draws), role in zip(self._draws, roles, strict=True) if count
            for end in extremes(engagement.roles[role].dynamics, draws)
        )
        self._kept: list[_Kept] = []

    def each(self, limit: Limit, dtype: Any = None) -> Array | None:
        """Return a limit of every agent in every engagement, (n, B); None where it does not depend on draws.

        The array is written in place at every draw.
        """
        probes = [Seen(spec, {key: getattr(spec, key) for key in self.drawn}) for spec in self._specs]
        nominal = [float(limit(probe)) for probe in probes]
        if not any(probe.asked for probe in probes):
            return None
        xp = self._xp
        dtype = xp.float64 if dtype is None else dtype
        values = xp.asarray(nominal, dtype=dtype)[:, None] + xp.zeros((1, self._batch), dtype=dtype)
        self._kept.append(_Kept(limit, values, self._takes_arrays(limit)))
        return values

    def _takes_arrays(self, limit: Limit) -> bool:
        """Return whether a formula can be given arrays: not where it asks or calls for a number."""
        try:
            for spec in self._specs:
                pair = {key: np.asarray([getattr(spec, key)] * 2) for key in self.drawn}
                if np.shape(limit(Seen(spec, pair))) not in ((), (2,)):
                    return False
        except (TypeError, ValueError):
            return False
        return True

    def redraw(self, roots: Array, rows: Array | None) -> None:
        """Draw for new episodes with root keys (R,) in the engagements ``rows`` (indices; None for all)."""
        where = slice(None) if rows is None else rows
        agent = 0
        for count, draws in self._draws:
            drawn = {key: draw.values(roots) for key, draw in draws.items()}
            # Where one draw holds for the role, its agents are alike.
            sets = 0 if not draws else count if any(draw.each_agent for draw in draws.values()) else 1
            for number in range(sets):
                own = {key: values[number] for key, values in drawn.items()}
                mine = slice(agent + number, agent + number + count // sets)
                for kept in self._kept:
                    kept.values[mine, where] = self._evaluate(kept, self._specs[agent + number], own)
            agent += count

    def _evaluate(self, kept: _Kept, spec: Any, values: dict[str, Array]) -> Any:
        if kept.whole:
            found: Any = kept.limit(Seen(spec, values))
            return found if isinstance(found, int | float) else self._xp.astype(found, kept.values.dtype)
        columns = zip(*(value.tolist() for value in values.values()), strict=True)
        each = [kept.limit(Seen(spec, dict(zip(values, column, strict=True)))) for column in columns]
        return self._xp.asarray(each, dtype=kept.values.dtype)
