"""Runs the package's CMake build into a staging directory, with the ROS 2 that the build environment holds."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Final

#: Python of the environment that a node executable is installed in, seen from lib/pe_ros/<node>.
NODE_PYTHON: Final = '$(dirname -- "$(readlink -f -- "$0")")/../../bin/python3'

#: Where the staging directory holds the Python packages.
PYTHON_DIRECTORY: Final = "python"


class BuildError(SystemExit):
    """Messages cannot be built; ends the build with a line for a person."""


def ros_prefix() -> Path:
    """Return the ament prefix of the ROS wheels in the build environment.

    Raises:
        BuildError: there are none.
    """
    spec = importlib.util.find_spec("rosidl_pycommon")
    if spec is None or spec.origin is None:
        raise BuildError(
            "pe_ros: the ROS 2 wheels that build messages are not in the build environment; "
            "drop --no-build-isolation, or first: pip install 'pe_ros[ros-build]'"
        )
    for directory in Path(spec.origin).parents:
        if (directory / "share" / "ament_index").is_dir():
            return directory
    raise BuildError(f"pe_ros: no share/ament_index above {spec.origin}: rosidl_pycommon is not installed as a wheel")


def require_compiler() -> None:
    """Check what only the machine can provide: a C++ compiler and the headers of this Python.

    Raises:
        BuildError: something is missing; says what, and the cures.
    """
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    headers = (Path(sysconfig.get_path("include")) / "Python.h").is_file()
    lacks = [
        what
        for what, found in (
            ("a C++ compiler (Debian, Ubuntu: sudo apt-get install g++)", compiler),
            (f"the headers of {sys.executable} (Debian, Ubuntu: sudo apt-get install python3-dev)", headers),
        )
        if not found
    ]
    if lacks:
        raise BuildError(
            f"pe_ros: building the messages needs {' and '.join(lacks)}; "
            "to train without ROS, build none: PE_ROS_MESSAGES=off pip install ."
        )


def stage_package(source: Path, work: Path) -> Path:
    """Configure, build and install the package with CMake.

    Args:
        source: directory of CMakeLists.txt.
        work: scratch directory.

    Returns:
        The staging directory: `lib/`, `share/`, `include/` as in an ament prefix, and the Python packages in `python/`.

    Raises:
        BuildError: a tool is missing, or CMake or the compiler failed.
    """
    prefix = ros_prefix()
    require_compiler()
    stage, build = work / "stage", work / "cmake"
    environment = _without_other_ros() | {"AMENT_PREFIX_PATH": str(prefix), "CMAKE_PREFIX_PATH": str(prefix)}
    options = {
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_INSTALL_PREFIX": str(stage),
        "CMAKE_INSTALL_LIBDIR": "lib",
        "BUILD_TESTING": "OFF",
        "PYTHON_INSTALL_DIR": PYTHON_DIRECTORY,
        "PE_ROS_NODE_PYTHON": NODE_PYTHON,
        "Python3_EXECUTABLE": sys.executable,
        "Python3_FIND_STRATEGY": "LOCATION",
    }
    if sys.prefix != sys.base_prefix:
        environment["VIRTUAL_ENV"] = sys.prefix
        options["Python3_FIND_VIRTUALENV"] = "ONLY"
    generator = [] if shutil.which("make") else ["-G", "Ninja"]
    definitions = [f"-D{name}={value}" for name, value in options.items()]
    _run(["cmake", "-S", str(source), "-B", str(build), *generator, *definitions], environment, "configuring")
    _run(["cmake", "--build", str(build), "--parallel", str(_jobs())], environment, "compiling")
    _run(["cmake", "--install", str(build)], environment, "installing")
    _forget_build_paths(stage)
    _let_pip_remove(stage)
    return stage


def _forget_build_paths(stage: Path) -> None:
    """Remove what names directories of this build, which will be gone: shell hooks, and the prefix built upon."""
    for hook in (stage / "share" / "pe_ros").glob("local_setup.*"):
        hook.unlink()
    index = stage / "share" / "ament_index" / "resource_index"
    (index / "parent_prefix_path" / "pe_ros").write_text("", encoding="utf-8")


def _let_pip_remove(stage: Path) -> None:
    """Put a file beside the directories of headers: pip leaves a directory behind that holds directories only."""
    (stage / "include" / "pe_ros" / ".keep").touch()


def _without_other_ros() -> dict[str, str]:
    """Return the environment less the libraries of other ament prefixes: the linker would take them for this one's."""
    environment = dict(os.environ)
    libraries = environment.pop("LD_LIBRARY_PATH", "").split(os.pathsep)
    kept = [path for path in libraries if path and not (Path(path).parent / "share" / "ament_index").is_dir()]
    return environment | ({"LD_LIBRARY_PATH": os.pathsep.join(kept)} if kept else {})


def _jobs() -> int:
    return int(os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") or len(os.sched_getaffinity(0)))


def _run(command: list[str], environment: dict[str, str], doing: str) -> None:
    result = subprocess.run(command, env=environment, text=True, capture_output=True, check=False)  # noqa: S603
    if result.returncode:
        sys.stderr.write(f"$ {' '.join(command)}\n{result.stdout}{result.stderr}\n")
        raise BuildError(f"pe_ros: {doing} the messages failed (CMake's output is above)")
