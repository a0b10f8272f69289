"""What training needs and running does not: torch."""

from __future__ import annotations

from pe_sim.errors import PluginError


def require_torch(what: str) -> None:
    """Say clearly that torch is missing, and have it compute with one thread.

    Args:
        what: what needs it, for the message.

    Raises:
        PluginError: if torch is not installed.
    """
    try:
        import torch
    except ImportError as fault:
        raise PluginError(what, "needs torch, which is not installed", cure="pip install '.[train]'") from fault
    torch.set_num_threads(1)
