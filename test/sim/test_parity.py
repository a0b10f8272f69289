"""Parity: a row of a batch, a single run and the env driven by the same policies are the same to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from pe_sim.engagement import Engagement
from pe_sim.envs.pursuit_env import PursuitEnv
from pe_sim.evaluation.rollout import Rollout, decide, load_policies
from pe_sim.trajectory import TrajectoryHash

from .files import SHIPPED, engagements, shipped

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
QUICK = [Phase.explicit, Phase.reuse, Phase.generate]  # shrinking would run thousands of engagements


def through_the_env(engagement: Engagement, seed: int, episode: int, order: Any = None) -> tuple[str, str, int]:
    """Drive the dict env with the file's own policies; return hash, outcome and ticks.

    The env sees the policies' decisions only as dicts of actions, in whatever order ``order`` puts their keys.
    """
    env = PursuitEnv(engagement, seed)
    simulation = env.simulation
    sha = TrajectoryHash()
    advance = simulation.advance

    def watched(commands: Any = None) -> Any:
        commands = simulation.commands() if commands is None else commands
        assert all(np.isfinite(command.values).all() for command in commands.values())
        assert_where_it_may_be(engagement, simulation.state.block[:, :, 0])
        sha.state(simulation)
        sha.commands(commands)
        return advance(commands)

    simulation.advance = watched  # type: ignore[method-assign]
    policies = load_policies(simulation)
    observations, _ = env.reset(seed, {"episode": episode})
    for policy in policies.values():
        policy.reset(simulation.roots, None)
    deciding, over = set(observations), not env.agents
    while not over:
        actions: dict[str, Any] = {}
        for name, policy in policies.items():
            role = simulation.roles[name]
            due = np.asarray([[f"{name}_{i}" in deciding] for i in range(role.last - role.first)])
            if not due.any():
                continue
            assert role.perception is not None
            values = policy.decide(role.perception.view(simulation.now), simulation.now, due)
            for i in np.flatnonzero(due[:, 0]):
                action = values[:, i, 0]
                actions[f"{name}_{i}"] = int(action[0]) if role.action.discrete else action
        keys = list(actions)
        if order is not None:
            order(keys)
        observations, _, terminations, truncations, infos = env.step({key: actions[key] for key in keys})
        deciding = {agent for agent in observations if not terminations[agent]}
        over = terminations["__all__"] or truncations["__all__"]
    sha.state(simulation)
    outcome = next(iter(infos.values()))["outcome"] if infos else ""
    return sha.hexdigest(), outcome, int(simulation.tick[0])


def assert_where_it_may_be(engagement: Engagement, block: np.ndarray) -> None:
    """Every agent is where the world's rule lets it be, with a finite state and a unit quaternion."""
    world: Any = engagement.world
    assert np.isfinite(block).all()
    np.testing.assert_allclose((block[3:7] ** 2).sum(axis=0), 1.0, atol=1e-9)
    x, y, z = block[:3]
    if world.backend == "grid":
        assert ((x >= 0) & (x < world.size) & (y >= 0) & (y < world.size) & (x == np.round(x)) & (z == 0)).all()
        assert not {tuple(cell) for cell in world.obstacles} & {(int(i), int(j)) for i, j in zip(x, y, strict=True)}
        return
    if world.arena.edge != "open":
        low, high = np.asarray(world.arena.low)[:, None], np.asarray(world.arena.high)[:, None]
        assert ((block[:3] >= low - 1e-9) & (block[:3] <= high + 1e-9)).all()
    for obstacle in world.obstacles if not engagement.randomise else ():
        if obstacle.shape == "circle":
            outside = np.hypot(x - obstacle.center[0], y - obstacle.center[1])
            assert (outside >= obstacle.radius - 1e-6).all()


@pytest.mark.parametrize(
    ("name", "limit"), [("grid_1v1", None), ("kinematic_3v1", "2 s"), ("multirate_2v2", "1500 ms")]
)
def test_rows_of_a_batch_of_64_are_single_runs(name: str, limit: str | None) -> None:
    engagement = shipped(name, **({"rules__time_limit": limit} if limit else {}))
    batch = Rollout(engagement, 64).run([5] * 64, list(range(64)))
    single = Rollout(engagement, 1)
    for episode in (0, 1, 31, 63):
        assert single.run([5], [episode])[0] == batch[episode]
    assert len({result.trajectory_sha256 for result in batch}) == 64


@pytest.mark.parametrize(("name", "limit"), [("grid_1v1", None), ("kinematic_3v1", "1 s"), ("multirate_2v2", "1 s")])
def test_the_env_under_the_files_policies_is_the_rollout(name: str, limit: str | None) -> None:
    engagement = shipped(name, **({"rules__time_limit": limit} if limit else {}))
    for episode in range(2):
        result = Rollout(engagement, 1).run([3], [episode])[0]
        assert through_the_env(engagement, 3, episode) == (result.trajectory_sha256, result.outcome, result.ticks)


@pytest.mark.parametrize("name", SHIPPED)
def test_the_order_of_the_action_dict_does_not_matter(name: str) -> None:
    engagement = shipped(name, **({} if name == "grid_1v1" else {"rules__time_limit": "500 ms"}))
    forward = through_the_env(engagement, 8, 0)
    backward = through_the_env(engagement, 8, 0, order=lambda keys: keys.reverse())
    assert forward == backward


def runs_alike(engagement: Engagement, seed: int) -> None:
    """An engagement runs alone, in a batch and in the env alike."""
    episodes = [0, 7, 3]
    batch = Rollout(engagement, 3).run([seed] * 3, episodes)
    for row, episode in enumerate(episodes):
        assert Rollout(engagement, 1).run([seed], [episode])[0] == batch[row]
    result = batch[1]
    assert through_the_env(engagement, seed, 7) == (result.trajectory_sha256, result.outcome, result.ticks)


DRAWN = settings(deadline=None, phases=QUICK, suppress_health_check=SLOW)


@settings(DRAWN, max_examples=30)
@given(engagements(), st.integers(0, 2**40))
def test_drawn_engagements_run_alone_in_a_batch_and_in_the_env_alike(engagement: Engagement, seed: int) -> None:
    runs_alike(engagement, seed)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@settings(DRAWN, max_examples=3000)
@given(engagements(), st.integers(0, 2**40))
def test_thousands_of_drawn_engagements_run_alike(engagement: Engagement, seed: int) -> None:
    runs_alike(engagement, seed)


@settings(max_examples=12, deadline=None, phases=QUICK, suppress_health_check=SLOW)
@given(engagements(), st.integers(0, 2**40))
def test_rows_reset_at_any_time_are_fresh_single_runs(engagement: Engagement, seed: int) -> None:
    """Restart rows in mid-flight, as training does; each episode equals the one run alone."""
    chance = np.random.default_rng(seed)
    runner = Rollout(engagement, 3)
    simulation = runner.simulation
    simulation.reset(np.full(3, seed), np.arange(3))
    for policy in runner.policies.values():
        policy.reset(simulation.roots, None)
    hashes = [TrajectoryHash(row) for row in range(3)]
    episodes = [0, 1, 2]
    finished: dict[int, str] = {}
    for _ in range(70):
        running = np.asarray(simulation.running)
        tick_with_hashes(runner, hashes)
        over = running & ~np.asarray(simulation.running)
        finished.update({episodes[row]: hashes[row].hexdigest() for row in np.flatnonzero(over)})
        restart = np.flatnonzero(over | (chance.random(3) < 0.04))
        if not len(restart):
            continue
        for row in restart:
            episodes[row] += 3
            hashes[row] = TrajectoryHash(row)
        simulation.reset(np.full(len(restart), seed), np.asarray([episodes[row] for row in restart]), restart)
        for policy in runner.policies.values():
            policy.reset(simulation.roots[restart], restart)
    single = Rollout(engagement, 1)
    for episode, sha in list(finished.items())[:4]:
        assert single.run([seed], [episode])[0].trajectory_sha256 == sha


def tick_with_hashes(runner: Rollout, hashes: list[TrajectoryHash]) -> None:
    """Run one tick of all rows that are running, into their hashes; the last state too where an episode ends."""
    simulation = runner.simulation
    running = np.flatnonzero(np.asarray(simulation.running))
    simulation.sense()
    decide(simulation, runner.policies)
    commands = simulation.commands()
    for row in running:
        hashes[row].state(simulation)
        hashes[row].commands(commands)
    simulation.advance(commands)
    for row in running:
        if not simulation.running[row]:
            hashes[row].state(simulation)


def test_a_reset_begins_the_same_run_again() -> None:
    engagement = shipped("multirate_2v2", rules__time_limit="1 s")
    runner = Rollout(engagement, 2)
    first = runner.run([4, 4], [0, 1])
    runner.run([9, 9], [5, 6])
    assert runner.run([4, 4], [0, 1]) == first


def test_seed_and_episode_both_matter() -> None:
    engagement = shipped("grid_1v1")
    results = Rollout(engagement, 4).run([1, 1, 2, 2], [0, 1, 0, 1])
    assert len({result.trajectory_sha256 for result in results}) == 4


def test_adding_an_agent_does_not_change_the_noise_of_the_others() -> None:
    one = shipped("kinematic_3v1", rules__time_limit="300 ms", roles__pursuer__count=2)
    two = shipped("kinematic_3v1", rules__time_limit="300 ms")
    starts = [Rollout(e, 1).simulation for e in (one, two)]
    for simulation in starts:
        simulation.reset(np.asarray([1]), np.asarray([0]))
        simulation.sense()
    views = [s.roles["pursuer"].perception.view(s.now)["own_motion"].values for s in starts]  # type: ignore[union-attr]
    np.testing.assert_array_equal(views[0][:, :2], views[1][:, :2])
