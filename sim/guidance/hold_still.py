"""Hold still: the action nearest to zero. A target for tests and the plainest baseline."""

from __future__ import annotations

from typing import ClassVar

from pe_sim.arrays import Array
from pe_sim.guidance.base import Guidance
from pe_sim.policies.base import Views


class HoldStill(Guidance):
    """Always the action nearest to zero."""

    name: ClassVar[str] = "hold_still"
    formula: ClassVar[str] = "0"
    needs: ClassVar[str] = "nothing"

    def law(self, views: Views, now: Array, due: Array) -> tuple[Array, Array | None]:
        """Return zeros, or the limits nearest to them."""
        del views, now, due
        return self._rest(), None
