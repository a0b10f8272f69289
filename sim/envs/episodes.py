"""Which episode an environment begins: numbers that a stream key can be made of, or an error that says so."""

from __future__ import annotations

from collections.abc import Mapping
from operator import index
from typing import Any

from pe_sim.errors import EngagementError
from pe_sim.schema import nearest

OPTIONS = ("episode",)
"""What ``options`` of a reset may hold for an environment; what is far from it is meant for a wrapper, and ignored."""


def checked_number(name: str, value: Any, least: int = 0) -> int:
    """Return a seed, the number of an episode or how many of something as an int.

    Raises:
        EngagementError: if it is no whole number from ``least`` to 2^63 - 1.
    """
    try:
        number = index(value)
    except TypeError:
        number = -1
    if isinstance(value, bool) or not least <= number < 2**63:
        raise EngagementError(name, f"must be a whole number from {least} to 2^63 - 1", value)
    return number


def next_episode(current: tuple[int, int], seed: Any, options: Any) -> tuple[int, int]:
    """Return seed and episode to begin.

    Args:
        current: seed and episode of the one before; -1 before the first.
        seed: begins a new run at episode 0; None goes on with the next episode.
        options: {'episode': n} begins at episode n of the run; None for no options.

    Raises:
        EngagementError: if seed or episode is no whole number from 0 to 2^63 - 1, or there is no such option.
    """
    if options is not None and not isinstance(options, Mapping):
        raise EngagementError("options", "must be a mapping", options)
    for key in options or ():
        if key not in OPTIONS and (cure := nearest(str(key), OPTIONS)).startswith("did you mean"):
            raise EngagementError("options", "there is no such option", key, cure)
    run, last = current if seed is None else (checked_number("seed", seed), -1)
    return run, checked_number("options.episode", (options or {}).get("episode", last + 1))
