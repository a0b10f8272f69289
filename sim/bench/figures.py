"""What a benchmark prints: figures against a rival or a floor, measured in one run, each with its goal."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Figure:
    """One figure of a benchmark.

    Attributes:
        name: what was measured.
        value: the figure.
        unit: its unit.
        rival: the rival's or the floor's figure in the same unit, or None.
        against: what the rival is.
        goal: what the ratio must be, or the value where there is no rival.
        better: whether more or less is better.
        note: how it was measured, or what kept it from being measured.
    """

    name: str
    value: float
    unit: str
    rival: float | None = None
    against: str = ""
    goal: float | None = None
    better: Literal["more", "less"] = "more"
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """Value over rival."""
        return None if not self.rival else self.value / self.rival

    @property
    def holds(self) -> bool | None:
        """Whether the goal is met; None where there is none."""
        if self.goal is None:
            return None
        measured = self.value if self.ratio is None else self.ratio
        return measured >= self.goal if self.better == "more" else measured <= self.goal


def machine() -> dict[str, Any]:
    """Return what the figures were measured on."""
    installed = {name.lower() for name in packages_distributions()}
    versions = {name: version(name) for name in ("numpy", "torch", "jsbsim") if name in installed}
    model = ""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        names = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = names[0] if names else ""
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "versions": versions,
    }


def report(title: str, figures: list[Figure], json_file: Path | None, console: Console) -> int:
    """Print the table, write the JSON and return the exit code: 1 if a goal is missed.

    Args:
        title: name of the benchmark.
        figures: the figures.
        json_file: where to write the JSON, or None.
        console: where to print.
    """
    table = Table(title=title)
    for column in ("figure", "value", "rival or floor", "ratio", "goal", "holds"):
        table.add_column(column, justify="left" if column == "figure" else "right", overflow="fold")
    for one in figures:
        sign = "≥" if one.better == "more" else "≤"
        table.add_row(
            one.name + (f"\n({one.note})" if one.note else ""),
            f"{one.value:,.4g} {one.unit}",
            "" if one.rival is None else f"{one.rival:,.4g} {one.unit}\n{one.against}",
            "" if one.ratio is None else f"{one.ratio:,.3g}",
            "" if one.goal is None else f"{sign} {one.goal:,g}",
            {True: "yes", False: "NO", None: ""}[one.holds],
        )
    console.print(table)
    if json_file is not None:
        rows = [{**asdict(one), "ratio": one.ratio, "holds": one.holds} for one in figures]
        json_file.write_text(json.dumps({"figures": rows, "machine": machine()}, indent=2) + "\n", encoding="utf-8")
    return 1 if any(one.holds is False for one in figures) else 0
