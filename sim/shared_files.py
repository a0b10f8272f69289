"""Where the files are that come with the package: in the source tree, or under ``share/pe_ros`` of a prefix."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pe_sim.errors import EngagementError
from pe_sim.schema import nearest


def config_directories() -> list[Path]:
    """Return every directory ``config`` of this package that exists, the nearest first."""
    prefixes = [*filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)), sys.prefix]
    source = Path(__file__).resolve().parent.parent / "config"
    candidates = [source, *(Path(prefix) / "share" / "pe_ros" / "config" for prefix in prefixes)]
    return [path for path in dict.fromkeys(candidates) if (path / "engagements").is_dir()]


def shipped_engagements() -> dict[str, Path]:
    """Return the engagement files that come with the package, by name."""
    return _shipped("engagements")


def _shipped(room: str) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for directory in reversed(config_directories()):
        found.update({path.stem: path for path in sorted((directory / room).glob("*.yaml"))})
    return dict(sorted(found.items()))


def engagement_file(name: str | Path) -> Path:
    """Return the path of an engagement file given by its path, or by the name of a shipped one.

    Raises:
        EngagementError: if there is neither.
    """
    return _file(name, "engagements", "engagement")


def training_file(name: str | Path) -> Path:
    """Return the path of a training file given by its path, or by the name of a shipped one.

    Raises:
        EngagementError: if there is neither.
    """
    return _file(name, "train", "training")


def _file(name: str | Path, room: str, what: str) -> Path:
    path = Path(name)
    if path.exists() or path.suffix in (".yaml", ".yml") or len(path.parts) > 1:
        return path
    shipped = _shipped(room)
    if str(name) not in shipped:
        raise EngagementError(str(name), f"is neither a file nor a shipped {what}", cure=nearest(str(name), shipped))
    return shipped[str(name)]
