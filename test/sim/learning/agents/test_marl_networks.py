"""Recurrent networks over steps, masked and scaled distributions, and who shares parameters with whom."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")

import torch
from hypothesis import given
from hypothesis import strategies as st

from pe_sim.errors import ContractError
from pe_sim.learning.agents.marl_distributions import Bounds, MaskedChoices, ScaledNormal
from pe_sim.learning.agents.marl_grouping import Group, groups, require_alike, role
from pe_sim.learning.agents.marl_networks import SequenceNet, item, kept, reset_item, revived
from pe_sim.policies.networks import Network, NetworkSpec

KINDS = (None, "GRU", "LSTM")


def net(recurrent, inputs=3, outputs=2, layers=1, hidden=(8,)) -> SequenceNet:
    generator = torch.Generator().manual_seed(3)
    return SequenceNet(generator, inputs, hidden, outputs, gain=1.0, recurrent=recurrent, memory=5, layers=layers)


@pytest.mark.parametrize("recurrent", KINDS)
def test_the_same_generator_draws_the_same_weights(recurrent):
    torch.manual_seed(0)
    a = net(recurrent)
    torch.manual_seed(1)  # what other code draws does not matter
    b = net(recurrent)
    assert all(torch.equal(x, y) for x, y in zip(a.parameters(), b.parameters(), strict=True))


@pytest.mark.parametrize("recurrent", ["GRU", "LSTM"])
def test_where_an_episode_begins_nothing_is_remembered_and_only_there(recurrent):
    one, x = net(recurrent), torch.randn(6, 4, 3)
    starts = torch.zeros(6, 4, dtype=torch.bool)
    starts[3, 1] = True
    out, _ = one(x, None, starts)
    plain, _ = one(x)
    alone, _ = one(x[3:, 1:2])
    assert torch.equal(out[:3], plain[:3])
    assert torch.allclose(out[3:, 1], alone[:, 0], atol=1e-6)
    assert torch.equal(out[:, [0, 2, 3]], plain[:, [0, 2, 3]])
    assert not torch.allclose(out[3:, 1], plain[3:, 1])


@pytest.mark.parametrize("recurrent", ["GRU", "LSTM"])
def test_who_does_not_decide_keeps_its_state(recurrent):
    one, x = net(recurrent), torch.randn(5, 2, 3)
    active = torch.ones(5, 2, dtype=torch.bool)
    active[1:4, 0] = False
    out, _ = one(x, None, None, active)
    skipped, _ = one(x[[0, 4], 0:1])
    assert torch.allclose(out[[0, 4], 0], skipped[:, 0], atol=1e-6)


@pytest.mark.parametrize("recurrent", KINDS)
def test_what_follows_each_step_is_seen_from_the_state_after_it(recurrent):
    one, x, after = net(recurrent, layers=2 if recurrent else 1), torch.randn(4, 3, 3), torch.randn(4, 3, 3)
    _, hiddens = one.unroll(x)
    found = one.following(after, hiddens)
    for t in range(4):
        expected, _ = one(torch.cat([x[: t + 1], after[t : t + 1]]))
        assert torch.allclose(found[t], expected[-1], atol=1e-6)


@pytest.mark.parametrize("recurrent", ["GRU", "LSTM"])
def test_one_environment_is_reset_stored_and_taken_out_alone(recurrent):
    one = net(recurrent, layers=2)
    _, hidden = one(torch.randn(2, 6, 3))  # 3 environments of 2 agents
    after = reset_item({"k": hidden}, 1, 3)["k"]
    mine = item({"k": hidden}, 1, 3)["k"]
    back = revived(kept(hidden, 3))
    for before, reset, own, same in zip(hidden, after, mine, back, strict=True):
        if before is None:
            assert recurrent == "GRU"
            continue
        assert not reset[:, 2:4].any()
        assert torch.equal(reset[:, [0, 1, 4, 5]], before[:, [0, 1, 4, 5]])
        assert torch.equal(own, before[:, 2:4])
        assert torch.equal(same, before)
    assert kept(hidden, 3)["h"].shape == (3, 2, 2, 5)


@pytest.mark.parametrize("recurrent", [None, "GRU"])
@pytest.mark.parametrize("of", [1, 3])
def test_what_is_exported_computes_the_same_without_torch(recurrent, of):
    one, own = net(recurrent, inputs=4 + (of if of > 1 else 0), hidden=(8, 6)), torch.randn(5, 7, 4)
    spec = NetworkSpec(hidden=(8, 6), recurrent="gru" if recurrent else "none", memory=5)
    for who in range(of):
        x = own if of == 1 else torch.cat([own, torch.eye(of)[who].expand(5, 7, -1)], dim=-1)
        weights = one.weights(who, of)
        assert {name: values.shape for name, values in weights.items()} == spec.shapes(4, 2)
        flying, memory = Network(spec, weights, np), np.zeros((7, 5), np.float32)
        expected = one(x)[0].detach().numpy()
        for t in range(5):
            found, memory = flying.forward(own[t].numpy(), memory)
            assert found == pytest.approx(expected[t], abs=1e-5)


def test_what_no_bundle_can_hold_is_refused():
    with pytest.raises(ValueError, match="bundle holds"):
        net("GRU", layers=2).weights()
    with pytest.raises(ValueError, match="LSTM"):
        net("RNN")


def test_a_forbidden_choice_is_never_made_and_its_probability_is_nothing():
    mask = torch.tensor([[True, False, True], [False, False, True], [False, False, False]])
    choices = MaskedChoices(torch.tensor([[0.0, 50.0, 1.0]] * 3), mask)
    assert choices.probabilities[:2][~mask[:2]].max() < 1e-7
    assert choices.probabilities.sum(-1) == pytest.approx([1.0] * 3)
    assert choices.mode()[:2].tolist() == [2, 2]
    drawn = torch.stack([choices.sample(torch.Generator().manual_seed(i)) for i in range(200)])
    assert set(drawn[:, 0].tolist()) == {0, 2}
    assert set(drawn[:, 1].tolist()) == {2}
    assert torch.isfinite(choices.entropy()).all()
    assert choices.entropy()[1] == pytest.approx(0.0, abs=1e-6)


def test_draws_have_the_probabilities_they_say():
    mask = torch.tensor([True, True, False, True])
    choices = MaskedChoices(torch.tensor([0.0, 1.0, 3.0, -1.0]).expand(20_000, 4), mask.expand(20_000, 4))
    found = np.bincount(choices.sample(torch.Generator().manual_seed(0)).numpy(), minlength=4)
    weights = np.exp([0.0, 1.0, -1.0])
    expected = weights / weights.sum() * 20_000
    assert found[2] == 0
    assert ((found[[0, 1, 3]] - expected) ** 2 / expected).sum() < 13.8  # 2 degrees of freedom, 0.1 %
    logs = choices.log_prob(torch.full((20_000,), 1))[0]
    assert logs.exp().item() == pytest.approx(expected[1] / 20_000, rel=1e-5)


def test_continuous_actions_are_in_their_own_units():
    bounds = Bounds(gym.spaces.Box(np.asarray([-1.0, 0.0], np.float32), np.asarray([3.0, 1.0], np.float32)))
    normal = ScaledNormal(torch.tensor([[0.5, -1.0]]), torch.log(torch.tensor([0.5, 2.0])), bounds)
    reference = torch.distributions.Normal(torch.tensor([2.0, 0.0]), torch.tensor([1.0, 1.0]))
    action = torch.tensor([[1.0, 0.7]])
    assert normal.mode().tolist() == [[2.0, 0.0]]
    assert normal.log_prob(action).item() == pytest.approx(reference.log_prob(action).sum().item(), rel=1e-5)
    assert normal.entropy().item() == pytest.approx(reference.entropy().sum().item(), rel=1e-5)
    assert bounds.clip(np.asarray([9.0, -9.0])).tolist() == [3.0, 0.0]
    free = Bounds(gym.spaces.Box(-np.inf, np.inf, (1,), np.float32))
    assert ScaledNormal(torch.tensor([[0.3]]), torch.zeros(1), free).mode().tolist() == [[pytest.approx(0.3)]]


AGENTS = ["red_0", "red_1", "blue_0", "solo"]


def test_parameters_are_shared_by_nobody_by_role_by_all_or_as_named():
    assert [group.agents for group in groups("none", AGENTS)] == [(a,) for a in AGENTS]
    assert [group.agents for group in groups("all", AGENTS)] == [tuple(AGENTS)]
    assert [group.agents for group in groups("role", AGENTS)] == [("red_0", "red_1"), ("blue_0",), ("solo",)]
    named = groups({"one": ["red_0", "solo"], "two": ["blue_0", "red_1"]}, AGENTS)
    assert [group.agents for group in named] == [("red_0", "solo"), ("blue_0", "red_1")]
    assert [group.key for group in named] == ["red_0", "blue_0"]
    assert role("solo") == "solo"
    assert role("a_b_12") == "a_b"
    for wrong in ("team", {"one": ["red_0"]}, {"one": AGENTS, "two": ["solo"]}):
        with pytest.raises(ValueError, match="parameter_sharing"):
            groups(wrong, AGENTS)


def test_agents_that_are_not_alike_cannot_share():
    two, three = gym.spaces.Box(0, 1, (2,)), gym.spaces.Box(0, 1, (3,))
    act, more = gym.spaces.Discrete(4), gym.spaces.Discrete(8)
    group = Group("a", ("a", "b"))
    require_alike(group, {"a": two, "b": two}, {"a": act, "b": act})
    with pytest.raises(ContractError, match="observations are unlike"):
        require_alike(group, {"a": two, "b": three}, {"a": act, "b": act})
    with pytest.raises(ContractError, match="actions are unlike"):
        require_alike(group, {"a": two, "b": two}, {"a": act, "b": more})


@given(st.integers(1, 4), st.integers(1, 3), st.integers(1, 5), st.integers(1, 3))
def test_rows_of_a_group_are_split_as_they_were_put_together(agents, steps, envs, size):
    names = tuple("abcd"[:agents])
    values = {a: torch.randn(steps, envs, size) for a in names}
    group = Group("a", names)
    rows = group.rows(values)
    assert rows.shape == (steps, envs * agents, size)
    assert torch.equal(rows[:, agents * (envs - 1)], values["a"][:, -1])  # environment by environment
    assert all(torch.equal(group.split(rows)[a], values[a]) for a in names)
    who = group.identified(rows)
    if agents > 1:
        assert all(torch.equal(group.split(who)[a][..., size:].argmax(-1), torch.full((steps, envs), i))
                   for i, a in enumerate(names))
