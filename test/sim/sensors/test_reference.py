"""The page on sensors says what the classes say."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel

from pe_sim import registry
from pe_sim.sensors.reference import SECTIONS, meanings, sensor_tables, with_tables

PAGE = Path(__file__).resolve().parents[3] / "docs" / "sensors.md"


def test_the_page_is_up_to_date() -> None:
    page = PAGE.read_text(encoding="utf-8")
    cure = "run: python -m pe_sim.sensors.reference docs/sensors.md"
    assert page == with_tables(page, sensor_tables()), cure


@pytest.mark.parametrize("name", registry.BUILT_IN["pe_sim.sensors"])
def test_every_parameter_has_a_meaning(name: str) -> None:
    models: list[type[BaseModel]] = [registry.lookup("pe_sim.sensors", name).Parameters]
    models += [model for _, model in SECTIONS]
    for model in models:
        assert set(model.model_fields) <= set(meanings(model)), model
