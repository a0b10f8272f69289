"""Every world keeps the contract, whatever moves in it."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from pe_sim.engagement import Engagement
from pe_sim.worlds.base import Command, World
from pe_sim.worlds.contract import WorldContract

from .kit import LIMITS, OBSTACLES, made

MIXED = {f"{model}s": (model, 2, {}) for model in LIMITS}
FLAT = {name: role for name, role in MIXED.items() if name != "airplanes"}


class TestTemplate(WorldContract):
    def engagement(self) -> Engagement:
        return made({"p": ("template_mover", 2, {}), "e": "template_mover"}, "template", tick=0.1)


class TestGrid(WorldContract):
    def engagement(self) -> Engagement:
        return made({"p": ("grid_mover", 2, {}), "e": "grid_mover"}, "grid", tick=0.1, min_start_distance=3)


class TestGridOfEverything(WorldContract):
    def engagement(self) -> Engagement:
        slow = {"model": "grid_mover", "moves": 4, "stay": False, "every": 2, "steps": 2}
        cells = [[2, 2], [3, 2], [3, 3], [6, 7], [7, 6]]
        return made(
            {"p": (slow, 2, {}), "e": "grid_mover"}, "grid", tick=0.1, size=9, wall="bounce", obstacles=cells,
            diagonal="both_free", min_separation=1,
        )


class TestGridWithCrashes(WorldContract):
    def engagement(self) -> Engagement:
        return made({"p": "grid_mover", "e": "grid_mover"}, "grid", tick=0.1, size=6, wall="crash")


class TestKinematic(WorldContract):
    ticks = 45

    def engagement(self) -> Engagement:
        return made(MIXED, obstacles=OBSTACLES, min_separation=1, tick=0.05)


class TestKinematicOfEverything(WorldContract):
    ticks = 45

    def engagement(self) -> Engagement:
        stout = {
            f"{model}s": ({"model": model, **limits, "radius": 0.4 + 0.1 * i}, 2, {})
            for i, (model, limits) in enumerate(LIMITS.items())
        }
        return made(
            stout, tick=0.05, obstacles=OBSTACLES, obstacle_contact="bounce", collisions="bounce", min_separation=1,
            arena={"low": [-20, -20, 0], "high": [20, 20, 12], "edge": "bounce"},
            wind={"mean": [1, -1, 0.2], "gusts": {"deviation": 1.5, "vertical": 0.5}},
        )


class TestKinematicPlane(WorldContract):
    ticks = 45

    def engagement(self) -> Engagement:
        return made(
            FLAT, dimensions=2, obstacles=OBSTACLES, collisions="crash", min_separation=2, tick=0.05,
            arena={"low": [-20, -20, 0], "high": [20, 20, 0], "edge": "crash"}, wind={"mean": [1, 0, 0]},
        )


class TestKinematicOpen(WorldContract):
    def engagement(self) -> Engagement:
        return made(MIXED, obstacles=OBSTACLES[:3], arena={"low": [-20, -20, 0], "high": [20, 20, 12], "edge": "open"})


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed: pip install 'pe_ros[train]'")
class TestKinematicOnTorch(TestKinematicOfEverything):
    library = "torch"
    ticks = 15


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed: pip install 'pe_ros[train]'")
class TestGridOnTorch(TestGridOfEverything):
    library = "torch"


class Faulty(WorldContract):
    """The template world with a fault, to see that the contract finds it."""

    fault = ""

    def engagement(self) -> Engagement:
        return TestTemplate().engagement()

    def make(self, batch: int | None = None) -> World:
        world = super().make(batch)
        return FAULTS[self.fault](world)


def _broken(world: World, step: object = None, reset: object = None) -> World:
    """The world with its step or reset wrapped."""
    for name, wrap in (("step", step), ("reset", reset)):
        if wrap is not None:
            setattr(world, name, wrap(getattr(world, name)))  # type: ignore[operator]
    return world


def _moves_the_inactive(world: World) -> World:
    def wrap(step: object) -> object:
        return lambda commands, active: step(commands, None)  # type: ignore[operator]

    return _broken(world, step=wrap)


def _forgets_modes(world: World) -> World:
    def wrap(step: object) -> object:
        return lambda commands, active: step(  # type: ignore[operator]
            {role: Command(command.values, None) for role, command in commands.items()}, active
        )

    return _broken(world, step=wrap)


def _mixes_rows(world: World) -> World:
    def wrap(step: object) -> object:
        def mixing(commands: object, active: object) -> None:
            step(commands, active)  # type: ignore[operator]
            world.state.block[0] += 1e-9 * world.state.block[0].mean()

        return mixing

    return _broken(world, step=wrap)


def _resets_all(world: World) -> World:
    def wrap(reset: object) -> object:
        def all_of_them(keys: object, rows: object) -> None:
            reset(keys, rows)  # type: ignore[operator]
            world.state.block[7] = 0.0
            world.state.block[0] *= 0.5

        return all_of_them

    return _broken(world, reset=wrap)


def _blows_up(world: World) -> World:
    def wrap(step: object) -> object:
        def infinite(commands: object, active: object) -> None:
            step(commands, active)  # type: ignore[operator]
            world.state.block[8, 0, 0] = float("nan")

        return infinite

    return _broken(world, step=wrap)


def _tilts(world: World) -> World:
    world.state.block[6] = 0.9
    return world


FAULTS = {
    "inactive": _moves_the_inactive, "modes": _forgets_modes, "rows": _mixes_rows, "reset": _resets_all,
    "nan": _blows_up, "quaternion": _tilts,
}


@pytest.mark.parametrize(
    ("fault", "check", "cure"),
    [
        ("inactive", "test_leaves_inactive_agents_alone", "write only where ``active``"),
        ("modes", "test_carries_out_every_mode", "handle command.mode"),
        ("rows", "test_runs_a_row_of_a_batch_as_alone", "let no row see another"),
        ("reset", "test_resets_some_rows_and_no_others", r"write only \[..., rows\]"),
        ("nan", "test_stays_sound", "component 8 of p_0 in row 0 is nan"),
        ("quaternion", "test_starts_soundly", "unit length"),
    ],
)
def test_the_contract_finds_a_planted_fault(fault: str, check: str, cure: str) -> None:
    contract = Faulty()
    contract.fault = fault
    with pytest.raises(AssertionError, match=cure):
        getattr(contract, check)()
