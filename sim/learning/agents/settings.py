"""Settings of agents: a namespace with the names that XuanCe 1.4.4's files use."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from pe_sim.errors import PeError


def setting(config: Namespace, name: str) -> Any:
    """Return a setting that must be there.

    Raises:
        PeError: if it is not.
    """
    try:
        return getattr(config, name)
    except AttributeError as fault:
        raise PeError(f"config.{name}", "is not set, and there is no default for it") from fault


def widths(config: Namespace, part: str) -> tuple[int, ...]:
    """Return the widths of the hidden layers of a network.

    Args:
        config: 'hidden' holds for every network; without it 'representation_hidden_size' and '<part>_hidden_size'
            follow one another; without those two layers of 64.
        part: 'actor', 'critic' or 'q'.
    """
    if hasattr(config, "hidden"):
        return tuple(int(width) for width in config.hidden)
    names = ("representation_hidden_size", f"{part}_hidden_size")
    found = [int(width) for name in names for width in getattr(config, name, None) or ()]
    return tuple(found) if found else (64, 64)
