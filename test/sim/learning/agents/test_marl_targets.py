"""Targets and losses of each multi-agent algorithm, by hand."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")

import torch

from pe_sim.learning.agents.marl_ippo import IPPOAgents
from pe_sim.learning.agents.marl_iql import IQLAgents
from pe_sim.learning.agents.marl_maddpg import MADDPGAgents
from pe_sim.learning.agents.marl_mappo import MAPPOAgents
from pe_sim.learning.agents.marl_qmix import Mixer, QMIXAgents
from pe_sim.learning.agents.marl_vdn import VDNAgents

from .marl_games import Easy, Meet, TwoStep
from .marl_samples import certain, hand_sample, off, on, past


@pytest.mark.parametrize(("kind", "double", "loss"), [
    # Q = (1, 3), target's (10, 2): double Q takes choice 1, worth 2; else choice 0, worth 10.
    (IQLAgents, True, [((1 - 5) ** 2 + (1 - (5 + 0.5 * 2)) ** 2) / 2, ((1 - 6) ** 2 + (1 - (6 + 0.5 * 2)) ** 2) / 2]),
    (IQLAgents, False, [((1 - 5) ** 2 + (1 - (5 + 0.5 * 10)) ** 2) / 2, ((1 - 6) ** 2 + (1 - (6 + 5)) ** 2) / 2]),
    (VDNAgents, True, [((2 - 5.5) ** 2 + (2 - (5.5 + 0.5 * 4)) ** 2) / 2]),
    (VDNAgents, False, [((2 - 5.5) ** 2 + (2 - (5.5 + 0.5 * 20)) ** 2) / 2]),
])
def test_targets_by_hand_an_end_is_worth_nothing_a_timeout_what_would_have_followed(kind, double, loss):
    agents = off(kind, Easy, gamma=0.5, double_q=double)
    certain(agents, {"q": [1.0, 3.0], "target_q": [10.0, 2.0]})
    info = agents.update(hand_sample(agents, [0, 5], [5.0, 5.0], [True, False]))
    found = [info["loss_Q"]] if kind is VDNAgents else [info["loss_Q/a_0"], info["loss_Q/a_1"]]
    assert found == pytest.approx(loss, rel=1e-5)


@pytest.mark.parametrize("kind", [IPPOAgents, MAPPOAgents])
def test_losses_of_the_clipped_objective_by_hand(kind):
    agents = on(kind, Easy, clip_range=0.2, ent_coef=0.0)
    certain(agents, {"actor": [0.0, 0.0], "critic": [3.0]})
    sample = hand_sample(agents, [0, 5, 6], [0.0] * 3, [False] * 3, 1)
    ratios, advantages, returns = [1.5, 1.5, 0.5], [1.0, -1.0, 2.0], [3.0, 4.0, 1.0]
    each = {
        "log_pi_old": np.log(0.5) - np.log(ratios), "advantages": advantages, "returns": returns,
    }
    sample |= {name: {a: np.asarray([v], np.float32) for a in agents.agent_keys} for name, v in each.items()}
    info = agents.update(sample)
    assert info["actor_loss"] == pytest.approx(-(1.2 * 1.0 - 1.5 * 1.0 + 0.5 * 2.0) / 3, rel=1e-5)
    assert info["critic_loss"] == pytest.approx((0.0 + 1.0 + 4.0) / 3, rel=1e-5)
    assert info["ratio"] == pytest.approx(np.mean(ratios), rel=1e-5)
    assert info["entropy"] == pytest.approx(np.log(2.0), rel=1e-5)


def test_targets_take_only_choices_there_will_be():
    agents = off(IQLAgents, Easy, gamma=0.5, double_q=False)
    certain(agents, {"q": [1.0, 3.0], "target_q": [10.0, 2.0]})
    sample = hand_sample(agents, [0], [5.0], [False])
    sample["avail_actions_next"] = {a: np.asarray([[[False, True]]]) for a in agents.agent_keys}
    assert agents.update(sample)["loss_Q/a_0"] == pytest.approx((1 - (5 + 0.5 * 2)) ** 2)


def test_targets_follow_at_the_frequency_configured():
    agents = off(QMIXAgents, TwoStep, sync_frequency=3, start_training=1, training_frequency=4, batch_size=4)
    same_since = []
    for _ in range(9):
        agents.train(1)
        pairs = zip(agents.policy["q"].parameters(), agents.policy["target_q"].parameters(), strict=True)
        mixers = zip(agents.policy["mixer"].parameters(), agents.policy["target_mixer"].parameters(), strict=True)
        if agents.iterations:
            same_since.append(all(torch.equal(a, b) for a, b in [*pairs, *mixers]))
    assert agents.iterations == 8
    assert same_since[-8:] == [False, False, True, False, False, True, False, False]


def test_the_teams_value_rises_with_every_agents_in_any_state():
    mixer = Mixer(torch.Generator().manual_seed(0), 3, 4, 8, 8)
    for seed in range(20):
        torch.manual_seed(seed)
        values, state = torch.randn(2, 5, 3, requires_grad=True), 3.0 * torch.randn(2, 5, 4)
        (slope,) = torch.autograd.grad(mixer(values, state).sum(), values)
        assert (slope >= 0.0).all()
        assert slope.any()
    values = values.detach()
    assert not torch.allclose(mixer(values, state), mixer(values, state + 1.0))


@pytest.mark.parametrize("ended", [True, False])
def test_qmix_targets_an_end_is_worth_nothing_whatever_the_mixer_says(ended):
    agents = off(QMIXAgents, Easy, gamma=0.5)
    certain(agents, {"q": [1.0, 3.0], "target_q": [10.0, 2.0]})
    with torch.no_grad():
        for values in agents.policy["target_mixer"].parameters():
            values.add_(0.3)
    state = np.random.default_rng(0).normal(size=(1, 1, 2)).astype(np.float32)
    sample = {**hand_sample(agents, [0], [5.0], [ended]), "state": state, "state_next": state + 1.0}
    with torch.no_grad():
        total = float(agents.policy["mixer"](torch.ones(1, 1, 2), torch.tensor(state)))
        after = float(agents.policy["target_mixer"](torch.full((1, 1, 2), 2.0), torch.tensor(state + 1.0)))
    assert abs(after) > 0.1
    target = 5.5 + (0.0 if ended else 0.5 * after)
    assert agents.update(sample)["loss_Q"] == pytest.approx((total - target) ** 2, rel=1e-4)


@pytest.mark.parametrize("ended", [True, False])
def test_maddpg_targets_by_hand_and_its_actors_climb_what_the_critics_say(ended):
    agents = off(MADDPGAgents, Meet, gamma=0.5, use_parameter_sharing=False)
    sample = past(agents)
    for name in ("critic", "target_critic"):
        for net in agents.policy[name].values():
            with torch.no_grad():
                net.trunk.head.bias.fill_(5.0)  # every unit is on: the critic is linear
    certain(agents, {"target_critic": [4.0]})
    for part, value in (("rewards", 2.0), ("terminals", ended)):
        sample[part] = {a: np.full_like(v, value) for a, v in sample[part].items()}
    seen, mask = agents.seen(sample["obs"]), {a: torch.ones(1, 16) for a in agents.agent_keys}
    used, act = [], agents.act
    agents.act = lambda group, obs, name="actor": (used.append(name), act(group, obs, name))[1]

    def worth() -> dict:
        out = {}
        for group in agents.groups:  # the others do what they did
            own = {**done, **act(group, seen)}
            out[group.key] = float(agents.judged(group, seen, own, mask, "critic")[group.key].mean().detach())
        return out

    done = {a: (torch.tensor(sample["actions"][a]) - b.middle) / b.half for a, b in agents.bounds.items()}
    first = agents.groups[0]
    values = agents.judged(first, seen, done, mask, "critic")[first.key].detach()
    expected = float(((values - (2.0 + (0.0 if ended else 0.5 * 4.0))) ** 2).mean())
    agents.optimisers = {name: torch.optim.SGD(one.param_groups[0]["params"], lr=0.01 if "actor" in name else 0.0)
                         for name, one in agents.optimisers.items()}
    before = worth()
    assert agents.update(sample)["critic_loss/a_0"] == pytest.approx(expected, rel=1e-4)
    assert used == ["target_actor"] * 2 + ["actor"] * 2
    assert all(worth()[key] > before[key] for key in before)
