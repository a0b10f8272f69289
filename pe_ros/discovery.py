"""Processes that start together find each other within tenths of a second."""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from pathlib import Path

PROFILE = Path(__file__).parent / "data" / "fastdds_profile.xml"
#: Names of the environment variable that leads Fast DDS to its profiles: version 2 (Jazzy), version 3 (Kilted).
PROFILE_VARIABLES = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")
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
        Whether the profile of pe_ros is in use: False where the user's configuration stands.
    """
    environment = os.environ if environment is None else environment
    directory = Path.cwd() if directory is None else directory
    if all(environment.get(name) == str(PROFILE) for name in PROFILE_VARIABLES):
        return True
    if any(environment.get(name) for name in USER_VARIABLES) or any((directory / name).exists() for name in USER_FILES):
        return False
    for name in PROFILE_VARIABLES:
        environment[name] = str(PROFILE)
    return True
