"""Networks that remember: sequences are learned from as they were lived, to the bit after a stop, and fly the same."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")

import torch

from pe_sim.actions import discrete
from pe_sim.arrays import namespace
from pe_sim.evaluation.rollout import rollout
from pe_sim.learning.ippo import Ippo, Sizes, scaled
from pe_sim.learning.mappo import Mappo
from pe_sim.learning.padding import padded
from pe_sim.learning.recurrent import Unit
from pe_sim.learning.sequences import Sequences
from pe_sim.learning.spec import LearnerSpec
from pe_sim.learning.trainer import CHECKPOINT, Trainer
from pe_sim.policies.networks import Network

from ..files import plane_file  # noqa: TID252 - shared by one room
from .test_trainer import TEAM, trainer_of, weights_of


def recurrent(kind: str, **more):
    network = {"hidden": [8], "recurrent": kind, "memory": 6}
    return {"pursuer": {"network": network, "critic": {"hidden": [8]}, "epochs": 2, "minibatches": 2, **more}}


@pytest.mark.parametrize(("kind", "gates"), [("gru", 3), ("lstm", 4)])
def test_the_units_are_torchs_own(kind, gates):
    unit = Unit(torch.Generator().manual_seed(1), 5, 7, gates)
    own = (torch.nn.GRUCell if kind == "gru" else torch.nn.LSTMCell)(5, 7)
    with torch.no_grad():
        unit.bias_ih.normal_()
        unit.bias_hh.normal_()
        for name, values in unit.named_parameters():
            getattr(own, name).copy_(values)
    x, memory = torch.randn(4, 5), torch.randn(4, 7 if kind == "gru" else 14)
    found = unit(unit.enter(x), memory)
    wanted = own(x, memory) if kind == "gru" else torch.cat(own(x, (memory[:, :7], memory[:, 7:])), dim=1)
    torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_sequences_are_judged_as_they_were_lived(tmp_path, kind):
    """From the memory before the first decision, over ends of episodes: the same probabilities as when drawn."""
    data = plane_file(rules={"time_limit": "500 ms"}, roles={"pursuer": {"count": 2}})
    trainer = trainer_of(tmp_path, data, roles=recurrent(kind), batch=5, decisions=12)
    learner, rollouts = trainer.learners[0], trainer._collector.rollouts[0]
    for _ in range(3):
        trainer._collector.collect()
        closed = rollouts.closed
        assert rollouts.ended[closed].any()
        sequences = padded(rollouts, learner.observed)
        inputs, memory, fresh, counted, places = sequences.of(torch.arange(sequences.count))
        assert sorted(places.tolist()) == list(range(int(closed.sum())))
        with torch.no_grad():
            out = learner.actor.unroll(inputs, memory, fresh)[counted]
            action = torch.tensor(rollouts.action[closed])[places]
            log_prob, _ = learner.actor.judge(out, action)
        drawn = torch.tensor(rollouts.log_prob[closed])[places]
        torch.testing.assert_close(log_prob, drawn, rtol=1e-4, atol=1e-5)
    assert (rollouts.initial != 0).any()


def test_what_is_padded_changes_nothing(tmp_path):
    weights = []
    for garbage in (0.0, 1e3):
        trainer = trainer_of(tmp_path, TEAM, roles=recurrent("gru"))
        trainer._collector.collect()
        rollouts = trainer._collector.rollouts[0]
        hidden = ~rollouts.closed
        assert hidden.any()
        rollouts.observation[hidden] = garbage
        rollouts.log_prob[hidden] = garbage
        trainer.learners[0].update(rollouts, 0.0)
        weights.append(weights_of(trainer))
    assert all(np.array_equal(a, b) for a, b in zip(*weights, strict=True))


def test_memory_is_each_agents_own_and_ends_with_its_episode():
    spec = LearnerSpec.model_validate(recurrent("gru")["pursuer"])
    learner = Ippo(spec, [("r", 0)], Sizes(("x",), ("x",), discrete("grid_move3", 3)), torch.Generator().manual_seed(1))
    rollouts = Sequences((1, 2), 5, 1, 1, 1, 6)
    rollouts.begin()
    agents, rows = np.zeros(2, np.int64), np.arange(2)
    seen = np.asarray([[1.0], [-1.0]], np.float32)
    for over in ([False, False], [True, False]):
        choice, memory = learner.act_on(seen, seen, agents, rollouts.memory[agents, rows])
        rollouts.decide(agents, rows, seen, seen, choice, memory)
        rollouts.receive(np.zeros((1, 2)))
        rollouts.end(np.asarray([over]), np.zeros((1, 2)))
    assert not rollouts.memory[0, 0].any()
    assert np.array_equal(rollouts.memory[0, 1], memory[1])
    before = rollouts._before.copy()
    rollouts.begin()
    assert not rollouts.initial[0, 0].any()
    assert np.array_equal(rollouts.initial[0, 1], before[0, 1])


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_a_recurrent_training_stopped_goes_on_to_the_same_bits(tmp_path, kind):
    (tmp_path / "whole").mkdir()
    whole = trainer_of(tmp_path / "whole", TEAM, roles=recurrent(kind))
    whole.run()
    first = trainer_of(tmp_path, TEAM, roles=recurrent(kind))
    first.run(lambda standing: standing.update < 3)
    second = trainer_of(tmp_path, TEAM, roles=recurrent(kind))
    second.resume(tmp_path / CHECKPOINT)
    second.run()
    assert second.update == whole.update > 3
    assert all(np.array_equal(a, b) for a, b in zip(weights_of(whole), weights_of(second), strict=True))


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_the_bundle_remembers_as_the_trainer_does(tmp_path, kind):
    trainer: Trainer = trainer_of(tmp_path, TEAM, roles=recurrent(kind))
    for _ in range(2):
        trainer.advance()
    bundle = trainer.write_bundles()["pursuer"]
    assert [one.ticks > 0 for one in rollout(trainer.flown_by({"pursuer": bundle.path}), 2)] == [True, True]
    learner = trainer.learners[0]
    weights = {key.partition(".")[2]: values for key, values in bundle.weights.items()}
    mean, deviation = weights["normalisation.mean"], weights["normalisation.deviation"]
    flying = Network(bundle.description.network, weights, namespace())
    seen = trainer._collector.rollouts[0].observation[:4, 0]
    memory = np.zeros((seen.shape[1], learner.actor.state_size), np.float32)
    learned_memory = torch.tensor(memory)
    for one in seen:
        out, memory = flying.forward(np.clip((one - mean) / deviation, -10, 10), memory)
        with torch.no_grad():
            learned, learned_memory = learner.actor.body(scaled(learner.observed, one), learned_memory)
        assert out == pytest.approx(learned.numpy(), abs=1e-5)
        assert memory == pytest.approx(learned_memory.numpy(), abs=1e-5)


def score(algorithm: type[Ippo], kind: str, updates: int = 60) -> float:
    """Show a number once, ask for it three decisions later; return how often the answer is right after learning."""
    spec = LearnerSpec.model_validate({
        "network": {"hidden": [16], "recurrent": kind, "memory": 16}, "critic": {"hidden": [16]}, "anneal": False,
        "learning_rate": 0.01, "epochs": 4, "minibatches": 4, "entropy": 0.01,
    })
    names = ("shown", "asked")
    sizes = Sizes(names, names, discrete("grid_move2", 2))
    learner = algorithm(spec, [("r", 0)], sizes, torch.Generator().manual_seed(3))
    rng, count, length = np.random.default_rng(0), 128, 4
    rollouts = Sequences((1, count), 2 * length + 1, 2, 2, 1, learner.actor.state_size)
    agents, rows = np.zeros(count, np.int64), np.arange(count)
    right = 0.0
    for _ in range(updates):
        rollouts.begin()
        for place in range(2 * length):
            at = place % length
            if at == 0:
                number = rng.integers(2, size=count)
            seen = np.zeros((count, 2), np.float32)
            seen[:, 0] = (2.0 * number - 1.0) if at == 0 else 0.0
            seen[:, 1] = at == length - 1
            if learner.actor.state_size:
                choice, memory = learner.act_on(seen, seen, agents, rollouts.memory[agents, rows])
            else:
                choice, memory = learner.act(seen, seen, agents), None
            rollouts.decide(agents, rows, seen, seen, choice, memory)
            paid = (choice[0][:, 0] == number) if at == length - 1 else np.zeros(count)
            rollouts.receive(paid[None] * 1.0)
            rollouts.end(np.full((1, count), at == length - 1), np.zeros((1, count)))
            right = float(np.mean(paid)) if at == length - 1 else right
        learner.update(rollouts, 0.0)
    return right


@pytest.mark.parametrize(("algorithm", "kind"), [(Ippo, "gru"), (Mappo, "lstm")])
def test_what_must_be_remembered_is_learned_by_those_who_can(algorithm, kind):
    assert score(algorithm, kind) > 0.95


def test_what_must_be_remembered_is_beyond_a_network_without_memory():
    assert score(Ippo, "none") < 0.7
