"""Rivals of the simulation in a virtual environment of their own, each a process that runs turns when told to."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path
from types import TracebackType

from pe_sim.errors import ContractError

REQUIREMENTS = ("torch==2.13.0", "vmas>=1.5,<2", "mpe2>=0.0.1")
"""What the rivals need; pinned where another build would be very much larger."""

SCRIPTS = Path(__file__).resolve().parent / "rival_scripts"


def rivals_directory() -> Path:
    """Return where the rivals' environment lies unless told otherwise."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "pe_ros" / "bench_rivals"


def rivals_python(directory: Path, requirements: tuple[str, ...] = REQUIREMENTS) -> Path:
    """Return the Python of the rivals' environment, which is made if it is not there.

    Args:
        directory: where it lies.
        requirements: what it holds.

    Raises:
        ContractError: if it cannot be made, with the command that would.
    """
    python = directory / "bin" / "python"
    done = directory / "complete"
    if done.exists():
        return python
    venv.create(directory, with_pip=True, clear=True)
    command = [str(python), "-m", "pip", "install", "--quiet", *requirements]
    made = subprocess.run(  # noqa: S603 - a command of our own
        command, capture_output=True, text=True, check=False
    )
    if made.returncode != 0:
        last = made.stderr.strip().splitlines()[-1:] or ["pip failed"]
        raise ContractError("rivals", f"cannot be installed: {last[0]}", cure=" ".join(command))
    done.touch()
    return python


class Rival:
    """A rival's process. Leaves when told, and when this process is gone.

    Args:
        python: the Python that has it.
        script: its script, which reads lines 'steps' and answers 'seconds', and prints 'ready' first.
        arguments: for the script.
    """

    def __init__(self, python: Path | str, script: str, *arguments: str) -> None:
        command = [str(python), str(SCRIPTS / script), *arguments]
        environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
        self._process = subprocess.Popen(  # noqa: S603 - a script of our own
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        self.name = script.removesuffix(".py")
        if self._answer() != "ready":
            raise ContractError(self.name, "did not start", cure=" ".join(command))

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def seconds(self, steps: int) -> float:
        """Return how long it takes for so many steps [s].

        Raises:
            ContractError: if it has ended.
        """
        assert self._process.stdin is not None
        self._process.stdin.write(f"{steps}\n")
        self._process.stdin.flush()
        answer = self._answer()
        if not answer:
            raise ContractError(self.name, "has ended by itself")
        return float(answer)

    def __enter__(self) -> Rival:
        """Return itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, at: TracebackType | None) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def own_python() -> str:
    """Return the Python that runs this."""
    return sys.executable
