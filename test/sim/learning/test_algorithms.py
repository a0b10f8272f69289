"""PPO's parts by hand, what actors and critics see, whose gradients touch whom, and that it learns."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")

import torch

from pe_sim.actions import continuous, discrete
from pe_sim.engagement import parse
from pe_sim.errors import EngagementError, PeError
from pe_sim.learning.ippo import Ippo, Sizes, clipped_objective
from pe_sim.learning.mappo import Mappo
from pe_sim.learning.networks import Actor
from pe_sim.learning.normaliser import RunningNormaliser
from pe_sim.learning.sequences import Sequences
from pe_sim.learning.spec import LearnerSpec, parse_training
from pe_sim.learning.trainer import Trainer
from pe_sim.policies.networks import NetworkSpec

from ..files import grid_file, plane_file  # noqa: TID252 - shared by one room

SMALL = LearnerSpec(network=NetworkSpec(hidden=(16,)), critic={"hidden": [16]}, epochs=2, minibatches=2)


def generator(seed: int = 0):
    return torch.Generator().manual_seed(seed)


def training(**sections):
    return parse_training({"training": "t", "engagement": "x", "batch": 8, "decisions": 8, "steps": 640, **sections})


def learn(data, path, **sections) -> Trainer:
    return Trainer(training(**sections), parse(data), path)


def test_the_clipped_objective_by_hand():
    ratio = torch.tensor([1.5, 0.5, 1.5, 0.5, 1.1])
    advantage = torch.tensor([1.0, 1.0, -1.0, -1.0, 2.0])
    assert clipped_objective(ratio, advantage, 0.2).tolist() == pytest.approx([1.2, 0.5, -1.5, -0.8, 2.2])


def test_log_probabilities_and_entropies_by_hand():
    actor = Actor(generator(), NetworkSpec(hidden=()), 2, 3, discrete=True, initial_std=1.0)
    with torch.no_grad():
        actor.body.head.weight.zero_()
        actor.body.head.bias.copy_(torch.log(torch.tensor([0.2, 0.3, 0.5])))
    log_prob, entropy = actor.evaluate(torch.zeros(3, 2), torch.tensor([0, 1, 2]))
    assert log_prob.tolist() == pytest.approx([math.log(0.2), math.log(0.3), math.log(0.5)], rel=1e-5)
    assert entropy.tolist() == pytest.approx([-sum(p * math.log(p) for p in (0.2, 0.3, 0.5))] * 3, rel=1e-5)
    gauss = Actor(generator(), NetworkSpec(hidden=()), 2, 2, discrete=False, initial_std=0.5)
    mean = gauss.body(torch.zeros(1, 2)).detach()
    log_prob, entropy = gauss.evaluate(torch.zeros(1, 2), mean + 0.5)
    density = math.exp(-0.5) / (0.5 * math.sqrt(2 * math.pi))
    assert log_prob.item() == pytest.approx(2 * math.log(density), rel=1e-5)
    assert entropy.item() == pytest.approx(2 * math.log(0.5 * math.sqrt(2 * math.pi * math.e)), rel=1e-5)


def test_samples_have_the_probabilities_they_say():
    actor = Actor(generator(), NetworkSpec(hidden=()), 1, 4, discrete=True, initial_std=1.0)
    with torch.no_grad():
        actor.body.head.bias.copy_(torch.tensor([0.0, 0.5, 1.0, 2.0]))
    count = 20_000
    action, log_prob = actor.sample(torch.zeros(count, 1), generator(1))
    expected = np.exp([0.0, 0.5, 1.0, 2.0]) / np.exp([0.0, 0.5, 1.0, 2.0]).sum() * count
    found = np.bincount(action.numpy(), minlength=4)
    assert ((found - expected) ** 2 / expected).sum() < 16.3  # 3 degrees of freedom, 0.1 %
    assert torch.exp(log_prob[action == 3][0]).item() == pytest.approx(expected[3] / count, rel=1e-4)


def test_running_statistics_are_those_of_all_that_was_seen():
    rng = np.random.default_rng(0)
    rows = rng.normal(3.0, [0.5, 2.0, 1.0], (1000, 3))
    found = RunningNormaliser(3, np.asarray([False, False, True]))
    for part in np.array_split(rows, 7):
        found.update(part)
    assert found.mean == pytest.approx([rows[:, 0].mean(), rows[:, 1].mean(), 0.0], rel=1e-6)
    assert found.deviation == pytest.approx([rows[:, 0].std(), rows[:, 1].std(), 1.0], rel=1e-6)


def unequal_team():
    """Two roles of one team with unequal observations and rates, against one scripted evader."""
    data = plane_file(rules={"time_limit": "1 s"})
    scout = plane_file()["roles"]["pursuer"]
    scout["sensors"] = {"tracker": {"kind": "relative", "rate": 10}}
    data["roles"]["scout"] = {**scout, "policy": {"use": "guidance/random", "rate": 20}, "count": 2}
    data["roles"]["pursuer"]["observe"] = {"actions": 2}
    return data


def test_the_critic_sees_the_team_without_actions_and_the_actor_only_itself(tmp_path):
    trainer = learn(unequal_team(), tmp_path, roles={"pursuer": {}, "scout": {"algorithm": "mappo"}})
    pursuer, scout = trainer.learners
    own = len(pursuer.sizes.names), len(scout.sizes.names)
    assert own[0] != own[1]
    assert pursuer.critic.inputs == scout.critic.inputs == own[0] - 2 * pursuer.action_size + 2 * own[1]
    assert not any("action[" in name for name in pursuer.sizes.team)
    assert pursuer.actor.body.layers[0].in_features == own[0]
    trainer.advance()
    rollout = trainer._collector.rollouts[0]
    names = trainer.env.layout("pursuer").names
    kept = [i for i, name in enumerate(names) if not name.startswith("action[")]
    closed = rollout.closed
    assert np.array_equal(rollout.seen[closed][:, : len(kept)], rollout.observation[closed][:, kept])
    assert rollout.observation[closed][:, -1].any()


def test_ippo_sees_only_its_own_observation(tmp_path):
    trainer = learn(unequal_team(), tmp_path, roles={"pursuer": {"algorithm": "ippo"}, "scout": {"algorithm": "ippo"}})
    assert [one.critic.inputs for one in trainer.learners] == [len(one.sizes.names) for one in trainer.learners]


def test_each_agent_decides_at_its_own_rate_and_none_is_mixed_up(tmp_path):
    trainer = learn(unequal_team(), tmp_path, roles={"pursuer": {}, "scout": {}}, decisions=20)
    trainer._collector.collect()
    pursuer, scout = trainer._collector.rollouts
    assert scout.count.mean() == pytest.approx(2 * pursuer.count.mean(), rel=0.1)
    names = trainer.env.layout("scout").names
    assert scout.observation.shape[-1] == len(names) != pursuer.observation.shape[-1]


@pytest.mark.parametrize(("sharing", "sets"), [("none", 3), ("role", 1)])
def test_parameters_are_shared_as_the_file_says(tmp_path, sharing, sets):
    data = plane_file(roles={"pursuer": {"count": 3}})
    trainer = learn(data, tmp_path, roles={"pursuer": {"sharing": sharing}})
    assert len(trainer.learners) == sets
    bundle = trainer.write_bundles()["pursuer"]
    assert bundle.description.members == sets


def test_independent_policies_do_not_share_gradients(tmp_path):
    trainer = learn(plane_file(roles={"pursuer": {"count": 2}}), tmp_path, roles={"pursuer": {"sharing": "none"}})
    first, second = trainer.learners
    trainer._collector.collect()
    before = [p.clone() for p in (*second.actor.parameters(), *second.critic.parameters())]
    moved = [p.clone() for p in first.actor.parameters()]
    first.update(trainer._collector.rollouts[0], 0.0)
    after = (*second.actor.parameters(), *second.critic.parameters())
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(moved, first.actor.parameters(), strict=True))


def test_roles_that_are_alike_may_share_everything_and_others_are_refused(tmp_path):
    data = plane_file()
    data["roles"]["helper"] = plane_file()["roles"]["pursuer"]
    both = {"pursuer": {"sharing": "all"}, "helper": {"sharing": "all"}}
    assert len(learn(data, tmp_path, roles=both).learners) == 1
    with pytest.raises(EngagementError, match="what it sees"):
        learn(unequal_team(), tmp_path, roles={"pursuer": {"sharing": "all"}, "scout": {"sharing": "all"}})


def test_each_team_may_learn_by_its_own_algorithm(tmp_path):
    roles = {"pursuer": {"algorithm": "mappo"}, "evader": {"algorithm": "ippo", "network": {"hidden": [8]}}}
    trainer = learn(grid_file(), tmp_path, roles=roles)
    assert [type(one) for one in trainer.learners] == [Mappo, Ippo]
    figures = trainer.advance()
    assert {"pursuer/entropy", "evader/entropy"} <= set(figures)


def test_a_loss_that_is_not_finite_is_told(tmp_path):
    trainer = learn(plane_file(), tmp_path, roles={"pursuer": {}})
    trainer._collector.collect()
    trainer._collector.rollouts[0].reward[:] = np.nan
    with pytest.raises(PeError, match="not finite"):
        trainer.learners[0].update(trainer._collector.rollouts[0], 0.0)


def rollout_of(learner: Ippo, steps: int, rng: np.random.Generator, pay) -> Sequences:
    """One decision an episode: observe a number, act, be paid."""
    rows = 64
    rollout = Sequences((1, rows), steps + 1, 1, 1, learner.action_size)
    rollout.begin()
    agents, everywhere = np.zeros(rows, np.int64), np.arange(rows)
    for _ in range(steps):
        seen = rng.choice([-1.0, 1.0], (rows, 1)).astype(np.float32)
        choice = learner.act(seen, seen, agents)
        rollout.decide(agents, everywhere, seen, seen, choice)
        rollout.receive(pay(seen[:, 0], choice[0][:, 0])[None])
        rollout.end(np.ones((1, rows), bool), np.zeros((1, rows)))
    return rollout


@pytest.mark.parametrize("kind", ["discrete", "continuous"])
@pytest.mark.parametrize("algorithm", [Ippo, Mappo])
def test_it_learns_what_pays(kind, algorithm):
    spec = SMALL.model_copy(update={"learning_rate": 0.01, "anneal": False, "epochs": 4})
    action = discrete("grid_move3", 3) if kind == "discrete" else continuous("x", {"x": ("m", -1.0, 1.0)})
    learner = algorithm(spec, [("r", 0)], Sizes(("x",), ("x",), action), generator(2))
    rng = np.random.default_rng(0)

    def pay(seen, chosen):
        return (chosen == seen + 1) * 1.0 if kind == "discrete" else -np.abs(chosen - 0.5 * seen)

    first = rollout_of(learner, 8, rng, pay).reward[:8].mean()
    for _ in range(25):
        learner.update(rollout_of(learner, 8, rng, pay), 0.0)
    last = rollout_of(learner, 8, rng, pay).reward[:8].mean()
    # Paid at best 1 for the right one of three choices, or 0 for no distance from the right value.
    best = 1.0 if kind == "discrete" else 0.0
    assert best - last < 0.35 * (best - first)
