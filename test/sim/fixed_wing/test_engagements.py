"""The shipped engagements in the air: a named outcome, the same on every run, in a batch, in the env."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pe_sim.engagement import Engagement
from pe_sim.envs.pursuit_env import PursuitEnv
from pe_sim.evaluation.rollout import Rollout, load_policies
from pe_sim.rules import OUTCOMES
from pe_sim.trajectory import TrajectoryHash

from .flying import SHIPPED, shipped


def shortened(name: str) -> Any:
    return shipped(name, rules__time_limit="3 s")


@pytest.mark.parametrize("name", SHIPPED)
def test_a_rerun_a_row_and_a_worker_give_the_same_trajectory(name):
    engagement = shortened(name)
    alone = Rollout(engagement)
    first = [alone.run([3], [episode])[0] for episode in (0, 1)]
    assert alone.run([3], [0])[0].trajectory_sha256 == first[0].trajectory_sha256
    together = Rollout(engagement, 2).run([3, 3], [0, 1])
    pooled = Rollout(shipped(name, rules__time_limit="3 s", world__workers=2), 2)
    try:
        shared = pooled.run([3, 3], [0, 1])
    finally:
        pooled.simulation.close()
    for rows in (together, shared):
        assert [row.trajectory_sha256 for row in rows] == [row.trajectory_sha256 for row in first]
    assert first[0].trajectory_sha256 != first[1].trajectory_sha256


def through_the_env(engagement: Engagement, seed: int) -> str:
    """Drive the dict env with the file's own policies, which see only what is due; return the trajectory's hash."""
    env = PursuitEnv(engagement, seed)
    simulation, sha = env.simulation, TrajectoryHash()
    policies = load_policies(simulation)
    advance = simulation.advance

    def watched(commands: Any = None) -> Any:
        commands = simulation.commands() if commands is None else commands
        sha.state(simulation)
        sha.commands(commands)
        return advance(commands)

    simulation.advance = watched
    env.reset()
    for policy in policies.values():
        policy.reset(simulation.roots, None)
    while env.agents:
        actions: dict[str, Any] = {}
        for name, role in simulation.roles.items():
            names = env.possible_agents[role.first : role.last]
            due = np.asarray([[agent in env.due] for agent in names])
            if due.any():
                values = policies[name].decide(role.perception.view(simulation.now), simulation.now, due)
                actions |= {agent: values[:, i, 0] for i, agent in enumerate(names) if due[i, 0]}
        env.step(actions)
    sha.state(simulation)
    return sha.hexdigest()


@pytest.mark.parametrize("name", SHIPPED)
def test_the_env_flies_the_same_trajectory(name):
    engagement = shortened(name)
    alone = Rollout(engagement).run([3], [0])[0]
    assert through_the_env(engagement, 3) == alone.trajectory_sha256


@pytest.mark.parametrize(
    ("name", "episode"),
    [("fixed_wing_3v1", 4), *(pytest.param(name, 0, marks=pytest.mark.slow) for name in SHIPPED)],
)
def test_a_whole_episode_ends_with_a_named_outcome(name, episode):
    engagement = shipped(name)
    result = Rollout(engagement).run([engagement.seed], [episode])[0]
    assert result.outcome in OUTCOMES[1:]
    assert result.outcome not in ("aborted", "stopped")
    assert all(np.isfinite(list(result.rewards.values())))


@pytest.mark.slow
def test_many_episodes_of_the_duel_end_otherwise_than_by_running_out():
    engagement = shipped("fixed_wing_3v1")
    outcomes = [row.outcome for row in Rollout(engagement, 6).run([5] * 6, list(range(6)))]
    assert "capture" in outcomes
