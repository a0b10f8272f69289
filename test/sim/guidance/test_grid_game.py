"""The exact grid game: its value has the closed form, and optimal players play that long."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pe_sim.engagement import Engagement, parse
from pe_sim.errors import ContractError
from pe_sim.evaluation.rollout import Rollout
from pe_sim.guidance.grid_game import NEVER, GridGame, moves_of, next_cells, open_grid_length, solve
from pe_sim.simulation import Simulation
from pe_sim.worlds.base import Command


def closed_form(size: int) -> np.ndarray[Any, Any]:
    """The length of optimal play for all pairs, written out here once more from its definition."""
    out = np.zeros((size, size, size, size), dtype=int)
    for px, py, ex, ey in itertools.product(range(size), repeat=4):
        lengths = []
        for p, e in ((px, ex), (py, ey)):
            far = size - 1 if e > p else 0
            lengths.append(0 if abs(e - p) <= 1 else abs(far - p) - 1)
        out[px, py, ex, ey] = max(lengths)
    return out.reshape(size * size, size * size)


@pytest.mark.parametrize("size", [5, 7, 10, 15])
def test_the_value_of_the_open_grid_is_the_closed_form_for_all_pairs(size: int) -> None:
    solution = solve(GridGame(size))
    expected = closed_form(size)
    assert np.array_equal(solution.pursuer_value, expected)
    assert np.array_equal(solution.evader_value, expected)
    assert solution.pure.all()


@pytest.mark.parametrize("size", [5, 7, 10, 15])
def test_optimal_players_play_that_long_from_every_pair(size: int) -> None:
    solution, moves, expected = solve(GridGame(size)), np.array(moves_of(8, stay=True)), closed_form(size)
    cells = size * size
    p, e = (x.ravel() for x in np.meshgrid(np.arange(cells), np.arange(cells), indexing="ij"))
    steps = np.zeros(cells * cells, dtype=int)
    for _ in range(size + 1):
        free = solution.pursuer_value[p, e] > 0
        steps += free
        step_p, step_e = moves[solution.pursuer_move[p, e]], moves[solution.evader_move[p, e]]
        places = [np.clip(np.stack(np.divmod(c, size), 1) + s, 0, size - 1) for c, s in ((p, step_p), (e, step_e))]
        p = np.where(free, places[0][:, 0] * size + places[0][:, 1], p)
        e = np.where(free, places[1][:, 0] * size + places[1][:, 1], e)
    assert np.array_equal(steps, expected.ravel())


def grid(size: int, pursuer: dict[str, Any], evader: dict[str, Any], **world: Any) -> Engagement:
    def role(team: str, settings_: dict[str, Any]) -> dict[str, Any]:
        moves = settings_.pop("moves", 8)
        return {
            "team": team, "dynamics": {"model": "grid_mover", "moves": moves},
            "sensors": {"tracker": {"kind": "relative", "rate": 10}, "place": {"kind": "position", "rate": 10}},
            "policy": {"use": "guidance/optimal_grid", "rate": 10, "parameters": settings_},
        }

    return parse({
        "engagement": "grid", "world": {"backend": "grid", "size": size, "tick": "100 ms", **world},
        "rules": {"capture": {"radius": 1.5}, "max_step": 200},
        "roles": {"pursuer": role("pursuers", pursuer), "evader": role("evaders", evader)},
    })


@pytest.mark.parametrize("size", [5, 10, 15])
def test_the_policies_play_that_long_in_the_world(size: int) -> None:
    engagement = grid(size, {"intent": "chase"}, {"intent": "flee"}, min_start_distance=1.5)
    batch = 64
    starts = Simulation(engagement, batch)
    starts.reset(np.arange(batch), np.zeros(batch, dtype=np.int64))
    cells = np.array(starts.state.pos)[..., :2].astype(int)
    results = Rollout(engagement, batch).run(list(range(batch)), [0] * batch)
    for result, (p, e) in zip(results, cells, strict=True):
        assert result.outcome == "capture"
        assert result.ticks == open_grid_length(size, tuple(p), tuple(e))


def test_an_optimal_pursuer_is_never_slower_than_its_value_against_anybody() -> None:
    data = grid(8, {"intent": "chase"}, {"intent": "flee"}, min_start_distance=3).resolved()
    data["roles"]["evader"]["policy"] = {"use": "guidance/random", "rate": "10 Hz"}
    engagement, batch = parse(data), 64
    starts = Simulation(engagement, batch)
    starts.reset(np.arange(batch), np.zeros(batch, dtype=np.int64))
    cells = np.array(starts.state.pos)[..., :2].astype(int)
    for result, (p, e) in zip(Rollout(engagement, batch).run(list(range(batch)), [0] * batch), cells, strict=True):
        assert result.ticks <= open_grid_length(8, tuple(p), tuple(e))


def test_a_four_way_pursuer_never_catches_a_careful_eight_way_evader() -> None:
    solution = solve(GridGame(10, (4, True), (8, True)))
    far = np.ones((100, 100), dtype=bool)
    far[solution.pursuer_value < NEVER] = False
    assert 0.5 < far.mean() < 1.0


@settings(max_examples=25, deadline=None)
@given(
    size=st.integers(3, 6), pursuer=st.tuples(st.sampled_from([4, 8]), st.booleans()),
    evader=st.tuples(st.sampled_from([4, 8]), st.booleans()), wall=st.sampled_from(["clip", "bounce", "crash"]),
    obstacles=st.frozensets(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=3),
)
def test_values_are_fixed_points_and_ordered(
    size: int, pursuer: tuple[int, bool], evader: tuple[int, bool], wall: Any, obstacles: frozenset[tuple[int, int]]
) -> None:
    game = GridGame(size, pursuer, evader, 1.5, obstacles, wall)
    solution = solve(game)
    assert (solution.evader_value <= solution.pursuer_value).all()
    # One step by the definition, cell by cell, moves worked out by hand.

    def reach(cell: int, dx: int, dy: int) -> int | None:
        i, j = divmod(cell, size)
        if game.free(i + dx, j + dy):
            return (i + dx) * size + j + dy
        if wall == "crash":
            return None
        if wall == "bounce":
            return (i - dx) * size + j - dy if game.free(i - dx, j - dy) else cell
        x, y = min(max(i + dx, 0), size - 1), min(max(j + dy, 0), size - 1)
        return x * size + y if game.free(x, y) else cell

    free = [c for c in range(size * size) if game.free(*divmod(c, size))]
    for p, e in list(itertools.product(free, free))[::7]:
        if (divmod(p, size)[0] - divmod(e, size)[0]) ** 2 + (p % size - e % size) ** 2 < 2.25:
            assert solution.pursuer_value[p, e] == 0
            continue
        ps = [c for c in (reach(p, *m) for m in moves_of(pursuer[0], stay=pursuer[1])) if c is not None] or [p]
        es = [c for c in (reach(e, *m) for m in moves_of(evader[0], stay=evader[1])) if c is not None] or [e]
        value = solution.pursuer_value
        assert value[p, e] == min(NEVER, 1 + min(max(value[a, b] for b in es) for a in ps))
        value = solution.evader_value
        assert value[p, e] == min(NEVER, 1 + max(min(value[a, b] for a in ps) for b in es))


def test_a_grid_too_large_to_solve_is_refused() -> None:
    engagement = grid(33, {"intent": "chase"}, {"intent": "flee"})
    with pytest.raises(ContractError, match="at most 1024 cells"):
        Rollout(engagement)


@pytest.mark.parametrize("wall", ["clip", "bounce"])
@pytest.mark.parametrize("diagonal", ["always", "one_free", "both_free"])
def test_moves_lead_where_the_grid_world_leads(wall: Any, diagonal: Any) -> None:
    obstacles = ((1, 1), (2, 2), (2, 3), (0, 3))
    mover = {"dynamics": {"model": "grid_mover"}, "sensors": {"tracker": {"kind": "relative", "rate": 10}}}
    decide = {"policy": {"use": "guidance/random", "rate": 10}}
    engagement = parse({
        "engagement": "corners", "rules": {"capture": {"radius": 0.5}, "max_step": 9},
        "world": {
            "backend": "grid", "size": 5, "tick": 0.1, "wall": wall, "diagonal": diagonal, "obstacles": list(obstacles),
        },
        "roles": {"one": {"team": "pursuers", **mover, **decide}, "other": {"team": "evaders", **mover, **decide}},
    })
    table = next_cells(GridGame(5, obstacles=frozenset(obstacles), wall=wall, diagonal=diagonal), (8, True))
    simulation = Simulation(engagement, 25)
    simulation.reset(np.zeros(25, np.int64), np.arange(25))
    for move, reached in enumerate(table):
        for agent in range(2):
            simulation.state.block[0, agent], simulation.state.block[1, agent] = np.divmod(np.arange(25), 5)
        choice = np.full((1, 1, 25), move, np.float32)
        simulation.world.step({"one": Command(choice, None), "other": Command(choice, None)}, None)
        x, y = simulation.state.block[0, 0], simulation.state.block[1, 0]
        free = [cell for cell in range(25) if divmod(cell, 5) not in obstacles]
        assert ((x * 5 + y)[free] == reached[free]).all(), move
    simulation.close()
