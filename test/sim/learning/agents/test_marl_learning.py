"""Every multi-agent algorithm learns, up to what is known to be the best; each test takes a few seconds."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")

from pe_sim.learning.agents.marl_coma import COMAAgents
from pe_sim.learning.agents.marl_ippo import IPPOAgents
from pe_sim.learning.agents.marl_iql import IQLAgents
from pe_sim.learning.agents.marl_maddpg import MADDPGAgents
from pe_sim.learning.agents.marl_mappo import MAPPOAgents
from pe_sim.learning.agents.marl_qmix import QMIXAgents
from pe_sim.learning.agents.marl_vdn import VDNAgents

from .marl_games import Chase, Credit, Matrix, Meet, Remember, TwoStep, settings, vector

PPO = {"buffer_size": 128, "ent_coef": 0.0, "use_parameter_sharing": True}
Q = {
    "buffer_size": 4000, "batch_size": 32, "n_epochs": 1, "start_greedy": 1.0, "end_greedy": 0.05,
    "decay_step_greedy": 1500, "training_frequency": 8, "start_training": 100, "sync_frequency": 30, "gamma": 0.9,
    "use_parameter_sharing": True,
}
COMA = {
    "buffer_size": 128, "n_epochs": 1, "sync_frequency": 4, "learning_rate_critic": 0.03, "use_parameter_sharing": True,
}


def learn(kind, game, steps, envs=16, **changes):
    """Trained agents, and their mean scores before and after."""
    agents = kind(settings(**changes), vector(game, envs))
    before = np.mean(agents.test(40, test_envs=vector(game, 4)))
    agents.train(steps)
    return agents, before, np.mean(agents.test(80, test_envs=vector(game, 4)))


@pytest.mark.parametrize(("kind", "steps", "changes"), [
    (IPPOAgents, 8 * 24, PPO), (MAPPOAgents, 8 * 24, PPO), (COMAAgents, 8 * 60, COMA),
    (IQLAgents, 250, Q), (VDNAgents, 250, Q), (QMIXAgents, 250, Q),
])
def test_each_learns_its_part_of_what_all_are_paid_for(kind, steps, changes):
    _, before, after = learn(kind, Credit, steps, **changes)
    assert before < 0.6
    assert after > 0.95


TWO_STEP = {
    **Q, "end_greedy": 1.0, "gamma": 0.99, "training_frequency": 4, "hidden": (32,), "learning_rate": 0.005,
    "sync_frequency": 40, "use_parameter_sharing": False,
}


def test_qmix_finds_the_best_of_the_two_step_game():
    agents, _, after = learn(QMIXAgents, TwoStep, 300, envs=8, **TWO_STEP)
    assert after == 8.0
    assert agents.e_greedy == 1.0  # all it knows is from trying out at random


def test_vdn_finds_only_seven_as_a_sum_of_values_must():
    agents, _, after = learn(VDNAgents, TwoStep, 300, envs=8, **TWO_STEP)
    assert after == 7.0
    sample = agents.memory.sample(agents.rng)
    sample["obs"] = {a: np.broadcast_to(np.eye(3, dtype=np.float32)[2], x.shape) for a, x in sample["obs"].items()}
    sample["actions"] = {a: np.ones_like(x) for a, x in sample["actions"].items()}
    taken, _ = agents.taken_and_next(sample)
    # The sum nearest to ((0, 1), (1, 8)) in least squares has 6.5 where the best is 8.
    assert float((taken["a_0"] + taken["a_1"]).detach()[0, 0]) == pytest.approx(6.5, abs=0.4)


def test_independent_learners_of_the_climbing_game_know_means_and_settle_for_five():
    agents, _, after = learn(
        IQLAgents, Matrix, 400, envs=8, **{**Q, "end_greedy": 1.0, "learning_rate": 0.003, "batch_size": 256},
    )
    assert after == 5.0
    sample, found = agents.memory.sample(agents.rng), []
    for choice in range(3):
        sample["actions"] = {a: np.full_like(x, choice) for a, x in sample["actions"].items()}
        found.append(float(agents.taken_and_next(sample)[0]["a_0"].detach()[0, 0]))
    assert found == pytest.approx([-19 / 3, -17 / 3, 5 / 3], abs=1.5)


@pytest.mark.parametrize(("kind", "steps", "changes"), [
    (IPPOAgents, 9 * 28, {**PPO, "rnn": "GRU", "buffer_size": 16 * 9}),
    (QMIXAgents, 250, {**Q, "rnn": "GRU", "sequence_length": 3}),
])
def test_with_a_memory_they_say_at_the_end_what_they_saw_at_the_beginning(kind, steps, changes):
    _, before, after = learn(kind, Remember, steps, use_rnn=True, **changes)
    assert before < 0.75
    assert after > 0.95  # without a memory nobody can have more than a half


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "changes"), [
    (COMAAgents, {**COMA, "buffer_size": 16 * 9, "learning_rate_actor": 0.02, "n_minibatch": 1}),
    (MAPPOAgents, {**PPO, "rnn": "LSTM", "buffer_size": 16 * 9}),
    (IQLAgents, {**Q, "sequence_length": 3}), (VDNAgents, {**Q, "rnn": "LSTM", "sequence_length": 3}),
])
def test_with_a_memory_the_others_learn_it_too(kind, changes):
    _, _, after = learn(kind, Remember, 900, use_rnn=True, **changes)
    assert after > 0.95


@pytest.mark.parametrize(("kind", "steps", "changes"), [
    (MAPPOAgents, 8 * 40, {**PPO, "use_parameter_sharing": False}),
    (MADDPGAgents, 300, {
        **Q, "use_parameter_sharing": False, "start_noise": 1.0, "end_noise": 0.1, "running_steps": 4000, "tau": 0.05,
        "batch_size": 64, "training_frequency": 6, "hidden": (32, 32), "learning_rate_actor": 0.003,
    }),
])
def test_continuous_actions_of_unequal_bounds_and_sizes_come_near_the_best(kind, steps, changes):
    _, before, after = learn(kind, Meet, steps, **changes)
    assert before < -4.0
    assert after > -0.25


def steps_of(policy, episodes=300) -> float:
    game, steps = Chase(), 0
    game.reset(seed=5)
    for _ in range(episodes):
        game.reset()
        while game.agents:
            game.step({agent: policy(game, agent) for agent in game.agents})
            steps += 1
    return steps / episodes


def test_two_learn_to_catch_a_third_on_a_grid_as_fast_as_by_going_straight_at_it():
    agents, before, after = learn(
        MAPPOAgents, Chase, 32 * 15, buffer_size=16 * 32, n_minibatch=4, learning_rate=0.006, hidden=(32,),
        ent_coef=0.003, use_parameter_sharing=True,
    )
    rng = np.random.default_rng(0)
    by_chance = steps_of(lambda game, agent: int(rng.integers(5)))
    straight = steps_of(lambda game, agent: game.greedy(agent))
    assert straight < by_chance / 3
    found = np.mean(agents.test(300, test_envs=vector(Chase, 8))) / -0.1
    assert found < straight * 1.25  # every step costs 0.1
    assert before / -0.1 > by_chance
    assert after > before
