"""What learning promises, beyond the parts: aligned advantages, blind actors, critics without actions, flat memory."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")

import torch

from pe_sim.actions import discrete
from pe_sim.errors import PeError
from pe_sim.learning.advantage import gae
from pe_sim.learning.ippo import Ippo, Sizes
from pe_sim.learning.sequences import Sequences
from pe_sim.learning.spec import LearnerSpec

from ..files import plane_file  # noqa: TID252 - shared by one room
from .test_advantage import reference
from .test_algorithms import unequal_team
from .test_trainer import TEAM, trainer_of


def roles(**more):
    return {"pursuer": {"network": {"hidden": [8]}, "critic": {"hidden": [8]}, "epochs": 1, "minibatches": 1, **more}}


def test_advantages_of_a_rollout_are_each_agents_own(tmp_path):
    """Number by number, for every agent in every engagement, over its own decisions alone."""
    data = plane_file(rules={"time_limit": "700 ms"}, roles={"pursuer": {"count": 2}})
    trainer = trainer_of(tmp_path, data, roles=roles(), batch=5, decisions=24)
    ended = 0
    for _ in range(2):
        trainer._collector.collect()
        one = trainer._collector.rollouts[0]
        values = np.concatenate([one.value, one.value[-1:]])
        found = gae(
            one.reward, values, one.ended, one.bootstrap, gamma=0.97, gae_lambda=0.9, counted=one.closed
        )
        for agent in range(2):
            for row in range(5):
                count = int(one.closed[:, agent, row].sum())
                own = (slice(count), agent, row)
                following = np.append(one.value[own], one.value[count, agent, row])
                wanted = reference(one.reward[own], following, one.ended[own], one.bootstrap[own], 0.97, 0.9)
                assert found[own] == pytest.approx(wanted, abs=1e-6)
                assert not found[count:, agent, row].any()
                ended += int(one.ended[own].sum())
        assert (one.bootstrap[one.ended & one.closed] != 0.0).any()  # time limits
    assert ended > 10


def test_a_value_does_not_change_with_actions_and_sees_all_of_the_team(tmp_path):
    trainer = trainer_of(tmp_path, unequal_team(), roles={"pursuer": roles()["pursuer"], "scout": roles()["pursuer"]})
    trainer.advance()
    collector, pursuer = trainer._collector, trainer.learners[0]
    observations = {role: np.array(values) for role, values in collector._step.observations.items()}
    rows = np.arange(trainer.env.batch)

    def value():
        return pursuer.judge(collector.joint(observations, pursuer, rows), np.zeros(len(rows), np.int64))

    before = value()
    names = trainer.env.layout("pursuer").names
    actions = [place for place, name in enumerate(names) if name.startswith("action[")]
    observations["pursuer"][..., actions] += 1.0
    assert actions
    assert np.array_equal(value(), before)
    observations["scout"][..., 0] += 1.0
    assert not np.array_equal(value(), before)
    sizes = {role: sum(not n.startswith("action[") for n in trainer.env.layout(role).names) for role in observations}
    assert pursuer.critic.inputs == sizes["pursuer"] + 2 * sizes["scout"]


def test_the_actor_runs_without_critic_and_team(tmp_path):
    trainer = trainer_of(tmp_path, TEAM, roles=roles())
    learner = trainer.learners[0]
    assert not any("critic" in name for name in learner.weights())
    del learner.critic
    own = torch.zeros(3, len(learner.sizes.names))
    action, log_prob = learner.actor.sample(own, torch.Generator().manual_seed(0))
    assert action.shape[0] == log_prob.shape[0] == 3


def test_all_data_are_float32(tmp_path):
    trainer = trainer_of(tmp_path, TEAM, roles=roles())
    trainer.advance()
    one, learner = trainer._collector.rollouts[0], trainer.learners[0]
    assert {one.observation.dtype, one.seen.dtype, one.action.dtype, one.log_prob.dtype} == {np.dtype("f4")}
    assert {p.dtype for p in (*learner.actor.parameters(), *learner.critic.parameters())} == {torch.float32}
    assert {values.dtype for values in learner.weights().values()} == {np.dtype("f4")}


def bandit(entropy: float, pay: float = 0.0, kind: str = "none") -> tuple[Ippo, Sequences]:
    """One decision an episode, always paid the same."""
    spec = LearnerSpec.model_validate({
        "network": {"hidden": [8], "recurrent": kind, "memory": 4}, "critic": {"hidden": [8]}, "entropy": entropy,
        "learning_rate": 0.01, "anneal": False, "epochs": 2, "minibatches": 2,
    })
    learner = Ippo(spec, [("r", 0)], Sizes(("x",), ("x",), discrete("m4", 4)), torch.Generator().manual_seed(1))
    with torch.no_grad():
        learner.actor.body.head.bias.copy_(torch.tensor([2.0, 0.0, 0.0, 0.0]))
    rollout = Sequences((1, 64), 3, 1, 1, 1, learner.actor.state_size)
    rollout.begin()
    rows, agents = np.arange(64), np.zeros(64, np.int64)
    for _ in range(2):
        seen, memory = np.ones((64, 1), np.float32), None
        if kind == "none":
            choice = learner.act(seen, seen, agents)
        else:
            choice, memory = learner.act_on(seen, seen, agents, rollout.memory[agents, rows])
        rollout.decide(agents, rows, seen, seen, choice, memory)
        rollout.receive(np.full((1, 64), pay))
        rollout.end(np.ones((1, 64), bool), np.zeros((1, 64)))
    return learner, rollout


def test_the_entropy_bonus_by_hand():
    learner, rollout = bandit(entropy=0.0)
    p = np.exp([2.0, 0.0, 0.0, 0.0]) / np.exp([2.0, 0.0, 0.0, 0.0]).sum()
    wanted = -(p * np.log(p)).sum()
    with torch.no_grad():
        learner.actor.body.head.weight.zero_()
        out = learner.actor.body(torch.ones(1, 1))
        _, entropy = learner.actor.judge(out, torch.tensor([0]))
    assert entropy.item() == pytest.approx(wanted, rel=1e-6)
    # The bonus alone moves the policy towards the uniform one: the entropy rises, and does not without it.
    plain, plain_rollout = bandit(entropy=0.0)
    plain_rollout.value[:] = 0.0
    urged, rollout = bandit(entropy=1.0)
    rollout.value[:] = 0.0
    first, last = plain.update(plain_rollout, 0.0)["entropy"], 0.0
    for _ in range(30):
        last = urged.update(rollout, 0.0)["entropy"]
    assert last > first + 0.1


@pytest.mark.parametrize("kind", ["none", "gru"])
@pytest.mark.parametrize("what", ["reward", "log_prob", "observation"])
def test_what_is_no_number_ends_the_training_and_touches_no_weight(kind, what):
    learner, rollout = bandit(entropy=0.0, kind=kind)
    before = [p.detach().clone() for p in (*learner.actor.parameters(), *learner.critic.parameters())]
    getattr(rollout, what)[0] = np.nan
    with pytest.raises(PeError, match="not finite"):
        learner.update(rollout, 0.0)
    after = (*learner.actor.parameters(), *learner.critic.parameters())
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize("count", [1, 3])
def test_all_agents_of_all_engagements_go_to_the_networks_in_one_transfer(tmp_path, monkeypatch, count):
    data = plane_file(roles={"pursuer": {"count": count}})
    trainer = trainer_of(tmp_path, data, roles=roles(), batch=7)
    learner, sizes = trainer.learners[0], []
    body, critic = learner.actor.body.forward, learner.critic.forward
    monkeypatch.setattr(learner.actor.body, "forward", lambda x: (sizes.append(("actor", len(x))), body(x))[1])
    monkeypatch.setattr(learner.critic, "forward", lambda x: (sizes.append(("critic", len(x))), critic(x))[1])
    trainer._collector._decide(learner, trainer._collector.rollouts[0])
    assert sizes == [("actor", 7 * count), ("critic", 7 * count)]
    devices = {p.device for p in (*learner.actor.parameters(), *learner.critic.parameters())}
    assert len(devices) == 1


def resident() -> int:
    """Memory of this process in bytes."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["none", "gru"])
def test_memory_is_flat_over_a_thousand_updates(tmp_path, kind):
    data = plane_file(rules={"time_limit": "500 ms"})
    network = {"hidden": [8], "recurrent": kind, "memory": 4}
    trainer = trainer_of(tmp_path, data, roles=roles(network=network), batch=4, decisions=4, steps=10**9)
    for _ in range(200):
        trainer.advance()
    before, objects = resident(), len(gc.get_objects())
    for _ in range(1000):
        trainer.advance()
    assert len(gc.get_objects()) < objects + 200
    # A rollout that stayed alive would be 20 kB an update.
    assert resident() < before + 8 * 2**20
