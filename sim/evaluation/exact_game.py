"""Exact grid games with mixed strategies: one or more pursuers, one evader, all moving at once.

The payoff is the number of steps until capture. Optimal play mixes wherever a player who chooses first is worse off
(a four-way pursuer, an evader that can double back), so the value of each state is that of a matrix game over the
values of the states that follow (L. S. Shapley, Stochastic games, 1953), computed by value iteration from zero: after
k rounds it is the exact value of the game that is broken off after k steps, and it grows to that of the endless game.

How good a policy is, is measured against it: the exploitability of a pursuer is how much longer an evader lasts that
knows the policy and answers best, than against optimal play.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from pe_sim.evaluation.matrix_game import solve_matrix_games
from pe_sim.guidance.grid_game import GridGame, caught_table, next_cells

Reals = NDArray[np.float64]
Indices = NDArray[np.int64]

MAX_STATES = 300_000

SETTLED = 1e-3
"""A value that still grows by more in the last round [steps] is taken to grow for ever."""


@dataclass(frozen=True)
class ExactGame:
    """Rules of a game.

    Attributes:
        grid: the grid, the evader's moves, the radius; its ``pursuer`` are the moves of every pursuer.
        pursuers: how many.
    """

    grid: GridGame
    pursuers: int = 1

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.grid.size**2

    @property
    def states(self) -> int:
        """Number of states: cells of all pursuers, then of the evader, the last varying fastest."""
        return int(self.cells ** (self.pursuers + 1))

    @cached_property
    def places(self) -> Indices:
        """Cell of every agent in every state, (agents, states)."""
        shape = (self.cells,) * (self.pursuers + 1)
        return np.stack(np.unravel_index(np.arange(self.states), shape)).astype(np.int64)

    @cached_property
    def caught(self) -> NDArray[np.bool_]:
        """States in which the evader is caught, (states,)."""
        table, *_, evader = caught_table(self.grid), self.places[-1]
        caught: NDArray[np.bool_] = np.any([table[pursuer, evader] for pursuer in self.places[:-1]], axis=0)
        return caught

    def following(self, states: Indices) -> Indices:
        """Return the state that follows each joint move, (S, pursuers' joint moves, evader's moves)."""
        pursuer, evader = next_cells(self.grid, self.grid.pursuer), next_cells(self.grid, self.grid.evader)
        places = self.places[:, states]
        joint = np.zeros((len(states), 1), np.int64)
        for place in places[:-1]:
            step = pursuer[:, place].T
            joint = (joint[:, :, None] * self.cells + step[:, None, :]).reshape(len(states), -1)
        return joint[:, :, None] * self.cells + evader[:, places[-1]].T[:, None, :]

    @cached_property
    def alike(self) -> Indices:
        """For each state, the least of those that turning and mirroring the grid or exchanging pursuers makes of it."""
        size, best = self.grid.size, np.arange(self.states)
        i, j = np.divmod(np.arange(self.cells), size)
        blocked = np.zeros((size, size), np.bool_)
        for cell in self.grid.obstacles:
            blocked[cell] = True
        for flip_i, flip_j, swap in product((False, True), repeat=3):
            x, y = (size - 1 - i if flip_i else i), (size - 1 - j if flip_j else j)
            x, y = (y, x) if swap else (x, y)
            if not np.array_equal(blocked[x, y], blocked[i, j]):
                continue
            moved = (x * size + y)[self.places]
            moved = np.concatenate([np.sort(moved[:-1], axis=0), moved[-1:]])
            number = np.zeros(self.states, np.int64)
            for place in moved:
                number = number * self.cells + place
            best = np.minimum(best, number)
        return best


@dataclass(frozen=True)
class ExactSolution:
    """The value of every state.

    Attributes:
        game: the game.
        value: expected steps until capture under optimal play, (states,).
        rounds: rounds of value iteration.
        change: greatest change in the last one: how near the value is to that of the endless game.
    """

    game: ExactGame
    value: Reals
    rounds: int
    change: float

    @property
    def endless(self) -> bool:
        """Whether the value grows for ever somewhere: there no pursuer is sure to catch the best evader."""
        return self.change > SETTLED

    def strategies(self, states: Indices) -> tuple[Reals, Reals]:
        """Return optimal probabilities in some states: of the pursuers' joint moves and of the evader's moves."""
        solved = solve_matrix_games(self.value[self.game.following(states)])
        return solved.rows, solved.columns


def solve_exactly(game: ExactGame, *, tolerance: float = 1e-7, most_rounds: int = 5000) -> ExactSolution:
    """Return the value of a game.

    Args:
        game: the game.
        tolerance: value iteration ends when nothing changes by more [steps].
        most_rounds: it ends then in any case; the value is then that of the game broken off after so many steps.

    Raises:
        ValueError: if there are too many states.
    """
    if game.states > MAX_STATES:
        raise ValueError(f"{game.states} states are too many: at most {MAX_STATES}")
    kinds, back = np.unique(game.alike, return_inverse=True)
    running = ~game.caught[kinds]
    following = back[game.following(kinds[running])]
    value = np.zeros(len(kinds))
    rounds, change = 0, np.inf
    while change > tolerance and rounds < most_rounds:
        after = np.zeros(len(kinds))
        after[running] = 1.0 + solve_matrix_games(value[following]).value
        change, value, rounds = float(np.abs(after - value).max()), after, rounds + 1
    return ExactSolution(game, value[back], rounds, change)


def best_response(
    game: ExactGame, policy: Reals, side: str = "pursuers", *, tolerance: float = 1e-7, most_rounds: int = 5000,
    endless: bool = False,
) -> Reals:
    """Return the expected steps until capture, (states,), where one side plays a known policy and the other the best.

    Args:
        game: the game.
        policy: probabilities in every state: of the pursuers' joint moves, (states, joint), or of the evader's.
        side: whose policy it is: 'pursuers' or 'evader'.
        tolerance: the iteration ends when nothing changes by more [steps].
        most_rounds: or after so many steps, at which the game is then broken off.
        endless: whether states whose steps still grow then have infinitely many.
    """
    running = np.nonzero(~game.caught)[0]
    following, chances = game.following(running), policy[running]
    value, growth, change, rounds = np.zeros(game.states), np.zeros(game.states), np.inf, 0
    while change > tolerance and rounds < most_rounds:
        after = np.zeros(game.states)
        if side == "pursuers":
            after[running] = 1.0 + np.einsum("sab,sa->sb", value[following], chances).max(axis=1)
        else:
            after[running] = 1.0 + np.einsum("sab,sb->sa", value[following], chances).min(axis=1)
        growth, value, rounds = np.abs(after - value), after, rounds + 1
        change = float(growth.max())
    if endless and change > SETTLED:
        value[growth > SETTLED] = np.inf
    return value


def start_states(game: ExactGame, min_distance: float) -> Indices:
    """Return the states in which every pursuer starts farther from the evader than this [cells], no two in one cell."""
    place = np.stack(np.divmod(game.places, game.grid.size)).astype(np.float64)
    away = np.sqrt(((place[:, :-1] - place[:, -1:]) ** 2).sum(axis=0)) > min_distance
    free = np.asarray([game.grid.free(*divmod(cell, game.grid.size)) for cell in range(game.cells)])
    chosen = away.all(axis=0) & free[game.places].all(axis=0)
    for one, other in combinations(game.places[:-1], 2):
        chosen &= one != other
    return np.nonzero(chosen)[0]


def exploitability(solution: ExactSolution, policy: Reals, starts: Indices, side: str = "pursuers") -> float:
    """Return how many steps a policy loses to a best response, on average over starting states, against the value."""
    against = best_response(solution.game, policy, side)[starts].mean()
    optimal = solution.value[starts].mean()
    return float(against - optimal if side == "pursuers" else optimal - against)
