"""Which messages a build makes: for which ROS 2 family, or none."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path
from typing import Final

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT: Final = Path(__file__).resolve().parent.parent

#: ROS 2 families with wheels, and the extra of pyproject.toml that lists what building messages for each takes.
BUILD_EXTRAS: Final = {"jazzy": "ros-build", "kilted": "ros-kilted-build"}

DEFAULT_FAMILY: Final = "jazzy"


class ChoiceError(SystemExit):
    """A build setting has a value that means nothing; ends the build with a line for a person."""


def has_wheels() -> bool:
    """Return whether ROS wheels exist for this platform (Linux on x86_64, CPython)."""
    return sys.platform == "linux" and platform.machine() == "x86_64" and sys.implementation.name == "cpython"


def chosen_family(settings: dict[str, str | list[str] | None] | None = None) -> str | None:
    """Return the ROS 2 family to build messages for, or None for a package without messages.

    `PE_ROS_MESSAGES` (`auto`, `on`, `off`) says whether, `PE_ROS_DISTRO` (`jazzy`, `kilted`) for which family; the
    config settings `messages` and `distro` say the same and win. With `auto` messages are made wherever there are
    ROS wheels, for the family of the sourced ROS 2 installation (`ROS_DISTRO`) where there is one.

    Args:
        settings: config settings of the build frontend (`pip install --config-settings distro=kilted`).

    Raises:
        ChoiceError: a value is unknown, or messages are demanded where there are no ROS wheels.
    """
    messages = _setting(settings, "messages", "PE_ROS_MESSAGES") or "auto"
    family = _setting(settings, "distro", "PE_ROS_DISTRO")
    if messages not in {"auto", "on", "off"}:
        raise ChoiceError(f"PE_ROS_MESSAGES is {messages!r}: it must be one of auto, on, off")
    if family is not None and family not in BUILD_EXTRAS:
        raise ChoiceError(f"PE_ROS_DISTRO is {family!r}: it must be one of {', '.join(BUILD_EXTRAS)}")
    if messages == "off":
        return None
    if not has_wheels():
        if messages == "on":
            raise ChoiceError(
                f"PE_ROS_MESSAGES=on: there are no ROS 2 wheels for {sys.platform} on {platform.machine()}; "
                "build with colcon over a ROS 2 installation"
            )
        return None
    sourced = os.environ.get("ROS_DISTRO")
    if family is None and sourced and sourced not in BUILD_EXTRAS:
        return DEFAULT_FAMILY if messages == "on" else None
    return family or sourced or DEFAULT_FAMILY


def why_no_messages() -> str:
    """Return a line for a person on what a package built without messages cannot do, and the cure."""
    if os.environ.get("PE_ROS_MESSAGES") == "off":
        reason = "PE_ROS_MESSAGES=off"
    elif not has_wheels():
        reason = f"there are no ROS 2 wheels for {sys.platform} on {platform.machine()}"
    else:
        reason = f"the sourced ROS 2 ({os.environ.get('ROS_DISTRO')}) has no wheels"
    return (
        f"pe_ros: building WITHOUT messages ({reason}): training with pe_sim works, ROS nodes do not; "
        "for the nodes build with colcon over a ROS 2 installation"
    )


def build_requirements(family: str) -> list[str]:
    """Return what building the messages of a family needs, as listed once in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirements: list[str] = project["optional-dependencies"][BUILD_EXTRAS[family]]
    return requirements


def _setting(settings: dict[str, str | list[str] | None] | None, key: str, variable: str) -> str | None:
    value = (settings or {}).get(key) or os.environ.get(variable) or None
    if isinstance(value, list):
        raise ChoiceError(f"config setting {key} is given {len(value)} times: give it once")
    return value.lower() if value else None
