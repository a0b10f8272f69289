"""Warm start: what guidance does is learned before anything is learned from rewards."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")

from pe_sim.engagement import parse
from pe_sim.envs.vector_pursuit import VectorPursuit
from pe_sim.errors import EngagementError, PluginError
from pe_sim.evaluation.rollout import load_policies
from pe_sim.learning.spec import parse_training
from pe_sim.learning.trainer import Trainer
from pe_sim.learning.warm_start import Teacher
from pe_sim.learning.warm_start_spec import WarmStartSpec

from ..files import grid_file, plane_file  # noqa: TID252 - shared by one room


def training(path, data, *, seed=1, **how):
    warm = {"use": "guidance/pure_pursuit", "rounds": 3, "decisions": 2000, "epochs": 4, "minibatch": 128, **how}
    file = {
        "training": "t", "engagement": "x", "seed": seed, "batch": 20, "decisions": 4, "steps": 100_000,
        "roles": {"pursuer": {
            "network": {"hidden": [48]}, "critic": {"hidden": [8]}, "epochs": 1, "initial_std": 0.1, "warm_start": warm,
        }},
    }
    return Trainer(parse_training(file), parse(data), path)


def actor_of(trainer):
    return trainer.learners[0].weights()


def test_the_error_falls_with_what_the_guidance_has_said(tmp_path):
    short = training(tmp_path, plane_file(), rounds=1, epochs=1).advance()["pursuer/imitation_loss"]
    long = training(tmp_path, plane_file(), rounds=6).advance()["pursuer/imitation_loss"]
    assert long < 0.6 * short
    assert long < 0.08  # against 0.5, the mean square of the parts of a unit vector


def test_choices_are_learned_too(tmp_path):
    follow = {"use": "guidance/greedy_grid", "parameters": {"intent": "chase"}}
    loss = training(tmp_path, grid_file(), rounds=6, learning_rate=3e-3, **follow).advance()["pursuer/imitation_loss"]
    assert loss < 0.5 * np.log(9)


def test_it_depends_on_the_seed_alone(tmp_path):
    one, same, other = (training(tmp_path, plane_file(), seed=seed) for seed in (1, 1, 2))
    for trainer in (one, same, other):
        trainer.advance()
    assert all(np.array_equal(values, actor_of(same)[name]) for name, values in actor_of(one).items())
    assert not np.array_equal(actor_of(one)["head.weight"], actor_of(other)["head.weight"])


def test_the_critic_learns_alone_first(tmp_path):
    trainer = training(tmp_path, plane_file(), critic_updates=2)
    trainer._warm_start()
    begin = actor_of(trainer)
    critic = trainer.learners[0].critic.body.head.weight.detach().clone()
    trainer._warm_start = dict
    changed = []
    for _ in range(3):
        trainer.advance()
        changed.append(not np.array_equal(begin["head.weight"], actor_of(trainer)["head.weight"]))
    assert changed == [False, False, True]
    assert not critic.equal(trainer.learners[0].critic.body.head.weight)


def test_a_teacher_does_what_the_guidance_flies():
    # The guidance has a memory (successive directions), so that episodes that begin anew must clear it.
    law = {"policy": {"use": "guidance/lead_pursuit", "rate": 10}}
    engagement = parse(plane_file(rules={"time_limit": "1 s"}, roles={"pursuer": law}))
    told, flown = [VectorPursuit(engagement, 6, roles=("pursuer",), block=block) for block in (4, 6)]
    teacher = Teacher(told, "pursuer", WarmStartSpec(use="guidance/lead_pursuit"))
    step, other = told.reset(), flown.reset()
    policy = load_policies(flown.lanes[0].simulation)["pursuer"]
    policy.reset(flown.lanes[0].simulation.roots, None)
    for _ in range(70):
        answers = teacher.answers(step)
        simulation = flown.lanes[0].simulation
        views = simulation.roles["pursuer"].perception.view(simulation.now)
        own = policy.decide(views, simulation.now, other.due["pursuer"].T).transpose(2, 1, 0)
        due = step.due["pursuer"]
        assert np.array_equal(answers[due], own[due])
        step, other = told.step({"pursuer": answers}), flown.step({"pursuer": own})
        teacher.begin(step.finals.rows)
        rows = other.finals.rows
        if len(rows):
            policy.reset(simulation.roots[rows], rows)


@pytest.mark.parametrize(("change", "fault"), [
    ({"use": "guidance/nothing"}, PluginError), ({"parameters": {"gain": 3}}, EngagementError),
])
def test_what_cannot_be_followed_is_told(tmp_path, change, fault):
    with pytest.raises(fault):
        training(tmp_path, plane_file(), **change).advance()


def test_networks_with_memory_are_refused(tmp_path):
    trainer = training(tmp_path, plane_file())
    how = trainer.learners[0].spec
    network = how.network.model_copy(update={"recurrent": "gru"})
    trainer.learners[0].spec = how.model_copy(update={"network": network})
    with pytest.raises(EngagementError, match="without memory"):
        trainer.advance()
