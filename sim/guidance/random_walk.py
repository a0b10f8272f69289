"""Random: an action drawn uniformly at each decision, from the agent's own stream."""

from __future__ import annotations

from typing import ClassVar

from pe_sim import streams
from pe_sim.arrays import Array
from pe_sim.guidance.base import Guidance
from pe_sim.policies.base import Views


class RandomWalk(Guidance):
    """Uniform over the choices, or over the box of the action's limits."""

    name: ClassVar[str] = "random"
    deterministic = False
    formula: ClassVar[str] = "uniform"
    needs: ClassVar[str] = "nothing"

    def law(self, views: Views, now: Array, due: Array) -> tuple[Array, Array | None]:
        """Draw an action."""
        del views, now, due
        xp, action = self.xp, self.context.action
        draws = [streams.uniform(xp, self.keys, self.count, i) for i in range(action.size)]
        if action.discrete:
            return xp.stack([xp.floor(draws[0] * action.choices)]), None
        low, high = action.low.astype(float), action.high.astype(float)
        return xp.stack([low[i] + (high[i] - low[i]) * draw for i, draw in enumerate(draws)]), None
