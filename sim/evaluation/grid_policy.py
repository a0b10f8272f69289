"""What a policy does in every state of a grid game: its probabilities, read out of the policy as it flies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pe_sim.engagement import Engagement
from pe_sim.envs.observer import Observer
from pe_sim.errors import EngagementError
from pe_sim.evaluation.exact_game import MAX_STATES, ExactGame, best_response, solve_exactly, start_states
from pe_sim.guidance.grid_game import GridGame
from pe_sim.policies.loader import load_policy
from pe_sim.simulation import Simulation
from pe_sim.timing import seconds
from pe_sim.worlds.grid import GridMoverSpec, GridSpec


def game_of(engagement: Engagement) -> ExactGame:
    """Return the exact game that an engagement is.

    Raises:
        EngagementError: if it is no game of alike pursuers and one evader on a grid, captured by distance, in which
            everybody decides at every tick and moves one cell at once; or if it has too many states.
    """
    world, rules = engagement.world, engagement.rules
    if not isinstance(world, GridSpec):
        raise EngagementError("world.backend", "exact games are played on a grid", world.backend)
    _require_simple(engagement)
    movers: dict[str, list[GridMoverSpec]] = {rules.pursuers: [], rules.evaders: []}
    for role in engagement.roles.values():
        assert isinstance(role.dynamics, GridMoverSpec)
        movers[role.team] += [role.dynamics] * role.count
    pursuers, evaders = movers[rules.pursuers], movers[rules.evaders]
    if len(evaders) != 1 or any(one != pursuers[0] for one in pursuers):
        raise EngagementError("roles", "an exact game has one evader, and pursuers that are alike")
    grid = GridGame(
        world.size, (pursuers[0].moves, pursuers[0].stay), (evaders[0].moves, evaders[0].stay), rules.capture.radius,
        frozenset(world.obstacles), world.wall, world.diagonal,
    )
    game = ExactGame(grid, len(pursuers))
    if game.states > MAX_STATES:
        raise EngagementError("exact game", f"has more than {MAX_STATES} states", game.states, "take a smaller grid")
    return game


def _require_simple(engagement: Engagement) -> None:
    """Refuse what the exact game knows nothing of, rather than compute the value of another game."""
    if engagement.rules.capture.by != "radius":
        raise EngagementError("rules.capture.by", "must be radius in an exact game", engagement.rules.capture.by)
    for name, role in engagement.roles.items():
        for key, value, only in (
            ("dynamics.every", getattr(role.dynamics, "every", 1), 1),
            ("dynamics.steps", getattr(role.dynamics, "steps", 1), 1),
            ("policy.rate", seconds(role.trigger.period), seconds(engagement.world.tick)),
            ("action.latency", role.action.latency, 0), ("start.low", role.start.low, None),
            ("start.high", role.start.high, None), ("start.points", role.start.points, None),
        ):
            if value != only:
                rule = "an exact game knows nothing of this: all decide at every tick, move one cell, start anywhere"
                raise EngagementError(f"roles.{name}.{key}", rule, value)


def policy_table(
    engagement: Engagement, game: ExactGame, role: str, *, draws: int = 1, seed: int = 0
) -> NDArray[np.float64]:
    """Return how probable each move of a single agent is in every state, (states, moves).

    The policy is put into every state afresh, everybody at rest: it is taken to depend on where the agents are, and
    not on what was before. Policies that can tell their probabilities (bundles) are asked for them.

    Args:
        engagement: a grid engagement of one pursuer and one evader.
        game: :func:`game_of` the engagement.
        role: whose policy.
        draws: how often each state is asked; more than 1 for guidance that draws its moves.
        seed: of the draws.
    """
    simulation = _in_every_state(engagement, game, seed)
    runtime = simulation.roles[role]
    policy = load_policy(engagement, role, runtime.action, batch=game.states, xp=simulation.xp)
    perception: Any = runtime.perception
    told = getattr(policy, "probabilities", None)
    if told is not None:
        chances = np.asarray(told(perception.view(simulation.now)), np.float64)[:, 0].T
        simulation.close()
        exact: NDArray[np.float64] = chances / chances.sum(axis=1, keepdims=True)
        return exact
    counts = np.zeros((game.states, runtime.action.choices))
    everyone = np.ones((1, game.states), np.bool_)
    for draw in range(draws):
        if draw:
            _put(simulation, game, seed + draw)
        policy.reset(simulation.roots, None)
        chosen = policy.decide(perception.view(simulation.now), simulation.now, everyone)[0, 0].astype(np.int64)
        counts[np.arange(game.states), chosen] += 1.0
    simulation.close()
    table: NDArray[np.float64] = counts / draws
    return table


def observations(engagement: Engagement, game: ExactGame, role: str) -> NDArray[np.float32]:
    """Return what a single agent observes in every state, everybody at rest, float32 (states, K)."""
    simulation = _in_every_state(engagement, game, 0)
    seen: NDArray[np.float32] = Observer(simulation, (role,)).observe(role)[:, 0].T.copy()
    simulation.close()
    return seen


def _in_every_state(engagement: Engagement, game: ExactGame, seed: int) -> Simulation:
    """Return a simulation of as many engagements as there are states, one in each."""
    _require_duel(engagement)
    simulation = Simulation(engagement, game.states)
    _put(simulation, game, seed)
    return simulation


def _require_duel(engagement: Engagement) -> None:
    if len(engagement.agents) != 2:
        rule = "probabilities are read out for one pursuer and one evader"
        raise EngagementError("roles", rule, len(engagement.agents))


def _put(simulation: Simulation, game: ExactGame, seed: int) -> None:
    """Begin anew, every engagement in a state of its own."""
    engagement = simulation.engagement
    order = [engagement.teams.index(team) for team in (engagement.rules.pursuers, engagement.rules.evaders)]
    simulation.reset(np.full(game.states, seed, np.int64), np.arange(game.states, dtype=np.int64))
    for place, agent in zip(game.places, order, strict=True):
        i, j = np.divmod(place, game.grid.size)
        simulation.state.block[0, agent], simulation.state.block[1, agent] = i, j
    simulation.sense()


def exact_figures(engagement: Engagement, *, draws: int = 1) -> dict[str, float]:
    """Return, for one against one on a grid: the exact value and what each policy loses to a best response [steps].

    All are means over the starting states, expected steps until capture; infinite where somebody is never caught.

    Raises:
        EngagementError: if it is no such game, or it has no value, because the best evader is never caught.
    """
    game = game_of(engagement)
    _require_duel(engagement)
    solution = solve_exactly(game)
    if solution.endless:
        rule = f"has no value: after {solution.rounds} steps of best play there are starts in which nobody is caught"
        raise EngagementError("exact game", rule)
    starts = start_states(game, getattr(engagement.world, "min_start_distance", 0.0))
    figures = {"exact_value": float(solution.value[starts].mean())}
    for role, spec in engagement.roles.items():
        side = "pursuers" if spec.team == engagement.rules.pursuers else "evader"
        table = policy_table(engagement, game, role, draws=draws)
        against = float(best_response(game, table, side, endless=True)[starts].mean())
        lost = against - figures["exact_value"]
        figures[f"{role}_against_best_response"] = against
        figures[f"{role}_exploitability"] = lost if side == "pursuers" else -lost
    return figures
