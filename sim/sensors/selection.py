"""Whom a sensor measures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_core import PydanticCustomError

from pe_sim.schema import nearest

if TYPE_CHECKING:
    from pe_sim.engagement import Engagement


def target_indices(engagement: Engagement, role: str, number: int, targets: str, path: str) -> list[int]:
    """Return the indices of the agents that a sensor of agent ``role``_``number`` measures.

    Raises:
        PydanticCustomError: if the selection is unknown or empty.
    """
    own = engagement.role_ranges[role][0] + number
    team = engagement.teams[own]
    if targets == "opponents":
        chosen = [i for i, other in enumerate(engagement.teams) if other != team]
    elif targets == "teammates":
        chosen = [i for i, other in enumerate(engagement.teams) if other == team and i != own]
    elif targets == "everyone":
        chosen = [i for i in range(len(engagement.teams)) if i != own]
    elif targets in engagement.roles:
        first, last = engagement.role_ranges[targets]
        chosen = [i for i in range(first, last) if i != own]
    else:
        valid = ["opponents", "teammates", "everyone", *engagement.roles]
        raise PydanticCustomError(
            "targets", "{path}: no such targets {targets}; {nearest}",
            {"path": path, "targets": repr(targets), "nearest": nearest(targets, valid)},
        )
    if not chosen:
        raise PydanticCustomError("targets", "{path}: there is nobody to measure", {"path": path})
    return chosen
