"""The contract of scripted guidance: a law with parameters that decides from what the agents' sensors tell."""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from typing import Any, ClassVar

from pe_sim import streams
from pe_sim.arrays import Array
from pe_sim.policies.base import Policy, PolicyContext, Views
from pe_sim.schema import Strict


class GuidanceSpec(Strict):
    """A law without parameters."""


class Guidance(Policy):
    """A guidance law. Subclasses implement :meth:`law` and keep memory, if any, as arrays (..., n, B).

    An agent for which the law has no answer (it sees nobody, or knows too little) keeps its last action; before the
    first that is the action nearest to zero.

    Attributes:
        name: name in ``policy.use``, after 'guidance/'.
        formula: the law in symbols, for the reference.
        needs: what it must know, for the reference.
        Parameters: its parameters.
        keys: stream key of each agent's own randomness, int64 (n, B).
        count: decisions so far, int64 (n, B).
    """

    name: ClassVar[str]
    formula: ClassVar[str] = ""
    needs: ClassVar[str] = "see below"
    Parameters: ClassVar[type[GuidanceSpec]] = GuidanceSpec

    def __init__(self, context: PolicyContext, parameters: Any) -> None:
        super().__init__(context)
        self.parameters: GuidanceSpec = parameters
        xp, shape = self.xp, (len(context.agents), context.batch)
        self.keys: Array = xp.zeros(shape, dtype=xp.int64)
        self.count: Array = xp.zeros(shape, dtype=xp.int64)
        self._last: Array = self._rest()

    @property
    def sha256(self) -> str:
        """Hash of the law's name and parameters."""
        text = json.dumps([self.name, self.parameters.model_dump(mode="json")], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def _rest(self) -> Array:
        """Return the action nearest to zero, float32 (A, n, B)."""
        xp, context = self.xp, self.context
        values = xp.zeros((context.action.size, len(context.agents), context.batch), dtype=xp.float32)
        low, high = (xp.asarray(bound)[:, None, None] for bound in (context.action.low, context.action.high))
        return xp.where(values < low, low, xp.where(values > high, high, values))

    def reset(self, roots: Array, rows: Array | None) -> None:
        """Forget everything in the given engagements."""
        where = slice(None) if rows is None else rows
        names = [streams.name_key(f"{agent}/policy") for agent in self.context.agents]
        self.keys[:, where] = self.xp.stack([streams.derive(roots, name) for name in names])
        self.count[:, where] = 0
        self._last[:, :, where] = self._rest()[:, :, : len(roots)]
        self.forget(rows)

    def forget(self, rows: Array | None) -> None:
        """Clear the law's own memory in the given engagements (indices; None for all). Default: it has none."""

    def decide(self, views: Views, now: Array, due: Array) -> Array:
        """Return the law's actions; an agent for which it has no answer keeps its last action."""
        xp = self.xp
        values, sure = self.law(views, now, due)
        values = xp.astype(values, xp.float32)
        answered = due if sure is None else due & sure
        if bool(xp.all(answered)):
            self._last = values
        else:
            self._last = xp.where(answered, values, self._last)
        self.count = self.count + xp.astype(due, xp.int64)
        return self._last

    @abstractmethod
    def law(self, views: Views, now: Array, due: Array) -> tuple[Array, Array | None]:
        """Return actions (A, n, B) and where they are well founded, bool (n, B), or None for everywhere.

        Memory may change only where ``due``.
        """
