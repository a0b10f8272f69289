"""What the package tests share: the wheel, built once, and a virtual environment it is installed in."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

#: What a wheel is made from.
SOURCES = ("MANIFEST.in", "package.xml", "CMakeLists.txt", "pyproject.toml", "setup.py", "README.md")
SOURCE_ROOMS = ("build_support", "msg", "config", "launch", "pe_ros", "sim")

#: Set by the ROS wheels for the environment that this process runs in: of no use to another environment.
OF_THIS_ENVIRONMENT = {
    "_ROS_WHEELS_BOOTSTRAP_COMPLETE", "LD_LIBRARY_PATH", "AMENT_PREFIX_PATH", "CMAKE_PREFIX_PATH", "PYTHONPATH",
    "VIRTUAL_ENV", "ROS_DISTRO", "PE_ROS_MESSAGES", "PE_ROS_DISTRO",
}  # fmt: skip


def clean_environment(**extra: str) -> dict[str, str]:
    """Return the environment variables for a process in another virtual environment."""
    kept = {name: value for name, value in os.environ.items() if name not in OF_THIS_ENVIRONMENT}
    path = os.pathsep.join(part for part in kept["PATH"].split(os.pathsep) if part != str(Path(sys.prefix) / "bin"))
    return kept | {"PATH": path, "PIP_DISABLE_PIP_VERSION_CHECK": "1"} | extra


def run(*command: str | Path, cwd: Path | None = None, **environment: str) -> str:
    """Run a command and return what it wrote; a failing one fails the test with that."""
    result = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=clean_environment(**environment), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    if result.returncode:
        pytest.fail(f"{' '.join(map(str, command))}\nexit code {result.returncode}\n{result.stdout}", pytrace=False)
    return result.stdout


@dataclass(frozen=True)
class Environment:
    """A virtual environment."""

    prefix: Path

    @classmethod
    def create(cls, prefix: Path, interpreter: str = sys.executable) -> "Environment":
        """Make a fresh one."""
        run(interpreter, "-m", "venv", prefix)
        return cls(prefix)

    @property
    def site_packages(self) -> Path:
        """Where its Python packages lie."""
        return next((self.prefix / "lib").glob("python3*/site-packages"))

    def activated(self) -> dict[str, str]:
        """Return the environment variables of a shell in which it is activated, and is the only ROS 2."""
        prefix = str(self.prefix)
        path = f"{prefix}/bin{os.pathsep}{clean_environment()['PATH']}"
        return {"PATH": path, "VIRTUAL_ENV": prefix, "AMENT_PREFIX_PATH": prefix, "CMAKE_PREFIX_PATH": prefix}

    def python(self, *arguments: str | Path, cwd: Path | None = None, **environment: str) -> str:
        """Run its Python and return what it wrote."""
        return run(self.prefix / "bin" / "python", *arguments, cwd=cwd or self.prefix, **environment)

    def run(self, executable: str, *arguments: str, cwd: Path | None = None, **environment: str) -> str:
        """Run a file of it, by its path from the prefix, and return what it wrote."""
        return run(self.prefix / executable, *arguments, cwd=cwd or self.prefix, **environment)

    def failing(self, executable: str, *arguments: str) -> str:
        """Run a file of it that must fail, by its path from the prefix, and return what it wrote."""
        command = [str(self.prefix / executable), *arguments]
        result = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, check=False)
        assert result.returncode != 0
        return result.stdout + result.stderr

    def bash(self, command: str, **environment: str) -> str:
        """Run a line of bash and return what it wrote."""
        return run("bash", "-c", command, cwd=self.prefix, **environment)

    def pip(self, *arguments: str | Path, **environment: str) -> str:
        """Run its pip and return what it wrote."""
        return self.python("-m", "pip", *arguments, **environment)

    def files(self) -> set[str]:
        """Return all files in it, less the byte code of others."""
        files = (path.relative_to(self.prefix) for path in self.prefix.rglob("*") if path.is_file())
        return {str(path) for path in files if path.suffix != ".pyc" or {"pe_ros", "pe_sim"} & set(path.parts)}


def source_files(source: Path) -> list[Path]:
    """Return all files that a wheel is made from."""
    files = [source / name for name in SOURCES]
    for room in SOURCE_ROOMS:
        files += [path for path in (source / room).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return sorted(files)


def fingerprint(source: Path) -> str:
    """Return a hash of all a wheel is made from, and of the Python it is for."""
    digest = hashlib.sha256(sys.version.encode())
    for path in source_files(source):
        digest.update(f"{path.relative_to(source)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class Source:
    """A source tree of the package."""

    root: Path

    def files(self, room: str) -> set[str]:
        """Return the files of a room, relative to it."""
        tree = self.root / room
        return {str(path.relative_to(tree)) for path in source_files(self.root) if tree in path.parents}

    def messages(self) -> list[str]:
        """Return the names of the messages."""
        return sorted(Path(name).stem for name in self.files("msg"))

    def nodes(self) -> list[str]:
        """Return the modules of pe_ros that are nodes to run."""
        nodes = sorted((self.root / "pe_ros").glob("*_node.py"))
        return [path.stem for path in nodes if "\ndef main(" in path.read_text(encoding="utf-8")]


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """A copy of all that a wheel is made from, so that a build leaves nothing in the source tree."""
    copy = tmp_path_factory.mktemp("source") / "pe_ros"
    for path in source_files(ROOT):
        target = copy / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, target)
    return Source(copy)


@pytest.fixture(scope="session")
def wheel(source: Source, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel with messages; kept for the next run as long as nothing it is made from changes."""
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        pytest.skip("there are no ROS wheels for this platform, so no wheel with messages")
    cache = Path(tempfile.gettempdir()) / f"pe_ros_test_wheels_{os.getuid()}" / fingerprint(source.root)
    if not list(cache.glob("*.whl")):
        built = tmp_path_factory.mktemp("wheel")
        run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", built, source.root)
        cache.mkdir(parents=True, exist_ok=True)
        for path in built.glob("*.whl"):
            partial = cache / f".{path.name}.{os.getpid()}"
            shutil.copy2(path, partial)
            partial.replace(cache / path.name)
    return next(cache.glob("*.whl"))


@pytest.fixture(scope="session")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """A fresh virtual environment with the wheel and ROS."""
    environment = Environment.create(tmp_path_factory.mktemp("environment") / "venv")
    environment.pip("install", "--quiet", "--no-compile", f"{wheel}[ros]")
    return environment


@pytest.fixture
def make_environment(tmp_path: Path) -> Callable[[str], Environment]:
    """Makes a fresh virtual environment of a given Python."""
    return lambda interpreter: Environment.create(tmp_path / "venv", interpreter)


@pytest.fixture(scope="session")
def own_environment() -> Environment:
    """The environment that the tests run in."""
    return Environment(Path(sys.prefix))
