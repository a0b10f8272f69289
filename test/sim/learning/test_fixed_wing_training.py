"""Training on JSBSim aircraft: stops in mid-flight and goes on to the same bits, here and in worker processes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

pytest.importorskip("jsbsim", reason="needs JSBSim: install pe_ros[fixed_wing]")
pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")

from pe_sim.envs.vector_pursuit import VectorPursuit
from pe_sim.errors import PeError
from pe_sim.learning.checkpoint import read_checkpoint, write_checkpoint
from pe_sim.learning.env_state import environment_state, restore_environment
from pe_sim.learning.spec import parse_training
from pe_sim.learning.trainer import CHECKPOINT, Trainer

from ..files import shipped  # noqa: TID252 - shared by one room

DUEL = {"rules__time_limit": "2 s", "roles__hunter__policy__rate": "5 Hz"}
"""Episodes so short that they end and begin anew within the tests."""
MIXED = {"rules__time_limit": "3 s"}
"""F-16 against T-38, in wind and turbulence."""


def trainer_of(path, engagement) -> Trainer:
    how = {"network": {"hidden": [8]}, "critic": {"hidden": [8]}, "epochs": 2, "minibatches": 2, "initial_std": 0.1}
    file = {
        "training": "t", "engagement": "x", "batch": 3, "decisions": 5, "steps": 1000, "roles": {
            next(iter(engagement.roles)): how
        },
    }
    return Trainer(parse_training(file), engagement, path)


def weights_of(trainer: Trainer):
    return [values for learner in trainer.learners for values in learner.weights().values()]


@pytest.mark.parametrize(
    ("name", "changes", "stop"),
    [pytest.param("fixed_wing_1v1", DUEL, 3, id="duel"), pytest.param("fixed_wing_2v2", MIXED, 2, id="mixed types")],
)
def test_a_training_stopped_in_mid_flight_goes_on_to_the_same_bits(tmp_path, name, changes, stop):
    engagement, whole_path = shipped(name, **changes), tmp_path / "whole"
    whole = trainer_of(whole_path, engagement)
    whole.run()
    assert whole.update > stop + 1
    first = trainer_of(tmp_path, engagement)
    first.run(lambda standing: standing.update < stop)
    assert any(int(tick) > 0 for tick in first.env.lanes[0].simulation.tick)  # in the middle of episodes
    second, told = trainer_of(tmp_path, engagement), []
    second.resume(tmp_path / CHECKPOINT, lambda done, total: told.append((done, total)))
    assert told[-1][0] == told[-1][1] > 0
    second.run()
    assert second.steps == whole.steps
    assert all(np.array_equal(a, b) for a, b in zip(weights_of(whole), weights_of(second), strict=True))


def run(env: VectorPursuit, steps: int, seed: int) -> list:
    rng, out = np.random.default_rng(seed), []
    for _ in range(steps):
        step = env.step(env.sample(rng))
        out.append(pickle.dumps([step.observations, step.rewards, step.terminated, step.truncated]))
    return out


@pytest.mark.parametrize(("before", "after"), [(0, 2), (2, 0)])
def test_workers_are_no_part_of_the_state(before, after):
    files = [shipped("fixed_wing_1v1", world__workers=workers, **DUEL) for workers in (before, after)]
    envs = [VectorPursuit(file, 4, roles=("hunter",)) for file in files]
    try:
        one, other = envs
        one.reset()
        run(one, 15, 1)
        restore_environment(other, pickle.loads(pickle.dumps(environment_state(one))))
        assert run(one, 15, 2) == run(other, 15, 2)
    finally:
        for env in envs:
            env.close()


def test_a_checkpoint_whose_flights_lead_elsewhere_is_refused_and_kept(tmp_path):
    trainer = trainer_of(tmp_path, shipped("fixed_wing_1v1", **DUEL))
    trainer.advance()
    path = trainer.save()
    state = read_checkpoint(path)
    state["environment"]["outside"][0]["action"][:, :, 1] += 1.0
    write_checkpoint(path, state)
    kept = path.read_bytes()
    with pytest.raises(PeError, match="is not what flying it again comes to"):
        trainer_of(tmp_path, trainer.engagement).resume(path)
    assert path.read_bytes() == kept


@pytest.mark.parametrize(
    "damage",
    [
        lambda told: told.pop("mode"),
        lambda told: told.update(action=told["action"][:, :1]),
        lambda told: told.update(row=told["row"] + 7),
        lambda told: told.update(ticks=told["ticks"][:1], episodes=told["episodes"][:2]),
    ],
    ids=["missing", "shape", "row", "batch"],
)
def test_a_log_that_does_not_fit_is_refused(damage):
    env = VectorPursuit(shipped("fixed_wing_1v1", **DUEL), 3, roles=("hunter",))
    env.reset()
    run(env, 3, 1)
    state = environment_state(env)
    damage(state["outside"][0])
    with pytest.raises(PeError, match="does not fit this environment"):
        restore_environment(VectorPursuit(env.engagement, 3, roles=("hunter",)), state)
