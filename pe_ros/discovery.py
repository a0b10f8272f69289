"""Processes that start together find each other within tenths of a second."""

from __future__ import annotations

import ctypes
import os
from collections.abc import MutableMapping
from pathlib import Path

PROFILE = Path(__file__).parent / "data" / "fastdds_profile.xml"
_VARIABLE_OF = {  # library of Fast DDS version 3 (Kilted), version 2 (Jazzy)
    "libfastdds.so": "FASTDDS_DEFAULT_PROFILES_FILE",
    "libfastrtps.so": "FASTRTPS_DEFAULT_PROFILES_FILE",
}
#: Environment variables that lead Fast DDS to its profiles; each version reads one.
PROFILE_VARIABLES = tuple(_VARIABLE_OF.values())
#: Any of these means that the user has configured Fast DDS.
USER_VARIABLES = (*PROFILE_VARIABLES, "FASTDDS_BUILTIN_TRANSPORTS", "ROS_DISCOVERY_SERVER")
#: Read by Fast DDS from the working directory.
USER_FILES = ("DEFAULT_FASTRTPS_PROFILES.xml", "DEFAULT_FASTDDS_PROFILES.xml")


def use_profile(environment: MutableMapping[str, str] | None = None, directory: Path | None = None) -> bool:
    """Lead Fast DDS to the profile of pe_ros, unless the user has configured it; before `rclpy.init`, for children too.

    Args:
        environment: environment to change; this process's where None.
        directory: working directory; this process's where None.

    Returns:
        Whether the profile of pe_ros is in use: False where the user's configuration stands, or without Fast DDS.
    """
    environment = os.environ if environment is None else environment
    directory = Path.cwd() if directory is None else directory
    set_already = [environment[name] for name in USER_VARIABLES if environment.get(name)]
    if set_already == [str(PROFILE)]:
        return True
    variable = profile_variable()
    if variable is None or set_already or any((directory / name).exists() for name in USER_FILES):
        return False
    environment[variable] = str(PROFILE)
    return True


def profile_variable() -> str | None:
    """The variable that the installed Fast DDS reads (the other one would be warned of), or None without Fast DDS."""
    for library, variable in _VARIABLE_OF.items():
        try:
            ctypes.CDLL(library)
        except OSError:
            continue
        return variable
    return None
