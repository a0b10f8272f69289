"""Figures: ratios, goals and exit codes."""

from __future__ import annotations

import json

import pytest
from rich.console import Console

from pe_sim.bench.figures import Figure, report


@pytest.mark.parametrize(
    ("figure", "ratio", "holds"),
    [
        (Figure("speed", 30.0, "1/s", 10.0, "rival", goal=3.0), 3.0, True),
        (Figure("speed", 29.9, "1/s", 10.0, "rival", goal=3.0), 2.99, False),
        (Figure("latency", 1.5, "ms", 1.0, "floor", goal=1.5, better="less"), 1.5, True),
        (Figure("latency", 1.6, "ms", 1.0, "floor", goal=1.5, better="less"), 1.6, False),
        (Figure("factor", 15.0, "x", goal=15.0), None, True),
        (Figure("factor", 14.9, "x", goal=15.0), None, False),
        (Figure("fact", 1.0, "x"), None, None),
    ],
)
def test_a_goal_is_held_by_the_ratio_or_by_the_value(figure, ratio, holds):
    assert figure.ratio == (None if ratio is None else pytest.approx(ratio))
    assert figure.holds is holds


def test_the_report_writes_json_and_its_exit_code_tells_missed_goals(tmp_path):
    met, missed = Figure("a", 2.0, "x", goal=1.0), Figure("b", 1.0, "x", 4.0, "rival", goal=1.0, note="how")
    console = Console(record=True, width=120)
    assert report("bench", [met], None, console) == 0
    assert report("bench", [met, missed], tmp_path / "f.json", console) == 1
    data = json.loads((tmp_path / "f.json").read_text())
    rows = [(row["name"], row["holds"], row["ratio"]) for row in data["figures"]]
    assert rows == [("a", True, None), ("b", False, 0.25)]
    assert data["machine"]["cores"] >= 1
    assert "rival" in console.export_text()
