"""Adds to setuptools what pyproject.toml cannot say: messages built with CMake, and what a ROS 2 prefix holds."""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import defaultdict
from pathlib import Path
from typing import ClassVar

from setuptools import Command, find_packages, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build import build
from setuptools.dist import Distribution

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "build_support"))

from family import chosen_family, why_no_messages  # noqa: E402
from messages import PYTHON_DIRECTORY, stage_package  # noqa: E402

#: Rooms of Python code: directory here, package there.
ROOMS = {"pe_ros": "pe_ros", "sim": "pe_sim"}
#: Not taken from the staging directory: the Python rooms come from the source tree, `pe-ros` from the entry point.
NOT_STAGED = {PYTHON_DIRECTORY, "bin"}
#: Leads an editable install to the source tree: symbolic links named as the packages, alone in a directory.
LINKS = ROOT / ".editable"


def scratch_directory() -> Path:
    """Return a directory that goes when the build ends: files of earlier builds must not get into a wheel."""
    directory = Path(tempfile.mkdtemp(prefix="pe_ros_build_"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return directory


def rooms() -> list[str]:
    """Return all Python packages of the rooms, and directories of data files within them."""
    return [
        package if name == "" else f"{package}.{name}"
        for directory, package in ROOMS.items()
        for name in ["", *find_packages(str(ROOT / directory))]
    ]


def files_for_prefix(tree: Path, destination: str = "") -> dict[str, list[str]]:
    """Return the files of a tree by the directory, relative to the prefix, that each is installed in."""
    found = defaultdict(list)
    for path in sorted(tree.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            found[str(Path(destination) / path.parent.relative_to(tree))].append(str(path))
    return found


class PackageDistribution(Distribution):
    """A distribution that is bound to a Python and a machine if it holds messages or leads to a source tree."""

    editable = False

    def has_ext_modules(self) -> bool:
        """Return whether the wheel is bound to a Python and a machine."""
        return self.editable or chosen_family() is not None


class BuildPrefix(Command):
    """Builds the messages and collects what goes to the prefix: share/pe_ros, lib/*.so, lib/pe_ros, include/pe_ros."""

    description = "build the messages"
    user_options: ClassVar[list[tuple[str, str | None, str]]] = []

    def initialize_options(self) -> None:
        """Has no options of its own."""
        self.build_lib: str | None = None

    def finalize_options(self) -> None:
        """Take the directory of built modules."""
        self.set_undefined_options("build", ("build_lib", "build_lib"))

    def run(self) -> None:
        """Build, or without messages take what needs no build."""
        family = chosen_family()
        if family is None:
            self.warn(why_no_messages())
            self._without_messages()
            return
        self.announce(f"pe_ros: building messages for ROS 2 {family}", level=2)
        self._with_messages()

    def _with_messages(self) -> None:
        stage = stage_package(ROOT, scratch_directory())
        generated = stage / PYTHON_DIRECTORY / "pe_ros"
        target = Path(str(self.build_lib)) / "pe_ros"
        shutil.copytree(generated / "msg", target / "msg", ignore=shutil.ignore_patterns("__pycache__"))
        for library in generated.glob("*.so"):
            shutil.copy2(library, target)
        for part in stage.iterdir():
            if part.name not in NOT_STAGED:
                self._install(files_for_prefix(part, part.name))

    def _without_messages(self) -> None:
        share = "share/pe_ros"
        self._install({share: [str(ROOT / "package.xml")]})
        for room in ("launch", "config", "msg"):
            self._install(files_for_prefix(ROOT / room, f"{share}/{room}"))

    def _install(self, files: dict[str, list[str]]) -> None:
        self.distribution.data_files.extend(files.items())


class Build(build):
    """Builds the Python rooms, then the messages."""

    sub_commands: ClassVar = [*build.sub_commands, ("build_prefix", None)]


class EditableWheel(bdist_wheel):
    """The wheel of an editable install: what is built, and instead of the rooms a path to the source tree."""

    def run(self) -> None:
        """Link the rooms under their package names, and build a wheel that leads there."""
        self.distribution.editable = True
        self.distribution.packages = None
        LINKS.mkdir(exist_ok=True)
        for directory, package in ROOMS.items():
            link = LINKS / package
            link.unlink(missing_ok=True)
            link.symlink_to(Path("..") / directory)
        build_lib = Path(self.get_finalized_command("build").build_lib)
        build_lib.mkdir(parents=True, exist_ok=True)
        (build_lib / "__editable__.pe_ros.pth").write_text(f"{LINKS}\n", encoding="utf-8")
        super().run()


#: Neither built files nor metadata are left in the source tree (a source distribution needs its metadata there).
SCRATCH = str(scratch_directory())

setup(
    version=ET.parse(ROOT / "package.xml").findtext("version"),  # noqa: S314 - our own file
    distclass=PackageDistribution,
    packages=rooms(),
    package_dir={package: directory for directory, package in ROOMS.items()},
    package_data={"": ["**/*"]},
    exclude_package_data={"": ["**/__pycache__/*", "*.pyc"]},
    data_files=[],
    cmdclass={"build": Build, "build_prefix": BuildPrefix, "editable_wheel": EditableWheel},
    options={"build": {"build_base": SCRATCH}} | ({} if "sdist" in sys.argv else {"egg_info": {"egg_base": SCRATCH}}),
)
