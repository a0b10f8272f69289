"""Build backend (PEP 517, PEP 660): setuptools, plus the ROS wheels of the chosen family where messages are built.

A backend of our own because what a build needs depends on the family, which `build-system.requires` cannot say, and
because a package without ROS must not need ROS wheels to be built.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from typing import TypeAlias

from family import build_requirements, chosen_family
from messages import require_compiler
from setuptools import build_meta

Settings: TypeAlias = dict[str, str | list[str] | None] | None

build_sdist = build_meta.build_sdist
get_requires_for_build_sdist = build_meta.get_requires_for_build_sdist


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    """Return the ROS wheels, and the build tools that the machine lacks.

    Raises:
        ChoiceError: a setting means nothing.
        BuildError: the machine cannot build messages.
    """
    family = chosen_family(config_settings)
    if family is None:
        return []
    require_compiler()  # before minutes of downloads
    tools = [] if shutil.which("cmake") else ["cmake>=3.20"]
    if not (shutil.which("make") or shutil.which("ninja")):
        tools.append("ninja")
    return [*build_requirements(family), *tools]


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    """Return the same as for a wheel: an editable install has built messages too."""
    return get_requires_for_build_wheel(config_settings)


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Settings = None) -> str:
    """Write the metadata; it does not depend on the messages."""
    return build_meta.prepare_metadata_for_build_wheel(metadata_directory, _for_setuptools(config_settings))


def prepare_metadata_for_build_editable(metadata_directory: str, config_settings: Settings = None) -> str:
    """Write the metadata; it does not depend on the messages."""
    return build_meta.prepare_metadata_for_build_editable(metadata_directory, _for_setuptools(config_settings))


def build_wheel(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Build the wheel, with messages if a family is chosen."""
    _choose(config_settings)
    return build_meta.build_wheel(wheel_directory, _for_setuptools(config_settings), metadata_directory)


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Build the wheel of an editable install: built messages, and a path to the source tree."""
    _choose(config_settings)
    return build_meta.build_editable(wheel_directory, _for_setuptools(config_settings), metadata_directory)


def _choose(settings: Settings) -> None:
    """Hand the choice to setup.py, which setuptools runs in this process without the config settings."""
    family = chosen_family(settings)
    os.environ["PE_ROS_MESSAGES"] = "on" if family else os.environ.get("PE_ROS_MESSAGES", "auto")
    if settings and settings.get("messages") == "off":
        os.environ["PE_ROS_MESSAGES"] = "off"
    if family:
        os.environ["PE_ROS_DISTRO"] = family


def _for_setuptools(settings: Mapping[str, str | list[str] | None] | None) -> Settings:
    return {key: value for key, value in (settings or {}).items() if key not in {"distro", "messages"}}
