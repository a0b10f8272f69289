"""What a checker finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """One thing worth knowing before an engagement is trained or flown.

    Attributes:
        level: 'error': it cannot run. 'warning': it runs, and most likely not as meant. 'note': good to know.
        name: what it is about: the path of a key, an agent, a part of a step.
        text: what is so.
        cure: what to do about it, or ''.
    """

    level: Literal["error", "warning", "note"]
    name: str
    text: str
    cure: str = ""

    def __str__(self) -> str:
        return f"{self.level}: {self.name}: {self.text}" + (f"; {self.cure}" if self.cure else "")


def worst(findings: list[Finding]) -> str:
    """Return the highest level found, '' for none."""
    levels = {finding.level for finding in findings}
    return next((level for level in ("error", "warning", "note") if level in levels), "")
