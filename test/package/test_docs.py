"""The documentation is true: its links lead somewhere, its commands run, its examples work."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")) if kind == language]


def commands() -> list[tuple[str, str]]:
    """(page, command) of every pe-ros command in a bash block."""
    found = []
    for page in PAGES:
        for block in blocks(page, "bash"):
            lines = [line.strip() for line in block.replace("\\\n", " ").splitlines()]
            name = page.relative_to(ROOT).as_posix()
            found += [(name, line.partition(" #")[0].strip()) for line in lines if line.startswith("pe-ros ")]
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    targets = [target for target in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in target]
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_modules_named_in_the_map_exist():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for path in re.findall(r"`((?:sim|pe_ros|test|build_support)/[\w/.]+)", text):
        assert (ROOT / path.rstrip("/.")).exists(), path


@pytest.mark.ros
def test_commands_of_the_documentation_run(ros_domain, tmp_path):
    pytest.importorskip("rclpy", reason="needs ROS 2: install pe-ros[ros]")
    (tmp_path / "config").symlink_to(ROOT / "config")
    (tmp_path / "demo_output").mkdir()
    run = []
    for page, command in commands():
        words = shlex.split(command)[1:]
        if words[:1] == ["bench"]:  # takes minutes; its help must at least know it
            words = [*words[:2], "--help"]
        done = subprocess.run(
            [sys.executable, "-m", "pe_ros.cli", *words],
            check=False, cwd=tmp_path, capture_output=True, text=True, timeout=100,
        )
        assert done.returncode == 0, f"{page}: {command}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        run.append(command)
    assert len(run) >= 5


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=lambda page: page.name)
def test_python_examples_compile(page):
    for block in blocks(page, "python"):
        compile(block, page.name, "exec")


@pytest.mark.parametrize("seed", [0, 8, 9, 12])  # 8, 9, 12: one agent ends before the others
def test_the_example_of_the_readme_works_whatever_is_drawn(monkeypatch, seed):
    monkeypatch.chdir(ROOT)
    from gymnasium.utils import seeding

    draw = seeding.np_random
    monkeypatch.setattr(seeding, "np_random", lambda given=None: draw(seed if given is None else given))
    (example,) = blocks(ROOT / "README.md", "python")
    scope: dict[str, object] = {}
    exec(compile(example, "README.md", "exec"), scope)
    assert scope["terminations"]["__all__"] or scope["truncations"]["__all__"]
