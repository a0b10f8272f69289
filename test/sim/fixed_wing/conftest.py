"""Long runs are left out unless a mark expression asks for them."""

from __future__ import annotations

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what takes minutes in a run without ``-m``."""
    if config.option.markexpr:
        return
    for item in items:
        if "fixed_wing" in item.nodeid and item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="takes minutes: run with -m slow"))
