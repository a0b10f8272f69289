"""Message definitions as rosbag2 stores them: the ``.msg`` text of a type followed by those of all it contains."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from pe_sim.errors import BagError

SEPARATOR = "=" * 80

_TYPE_NAME = re.compile(r"(?P<package>[a-zA-Z][a-zA-Z0-9_]*)/(?:msg/)?(?P<name>[a-zA-Z][a-zA-Z0-9_]*)")
_FIELD_TYPE = re.compile(r"\s*([a-zA-Z][a-zA-Z0-9_/]*)(?:<=\d+)?(?:\[[^\]]*\])?\s+[a-zA-Z]")
_PRIMITIVE = re.compile(r"bool|byte|char|octet|float(32|64)|u?int(8|16|32|64)|w?string")


@dataclass(frozen=True)
class MessageDefinition:
    """The definition of a message type.

    Attributes:
        type: full name, e.g. ``nav_msgs/msg/Odometry``.
        text: the type's ``.msg`` text and, separated as in rosbag2, those of all message types in it (``ros2msg``).
        type_hash: REP-2011 hash, e.g. ``RIHS01_3cc9...``, or '' where the installation has none.
    """

    type: str
    text: str
    type_hash: str


def split_type(type_name: str) -> tuple[str, str]:
    """Return package and name of a message type.

    Args:
        type_name: ``package/msg/Name`` or ``package/Name``.

    Raises:
        BagError: the name is not that of a message type.
    """
    match = _TYPE_NAME.fullmatch(type_name)
    if match is None:
        raise BagError(
            "message type", "must read package/msg/Name", type_name, "services and actions cannot be recorded"
        )
    return match["package"], match["name"]


@functools.cache
def find_definition(type_name: str) -> MessageDefinition:
    """Return the definition of a message type from the installed ROS packages.

    Args:
        type_name: ``package/msg/Name``.

    Raises:
        BagError: the type, or one it contains, is not installed; the error names the package.
    """
    package, name = split_type(type_name)
    sections: dict[str, str] = {}
    _collect(package, name, type_name, sections)
    first, *others = sections
    text = sections[first]
    for other in others:
        text += f"\n{SEPARATOR}\nMSG: {other}\n{sections[other]}"
    return MessageDefinition(f"{package}/msg/{name}", text, _type_hash(package, name))


def contained_types(package: str, text: str) -> list[str]:
    """Return the message types, as ``package/Name``, that a ``.msg`` text uses, in order, each once."""
    found: dict[str, None] = {}
    for line in text.splitlines():
        match = _FIELD_TYPE.match(line.split("#", 1)[0] + " ")
        if match is None or _PRIMITIVE.fullmatch(match[1]):
            continue
        inner_package, inner_name = split_type(match[1]) if "/" in match[1] else (package, match[1])
        found[f"{inner_package}/{inner_name}"] = None
    return list(found)


def _collect(package: str, name: str, asked_for: str, sections: dict[str, str]) -> None:
    text = _share_file(package, f"{name}.msg", asked_for).read_text(encoding="utf-8")
    sections[f"{package}/{name}"] = text
    for inner in contained_types(package, text):
        if inner not in sections:
            _collect(*split_type(inner), asked_for, sections)


def _share_file(package: str, file: str, asked_for: str) -> Path:
    packages = [prefix / "share" / package for prefix in ament_prefixes(package)]
    for share in packages:
        if (share / "msg" / file).is_file():
            return share / "msg" / file
    installed = next((share for share in packages if share.is_dir()), None)
    if installed is None:
        rule = f"its package {package!r} is not installed, so its definition cannot be put into the bag"
        cure = f"install {package} (ros-<distribution>-{package.replace('_', '-')}) or source the workspace it is in"
    else:
        rule = f"package {package!r} in {installed} has no msg/{file}"
        cure = f"rebuild {package}, or correct the type"
    raise BagError(f"message type {asked_for}", rule, None, cure)


def ament_prefixes(package: str) -> list[Path]:
    """Return the installation prefixes a package may lie in, the likeliest first.

    These are the ament prefixes of the environment, the prefix Python runs from (a virtual environment with ROS
    wheels is an ament prefix that no variable names), and the one the package's own Python module lies in.
    """
    prefixes = [Path(entry) for entry in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if entry]
    prefixes.append(Path(sys.prefix))
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        spec = None
    for location in (spec.submodule_search_locations or ()) if spec else ():
        prefixes.extend(Path(location).parents)
    return list(dict.fromkeys(prefixes))


def _type_hash(package: str, name: str) -> str:
    for prefix in ament_prefixes(package):
        description = prefix / "share" / package / "msg" / f"{name}.json"
        try:
            hashes = json.loads(description.read_text(encoding="utf-8"))["type_hashes"]
            return next(str(h["hash_string"]) for h in hashes if h["type_name"] == f"{package}/msg/{name}")
        except (OSError, ValueError, KeyError, TypeError, StopIteration):
            continue
    return ""
