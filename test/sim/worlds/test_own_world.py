"""What docs/worlds.md shows is true: its world keeps the contract, its files load, its tables name every setting."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from pe_sim import registry
from pe_sim.engagement import Engagement, parse
from pe_sim.worlds.base import WorldSpec
from pe_sim.worlds.contract import WorldContract
from pe_sim.worlds.dynamics.base import KinematicDynamicsSpec
from pe_sim.worlds.grid import GridMoverSpec, GridSpec
from pe_sim.worlds.kinematic import KinematicSpec

from .kit import LIMITS, world_file

TEXT = (Path(__file__).resolve().parents[3] / "docs" / "worlds.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", TEXT, flags=re.DOTALL)


def shown(language: str) -> list[str]:
    return [text for name, text in BLOCKS if name == language]


class TestTheWorldOfTheDocumentation(WorldContract):
    @pytest.fixture(autouse=True)
    def _registered(self, monkeypatch: pytest.MonkeyPatch) -> Any:
        module: dict[str, Any] = {"__name__": "ring"}
        exec(compile(shown("python")[0], "docs/worlds.md", "exec", dont_inherit=True), module)
        found = registry.lookup
        own = {("pe_sim.worlds", "ring"): module["RingWorld"], ("pe_sim.dynamics", "runner"): module["Runner"]}
        monkeypatch.setattr(registry, "lookup", lambda group, name: own.get((group, name)) or found(group, name))

    def engagement(self) -> Engagement:
        runner = {"model": "runner"}
        return parse(world_file({"p": (runner, 2, {}), "e": runner}, "ring", tick=0.1, min_separation=2))


def test_a_world_of_ones_own_takes_less_than_sixty_lines() -> None:
    assert len(shown("python")[0].strip().splitlines()) < 60


def test_the_files_shown_are_valid() -> None:
    kinematic, grid = (yaml.safe_load(text)["world"] for text in shown("yaml"))
    for world, model in ((kinematic, "multirotor"), (grid, "grid_mover")):
        dynamics = {"model": model, **LIMITS.get(model, {})}
        data = world_file({"p": dynamics, "e": dynamics}, world["backend"])
        data["world"] = world
        parse(data)


def test_every_setting_of_the_worlds_is_named() -> None:
    specs: list[Any] = [KinematicSpec, GridSpec, GridMoverSpec, KinematicDynamicsSpec]
    for group in ("pe_sim.dynamics", "pe_sim.obstacles"):
        for name, target in registry.BUILT_IN[group].items():
            if "worlds.dynamics" in target or "worlds.shapes" in target:
                part = registry.lookup(group, name)
                specs.append(getattr(part, "Parameters", part))
                assert f"`{name}`" in TEXT, f"docs/worlds.md does not name {name}"
    for spec in specs:
        for field in spec.model_fields:
            if field not in {*WorldSpec.model_fields, "model", "shape"}:
                assert re.search(rf"\b{field}\b", TEXT), f"docs/worlds.md does not name {field} of {spec.__name__}"
