"""A training stops and goes on to the bit; files that are damaged or of something else are refused and kept."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")

import torch

from pe_sim.arrays import namespace
from pe_sim.engagement import parse
from pe_sim.envs.vector_pursuit import VectorPursuit
from pe_sim.errors import EngagementError, PeError
from pe_sim.evaluation.rollout import rollout
from pe_sim.learning import checkpoint
from pe_sim.learning.checkpoint import read_checkpoint, write_checkpoint
from pe_sim.learning.env_state import environment_state, restore_environment
from pe_sim.learning.ippo import scaled
from pe_sim.learning.spec import parse_training
from pe_sim.learning.trainer import CHECKPOINT, Trainer
from pe_sim.policies.networks import Network

from ..files import SHIPPED, grid_file, plane_file, shipped  # noqa: TID252 - shared by one room

TEAM = plane_file(rules={"time_limit": "1 s"}, roles={"pursuer": {"count": 2, "observe": {"actions": 1}}})


def trainer_of(path, data=None, **sections) -> Trainer:
    file = {
        "training": "t", "engagement": "x", "batch": 6, "decisions": 8, "steps": 600, "checkpoint_every": 2,
        "roles": {"pursuer": {"network": {"hidden": [8]}, "critic": {"hidden": [8]}, "epochs": 2, "minibatches": 2}},
        **sections,
    }
    return Trainer(parse_training(file), parse(data or TEAM), path)


def weights_of(trainer: Trainer):
    return [values for learner in trainer.learners for values in learner.weights().values()]


@pytest.mark.parametrize("data", [TEAM, grid_file(rules={"max_step": 7})], ids=["plane", "grid"])
@pytest.mark.parametrize("stop", [1, 3, 4])
def test_a_training_stopped_at_any_update_goes_on_to_the_same_bits(tmp_path, data, stop):
    whole = trainer_of(tmp_path / "whole", data)
    (tmp_path / "whole").mkdir()
    whole.run()
    assert whole.update > stop
    first = trainer_of(tmp_path, data)
    first.run(lambda standing: standing.update < stop)
    second = trainer_of(tmp_path, data)
    second.resume(tmp_path / CHECKPOINT)
    assert second.update == stop
    second.run()
    assert second.steps == whole.steps
    assert all(np.array_equal(a, b) for a, b in zip(weights_of(whole), weights_of(second), strict=True))
    same = ("update", "steps", "pursuer/reward", "pursuer/entropy")
    assert [[h[k] for k in same] for h in second.history] == [[h[k] for k in same] for h in whole.history]


@pytest.mark.parametrize("name", SHIPPED)
def test_an_environment_put_back_goes_on_to_the_same_bits(name):
    limit = {} if name == "grid_1v1" else {"rules__time_limit": "1 s"}
    engagement = shipped(name, **limit)
    roles = tuple(engagement.roles)[:1]
    one, rng = VectorPursuit(engagement, 5, roles=roles), np.random.default_rng(0)
    one.reset()
    for _ in range(70):
        one.step(one.sample(rng))
    state = pickle.loads(pickle.dumps(environment_state(one)))
    other = VectorPursuit(engagement, 5, roles=roles)
    other.reset()
    restore_environment(other, state)
    again = VectorPursuit(engagement, 5, roles=roles)
    again.reset()
    restore_environment(again, environment_state(other))
    for _ in range(150):
        actions = one.sample(rng)
        a, b, c = one.step(actions), other.step(actions), again.step(actions)
        for x in (b, c):
            assert all(np.array_equal(a.observations[r], x.observations[r]) for r in roles)
            assert all(np.array_equal(a.rewards[r], x.rewards[r]) for r in roles)
            assert np.array_equal(a.terminated, x.terminated)


def test_a_state_of_another_environment_is_refused():
    state = environment_state(VectorPursuit(shipped("kinematic_3v1"), 2))
    with pytest.raises(PeError, match="does not fit"):
        restore_environment(VectorPursuit(shipped("grid_1v1"), 2), state)


class Trap:
    def __reduce__(self):
        return (pytest.fail, ("code from a checkpoint was run",))


def test_damaged_and_wrong_files_are_told_and_kept(tmp_path):
    trainer = trainer_of(tmp_path)
    path = trainer.save()
    good = path.read_bytes()
    for data, message in [
        (good[:-1], "damaged"), (good[:40], "damaged"), (good[:-100] + b"x" * 100, "damaged"),
        (b"PK\x03\x04 something else", "is no training checkpoint"), (b"", "is no training checkpoint"),
    ]:
        path.write_bytes(data)
        with pytest.raises(PeError, match=message):
            trainer.resume(path)
        assert path.read_bytes() == data
    with pytest.raises(PeError, match="cannot be read"):
        trainer.resume(tmp_path / "missing")


def test_a_checkpoint_cannot_run_code(tmp_path):
    write_checkpoint(tmp_path / "c", {"x": Trap()})
    with pytest.raises(PeError, match="no plain data"):
        read_checkpoint(tmp_path / "c")


def test_a_full_disk_keeps_what_was_there(tmp_path, monkeypatch):
    trainer = trainer_of(tmp_path)
    path = trainer.save()
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    trainer.advance()
    monkeypatch.setattr("pe_sim.policies.bundle.os.fsync", full)
    with pytest.raises(PeError, match=r"No space left.*the one before is kept"):
        trainer.save()
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == [CHECKPOINT]
    assert checkpoint.read_checkpoint(path)["update"] == 0


def test_a_checkpoint_of_another_training_is_refused_with_the_difference(tmp_path):
    path = trainer_of(tmp_path).save()
    with pytest.raises(PeError, match=r"seed.*where it is 1"):
        trainer_of(tmp_path, seed=9).resume(path)
    with pytest.raises(PeError, match="another engagement"):
        trainer_of(tmp_path, plane_file()).resume(path)
    trainer_of(tmp_path, steps=900).resume(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"batsh": 3}, "did you mean 'batch'"),
        ({"roles": {"pursuer": {"gama": 1}}}, "did you mean 'gamma'"),
        ({"roles": {"pursuer": {"gamma": 1.5}}}, "gamma"),
        ({"roles": {"pursuer": {"algorithm": "sarsa"}}}, "algorithm"),
        ({"roles": {}}, "roles"),
        ({"roles": {"pursuer": {"network": {"recurrent": "gru"}, "warm_start": {"use": "guidance/flee"}}}}, "taught"),
    ],
)
def test_a_training_file_is_checked(change, message):
    data = {"training": "t", "engagement": "x", "steps": 10, "roles": {"pursuer": {}}, **change}
    with pytest.raises(EngagementError, match=message):
        parse_training(data)


def test_the_bundle_flies_and_decides_as_the_trainer_does(tmp_path):
    trainer = trainer_of(tmp_path)
    for _ in range(3):
        trainer.advance()
    bundle = trainer.write_bundles({"capture_rate": 0.5})["pursuer"]
    assert bundle.description.evaluation == {"capture_rate": 0.5}
    assert bundle.description.provenance["steps"] == trainer.steps
    flown = trainer.flown_by({"pursuer": bundle.path})
    results = list(rollout(flown, 2))
    assert results[0].trajectory_sha256 != next(rollout(trainer.engagement, 1)).trajectory_sha256
    # The same observations give the same action, in the network that learned and in the one that flies.
    learner = trainer.learners[0]
    seen = trainer._collector.rollouts[0].observation[:3].reshape(-1, len(learner.sizes.names))
    with torch.no_grad():
        learned = learner.actor.body(scaled(learner.observed, seen)).numpy()
    weights = {k.partition(".")[2]: v for k, v in copy.copy(bundle.weights).items()}
    mean, deviation = weights["normalisation.mean"], weights["normalisation.deviation"]
    flies, _ = Network(bundle.description.network, weights, namespace()).forward(
        np.clip((seen - mean) / deviation, -10, 10), None
    )
    assert flies == pytest.approx(learned, abs=1e-5)
