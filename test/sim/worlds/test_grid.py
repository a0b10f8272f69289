"""The grid: moves, walls, obstacles, diagonals and speed ratios, against a few lines of plain Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pe_sim.actions import Mode
from pe_sim.errors import EngagementError
from pe_sim.worlds.base import Command, World
from pe_sim.worlds.grid import MOVES

from .kit import begun, made, told

STAY, EAST, NORTH, WEST, SOUTH, NORTH_EAST, NORTH_WEST, SOUTH_WEST, SOUTH_EAST = range(9)


def grid(start: tuple[int, int], mover: dict[str, Any] | None = None, **world: Any) -> World:
    """One mover at a cell, another far off in the corner (0, 0)."""
    own = {"model": "grid_mover", **(mover or {})}
    roles = {
        "p": (own, 1, {"points": [[*start, 0]]}), "e": ({"model": "grid_mover"}, 1, {"points": [[0, 0, 0]]})
    }
    return begun(made(roles, "grid", tick=0.5, **{"size": 8, **world}))


def cell(world: World) -> tuple[int, int]:
    return tuple(int(c) for c in np.asarray(world.state.block[:2, 0, 0]))  # type: ignore[return-value]


def walk(world: World, *choices: int, mode: int | None = None) -> list[tuple[int, int]]:
    """The cells reached by choices one after the other."""
    cells = []
    for choice in choices:
        world.step(told(world, {"p": [float(choice)]}, mode), None)
        cells.append(cell(world))
    return cells


@pytest.mark.parametrize("choice", range(9))
def test_each_choice_is_its_move_and_the_velocity_of_it(choice: int) -> None:
    world = grid((4, 4))
    dx, dy = MOVES[choice]
    assert walk(world, choice) == [(4 + dx, 4 + dy)]
    assert np.asarray(world.state.vel[0, 0]).tolist() == [dx / 0.5, dy / 0.5, 0.0]
    assert walk(world, STAY) == [(4 + dx, 4 + dy)]
    assert np.asarray(world.state.vel[0, 0]).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(("moves", "stay", "kind"), [(4, True, 5), (4, False, 4), (8, True, 9), (8, False, 8)])
def test_the_action_says_how_many_moves_there_are_and_without_stay_the_first_is_east(
    moves: int, stay: bool, kind: int
) -> None:
    world = grid((4, 4), {"moves": moves, "stay": stay})
    spec = world.action_spec("p")
    assert (spec.kind, spec.choices) == (f"grid_move{kind}", kind)
    assert walk(world, 0) == [(4, 4) if stay else (5, 4)]
    last = MOVES[moves]
    x, y = cell(world)
    assert walk(world, kind - 1) == [(x + last[0], y + last[1])]


def test_four_and_eight_ways_and_both_with_and_without_stay_share_a_grid() -> None:
    roles = {
        "p": ({"model": "grid_mover", "moves": 4, "stay": False}, 1, {"points": [[3, 3, 0]]}),
        "e": ({"model": "grid_mover", "moves": 8}, 1, {"points": [[6, 6, 0]]}),
    }
    world = begun(made(roles, "grid", tick=0.1))
    world.step(told(world, {"p": [1.0], "e": [5.0]}), None)
    assert np.asarray(world.state.block[:2, :, 0]).T.tolist() == [[3, 4], [7, 7]]


def test_clip_slides_along_a_wall_and_stops_at_an_obstacle() -> None:
    world = grid((7, 3), obstacles=[[6, 6]])
    assert walk(world, EAST, NORTH_EAST, NORTH_EAST, NORTH_WEST) == [(7, 3), (7, 4), (7, 5), (7, 5)]
    assert np.asarray(world.state.vel[0, 0]).tolist() == [0, 0, 0]


def test_crash_ends_the_agent_where_it_stands() -> None:
    world = grid((7, 3), wall="crash")
    assert walk(world, NORTH) == [(7, 4)]
    assert not np.asarray(world.failed).any()
    assert walk(world, NORTH_EAST) == [(7, 4)]
    assert np.asarray(world.failed).tolist() == [[True], [False]]
    world = grid((4, 4), wall="crash", obstacles=[[4, 5]])
    assert walk(world, NORTH) == [(4, 4)]
    assert np.asarray(world.failed)[0, 0]


def test_bounce_goes_the_opposite_way_if_that_is_free() -> None:
    assert walk(grid((7, 3), wall="bounce"), EAST) == [(6, 3)]
    assert walk(grid((7, 3), wall="bounce"), NORTH_EAST) == [(6, 2)]
    assert walk(grid((7, 3), wall="bounce", obstacles=[[6, 3]]), EAST) == [(7, 3)]
    assert walk(grid((3, 3), wall="bounce", obstacles=[[3, 4]]), NORTH) == [(3, 2)]


def test_two_moves_at_every_second_tick() -> None:
    world = grid((1, 1), {"every": 2, "steps": 2})
    assert walk(world, EAST, EAST, NORTH_EAST, NORTH, STAY, EAST) == [(3, 1), (3, 1), (5, 3), (5, 3), (5, 3), (5, 3)]
    assert walk(world, WEST) == [(3, 3)]
    assert np.asarray(world.state.vel[0, 0]).tolist() == [-4.0, 0, 0]


def test_many_steps_jump_over_nothing_and_bounce_on() -> None:
    assert walk(grid((1, 4), {"steps": 5}, obstacles=[[4, 4]]), EAST) == [(3, 4)]
    assert walk(grid((5, 4), {"steps": 4}, wall="bounce"), EAST) == [(5, 4)]
    world = grid((5, 4), {"steps": 4}, wall="crash")
    assert walk(world, EAST) == [(7, 4)]
    assert np.asarray(world.failed)[0, 0]


def test_the_count_of_ticks_begins_anew_with_every_episode_of_a_row() -> None:
    roles = {
        "p": ({"model": "grid_mover", "every": 3}, 1, {"points": [[4, 4, 0]]}),
        "e": ("grid_mover", 1, {"points": [[0, 0, 0]]}),
    }
    world = begun(made(roles, "grid", tick=1), batch=2)
    for _ in range(2):
        world.step(told(world, {"p": [1.0]}), None)
    world.reset(np.array([5], dtype=np.int64), np.array([1]))
    world.step(told(world, {"p": [1.0]}), None)
    assert np.asarray(world.state.block[0, 0]).tolist() == [5, 5]
    world.step(told(world, {"p": [1.0]}), None)
    assert np.asarray(world.state.block[0, 0]).tolist() == [6, 5]


@pytest.mark.parametrize(
    ("rule", "blocked", "passes"),
    [
        ("always", [[4, 5], [5, 4]], True), ("one_free", [[4, 5]], True), ("one_free", [[4, 5], [5, 4]], False),
        ("both_free", [[4, 5]], False), ("both_free", [[5, 4]], False), ("both_free", [[3, 5]], True),
        ("one_free", [[5, 5]], False),
    ],
)
def test_diagonal_moves_pass_corners_by_the_rule(rule: str, blocked: list[list[int]], passes: bool) -> None:
    world = grid((4, 4), diagonal=rule, obstacles=blocked)
    assert walk(world, NORTH_EAST) == [(5, 5) if passes else (4, 4)]


def test_straight_moves_do_not_care_for_the_rule_of_diagonals() -> None:
    world = grid((4, 4), diagonal="both_free", obstacles=[[3, 5], [5, 5], [4, 3]])
    assert walk(world, NORTH, NORTH, SOUTH) == [(4, 5), (4, 6), (4, 5)]


def test_agents_may_share_a_cell_and_swap_cells() -> None:
    roles = {"p": ("grid_mover", 1, {"points": [[3, 3, 0]]}), "e": ("grid_mover", 1, {"points": [[4, 3, 0]]})}
    world = begun(made(roles, "grid", tick=1))
    world.step(told(world, {"p": [EAST], "e": [WEST]}), None)
    assert np.asarray(world.state.block[0, :, 0]).tolist() == [4, 3]
    world.step(told(world, {"p": [WEST], "e": [STAY]}), None)
    assert np.asarray(world.state.block[0, :, 0]).tolist() == [3, 3]


@pytest.mark.parametrize("mode", Mode)
def test_to_coast_and_to_stop_is_to_stay(mode: Mode) -> None:
    goes = mode in (Mode.EXECUTE, Mode.HOLD)
    assert walk(grid((4, 4), {"stay": False}), 0, mode=int(mode)) == [(5, 4) if goes else (4, 4)]


def test_ten_thousand_starts_keep_their_distance_on_free_cells() -> None:
    blocked = [[4, 4], [4, 5], [0, 9]]
    roles = {"p": ("grid_mover", 2, {}), "e": ("grid_mover", 1, {"low": [2, 2, 0], "high": [8.5, 9, 0]})}
    world = begun(made(roles, "grid", tick=1, obstacles=blocked, min_start_distance=3), batch=10_000)
    place = np.asarray(world.state.block[:2])
    assert np.array_equal(place, np.round(place))
    assert place.min() == 0
    assert place.max() == 9
    distance = np.sqrt(((place[:, :2] - place[:, 2:]) ** 2).sum(axis=0))
    assert distance.min() > 3
    assert (place[:, 0] != place[:, 1]).any(axis=0).all(), "no two agents on one cell"
    for i, j in blocked:
        assert not ((place[0] == i) & (place[1] == j)).any()
    assert place[0, 2].min() == 2
    assert place[0, 2].max() == 8
    free = np.zeros((10, 10))
    np.add.at(free, tuple(place[:, 0].astype(int)), 1)
    assert (free > 0).sum() == 97, "every free cell is drawn"


def test_starts_that_are_no_free_cells_are_refused() -> None:
    with pytest.raises(EngagementError, match=r"roles.p.start.points: \(1.5, 1.0, 0.0\) is no free cell"):
        made({"p": ("grid_mover", 1, {"points": [[1.5, 1, 0]]})}, "grid", tick=1)
    with pytest.raises(EngagementError, match="is no free cell"):
        made({"p": ("grid_mover", 1, {"points": [[2, 2, 0]]})}, "grid", tick=1, obstacles=[[2, 2]])
    with pytest.raises(EngagementError, match=r"roles.p.start: no cell lies in this box"):
        made({"p": ("grid_mover", 1, {"low": [2.2, 0, 0], "high": [2.8, 5, 0]})}, "grid", tick=1)
    with pytest.raises(EngagementError, match=r"is outside the grid"):
        made({"p": "grid_mover"}, "grid", tick=1, size=5, obstacles=[[5, 0]])


def reference(size: int, blocked: set[tuple[int, int]], wall: str, rule: str, at: Any, way: Any, steps: int) -> Any:
    """One agent's tick in plain Python: where it ends and whether it crashed."""

    def closed(a: Any, b: Any) -> bool:
        if not all(0 <= c < size for c in b) or b in blocked:
            return True
        beside = [(b[0], a[1]) in blocked, (a[0], b[1]) in blocked]
        return {"always": False, "one_free": all(beside), "both_free": any(beside)}[rule]

    crashed = False
    for _ in range(steps):
        to = (at[0] + way[0], at[1] + way[1])
        if wall == "clip":
            to = (min(max(to[0], 0), size - 1), min(max(to[1], 0), size - 1))
        if not closed(at, to):
            at = to
        elif wall == "crash":
            crashed = True
        elif wall == "bounce":
            back = (at[0] - way[0], at[1] - way[1])
            if not closed(at, back):
                at, way = back, (-way[0], -way[1])
    return at, crashed


@settings(max_examples=60, deadline=None)
@given(
    size=st.integers(3, 9), cells=st.sets(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=12),
    wall=st.sampled_from(["clip", "crash", "bounce"]), rule=st.sampled_from(["always", "one_free", "both_free"]),
    steps=st.integers(1, 4), every=st.integers(1, 3), stay=st.booleans(), seed=st.integers(0, 2**31),
)
def test_any_grid_moves_as_plain_python_says(
    size: int, cells: set[tuple[int, int]], wall: str, rule: str, steps: int, every: int, stay: bool, seed: int
) -> None:
    blocked = {c for c in cells if max(c) < size and c not in {(0, 0), (1, 0)}}
    mover = {"model": "grid_mover", "steps": steps, "every": every, "stay": stay}
    roles = {"p": (mover, 1, {"points": [[0, 0, 0]]}), "e": (mover, 1, {"points": [[1, 0, 0]]})}
    world = begun(
        made(roles, "grid", tick=1, size=size, wall=wall, diagonal=rule, obstacles=sorted(blocked)), batch=3
    )
    random = np.random.default_rng(seed)
    places = {(a, row): ((a, 0), False) for a in range(2) for row in range(3)}
    moves = MOVES[0 if stay else 1 :]
    for tick in range(25):
        choices = {role: random.integers(0, len(moves), (1, 1, 3)) for role in ("p", "e")}
        commands = {role: Command(choice.astype(np.float32), None) for role, choice in choices.items()}
        world.step(commands, None)
        for a, role in enumerate(("p", "e")):
            for row in range(3):
                at, crashed = places[a, row]
                if tick % every == 0:
                    way = moves[int(choices[role][0, 0, row])]
                    at, now = reference(size, blocked, wall, rule, at, way, steps)
                    crashed = crashed or now
                places[a, row] = (at, crashed)
                assert tuple(np.asarray(world.state.block[:2, a, row]).astype(int)) == at
                if world.failed is not None:
                    assert bool(np.asarray(world.failed)[a, row]) == crashed
