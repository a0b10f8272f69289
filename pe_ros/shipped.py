"""Where the shipped files are: in the source tree, or in share/pe_ros of the prefix that this package lies in."""

from __future__ import annotations

import sys
from pathlib import Path

import pe_ros
from pe_sim.errors import EngagementError
from pe_sim.schema import nearest


def _config_directories() -> list[Path]:
    package = Path(pe_ros.__file__).resolve()
    prefixes = [Path(sys.prefix), *package.parents]
    return [package.parents[1] / "config", *(prefix / "share" / "pe_ros" / "config" for prefix in prefixes)]


def engagement_file(name: str) -> Path:
    """Return the path of a shipped engagement file.

    Raises:
        EngagementError: if there is none of this name.
    """
    found: set[str] = set()
    for directory in _config_directories():
        path = directory / "engagements" / f"{name}.yaml"
        if path.is_file():
            return path
        found |= {file.stem for file in (directory / "engagements").glob("*.yaml")}
    raise EngagementError("engagement", "no shipped engagement of this name", name, nearest(name, found))


def engagement_path(text: str) -> Path:
    """Return a path as it is if it exists or looks like one, else that of the shipped engagement of this name."""
    path = Path(text)
    return path if path.exists() or path.suffix or "/" in text else engagement_file(text)
