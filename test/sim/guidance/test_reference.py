"""The page on guidance says what the classes say."""

from __future__ import annotations

from pathlib import Path

import pytest

from pe_sim import registry
from pe_sim.guidance.reference import law_tables
from pe_sim.sensors.reference import meanings, with_tables

PAGE = Path(__file__).resolve().parents[3] / "docs" / "guidance.md"


def test_the_page_is_up_to_date() -> None:
    page = PAGE.read_text(encoding="utf-8")
    cure = "run: python -m pe_sim.guidance.reference docs/guidance.md"
    assert page == with_tables(page, law_tables()), cure


@pytest.mark.parametrize("name", registry.BUILT_IN["pe_sim.guidance"])
def test_every_parameter_has_a_meaning(name: str) -> None:
    parameters = registry.lookup("pe_sim.guidance", name).Parameters
    assert set(parameters.model_fields) <= set(meanings(parameters))
