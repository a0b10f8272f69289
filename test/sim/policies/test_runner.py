"""The policy of a bundle: the same observation gives the same action, alone, in a team and in a batch."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("safetensors", reason="needs safetensors: install pe_ros[train]")

from pe_sim.arrays import namespace
from pe_sim.engagement import Engagement
from pe_sim.evaluation.rollout import Rollout, rollout
from pe_sim.policies.base import context_of
from pe_sim.policies.bundle import write
from pe_sim.policies.describe import context_for, describe, random_weights
from pe_sim.policies.networks import EXACT_ROWS, Network, NetworkSpec, sum_in_order
from pe_sim.policies.runner import BundleParameters, BundlePolicy
from pe_sim.sensors.inbox import SensorView

from ..files import shipped  # noqa: TID252 - shared by one room

GRU = NetworkSpec(hidden=(32,), recurrent="gru", memory=7)
LSTM = NetworkSpec(hidden=(32,), recurrent="lstm", memory=5)
MLP = NetworkSpec(hidden=(16, 8))
SHORT = {"rules__time_limit": "2 s", "roles__pursuer__observe": {"actions": 2}}


def bundle_for(path, engagement: Engagement, role: str, network: NetworkSpec, **options):
    description = describe(engagement, role, network, **options)
    return write(path, description, random_weights(description, 5))


def policy_for(bundle, engagement: Engagement, role: str, batch: int, numbers=None, **parameters) -> BundlePolicy:
    action = context_for(engagement, role).action
    context = context_of(engagement, role, action, batch, namespace(), numbers)
    return BundlePolicy(bundle, context, BundleParameters(**parameters))


def views_of(policy: BundlePolicy, seed: int) -> dict[str, SensorView]:
    """Random readings (D, n, B) for every sensor."""
    rng = np.random.default_rng(seed)
    shape, views = (len(policy.context.agents), policy.context.batch), {}
    for layout in policy.context.layouts[0]:
        values = rng.standard_normal((len(layout.fields), *shape)).astype(np.float32)
        age = rng.integers(0, 10**8, shape)
        views[layout.sensor] = SensorView(values, values < 1, age, age, age)
    return views


def part(views: dict[str, SensorView], agent: int, row: int) -> dict[str, SensorView]:
    a, b = slice(agent, agent + 1), slice(row, row + 1)
    return {
        name: SensorView(v.values[:, a, b], v.valid[:, a, b], v.stamp[a, b], v.sequence[a, b], v.age[a, b])
        for name, v in views.items()
    }


@pytest.mark.parametrize("network", [MLP, GRU, LSTM], ids=["mlp", "gru", "lstm"])
@pytest.mark.parametrize("deterministic", [True, False])
@pytest.mark.parametrize("members", [1, 3])
@pytest.mark.parametrize("compute", ["arrays", "torch"])
def test_an_agent_decides_the_same_to_the_bit_alone_and_in_a_batch(tmp_path, network, deterministic, members, compute):
    if compute == "torch":
        pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")
    engagement, batch = shipped("kinematic_3v1", **SHORT), 21
    bundle = bundle_for(tmp_path, engagement, "pursuer", network, members=members)
    assert 3 * batch // members <= EXACT_ROWS
    team = policy_for(bundle, engagement, "pursuer", batch, deterministic=deterministic, compute=compute)
    roots = np.arange(batch, dtype=np.int64) * 77 + 5
    team.reset(roots, None)
    singles = {}
    for agent, row in [(0, 0), (1, 20), (2, 13)]:
        how = {"deterministic": deterministic, "compute": compute}
        singles[agent, row] = policy_for(bundle, engagement, "pursuer", 1, [agent], **how)
        singles[agent, row].reset(roots[row : row + 1], None)
    everyone, one = np.ones((3, batch), bool), np.ones((1, 1), bool)
    for step in range(4):
        views = views_of(team, step)
        together = team.decide(views, np.zeros(batch, np.int64), everyone)
        for (agent, row), single in singles.items():
            alone = single.decide(part(views, agent, row), np.zeros(1, np.int64), one)
            assert np.array_equal(alone[:, 0, 0], together[:, agent, row])


@pytest.mark.parametrize("network", [MLP, GRU, LSTM], ids=["mlp", "gru", "lstm"])
@pytest.mark.parametrize("batch", [1, 40])
@pytest.mark.parametrize("compute", ["torch", "matrices"])
def test_whatever_computes_decides_the_same_to_rounding(tmp_path, network, batch, compute):
    if compute == "torch":
        pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")
    engagement = shipped("kinematic_3v1", **SHORT)
    bundle = bundle_for(tmp_path, engagement, "pursuer", network)
    one, other = (policy_for(bundle, engagement, "pursuer", batch, compute=c) for c in ("arrays", compute))
    assert one.sha256 == bundle.description.sha256 != other.sha256
    everyone, now = np.ones((3, batch), bool), np.zeros(batch, np.int64)
    for policy in (one, other):
        policy.reset(np.arange(batch), None)
    for step in range(5):
        views = views_of(one, step)
        expected = one.decide(views, now, everyone)
        assert other.decide(views, now, everyone) == pytest.approx(expected, abs=2e-4)
        assert np.ptp(expected) > 1


def test_large_batches_agree_to_rounding(tmp_path):
    engagement, batch = shipped("kinematic_3v1"), 100
    bundle = bundle_for(tmp_path, engagement, "pursuer", MLP)
    team = policy_for(bundle, engagement, "pursuer", batch)
    views = views_of(team, 1)
    together = team.decide(views, np.zeros(batch, np.int64), np.ones((3, batch), bool))
    single = policy_for(bundle, engagement, "pursuer", 1, [1])
    alone = single.decide(part(views, 1, 57), np.zeros(1, np.int64), np.ones((1, 1), bool))
    assert alone[:, 0, 0] == pytest.approx(together[:, 1, 57], rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("network", [GRU, LSTM], ids=["gru", "lstm"])
def test_memory_changes_only_where_an_agent_decides_and_is_cleared_row_by_row(tmp_path, network):
    engagement = shipped("kinematic_3v1", **SHORT)
    policy = policy_for(bundle_for(tmp_path, engagement, "pursuer", network), engagement, "pursuer", 4)
    policy.reset(np.arange(4), None)
    everyone, now = np.ones((3, 4), bool), np.zeros(4, np.int64)
    due = np.zeros((3, 4), bool)
    due[1, 2] = True
    policy.decide(views_of(policy, 0), now, due)
    changed = np.any(policy._memory != 0, axis=-1)
    assert np.array_equal(changed, due)
    assert np.array_equal(np.any(policy._past[0] != 0, axis=0), due)
    policy.decide(views_of(policy, 1), now, everyone)
    policy.reset(np.asarray([9]), np.asarray([3]))
    assert not policy._memory[:, 3].any()
    assert not policy._past[0][:, :, 3].any()
    assert policy._memory[:, :3].any()


def test_warming_up_changes_nothing(tmp_path):
    engagement = shipped("kinematic_3v1", **SHORT)
    bundle = bundle_for(tmp_path, engagement, "pursuer", GRU)
    cold, warm = (policy_for(bundle, engagement, "pursuer", 1, deterministic=False) for _ in range(2))
    warm.warm_up()
    for policy in (cold, warm):
        policy.reset(np.asarray([3]), None)
    now, everyone = np.zeros(1, np.int64), np.ones((3, 1), bool)
    views = views_of(cold, 0)
    assert np.array_equal(cold.decide(views, now, everyone), warm.decide(views, now, everyone))


def test_choices_are_drawn_with_their_probabilities(tmp_path):
    engagement, batch = shipped("grid_1v1"), 20_000
    description = describe(engagement, "pursuer", NetworkSpec(hidden=()))
    weights = random_weights(description, 0, scale=0.0)
    weights["0.head.bias"] = np.linspace(0, 2, 9).astype(np.float32)
    policy = policy_for(write(tmp_path, description, weights), engagement, "pursuer", batch, deterministic=False)
    policy.reset(np.arange(batch), None)
    chosen = policy.decide(views_of(policy, 0), np.zeros(batch, np.int64), np.ones((1, batch), bool))
    counts = np.bincount(chosen.astype(int).ravel(), minlength=9)
    expected = np.exp(weights["0.head.bias"])
    expected *= batch / expected.sum()
    assert ((counts - expected) ** 2 / expected).sum() < 26.1  # 8 degrees of freedom, 0.1 %
    best = policy_for(policy.bundle, engagement, "pursuer", 5)
    assert (best.decide(views_of(best, 0), np.zeros(5, np.int64), np.ones((1, 5), bool)) == 8).all()


def test_actions_cover_their_range_and_never_leave_it(tmp_path):
    engagement = shipped("kinematic_3v1")
    description = describe(engagement, "pursuer", NetworkSpec(hidden=()))
    weights = random_weights(description, 0, scale=0.0)
    weights["0.head.bias"][:] = [-1.0, 1.0, 0.0, 7.0]
    policy = policy_for(write(tmp_path, description, weights), engagement, "pursuer", 1)
    values = policy.decide(views_of(policy, 0), np.zeros(1, np.int64), np.ones((3, 1), bool))
    low, high = policy.context.action.low, policy.context.action.high
    assert values[:, 0, 0].tolist() == [low[0], high[1], 0.0, high[3]]
    assert values.dtype == np.float32


@pytest.mark.parametrize("name", ["grid_1v1", "kinematic_3v1"])
def test_a_bundle_flies_in_the_environment_by_its_path(tmp_path, name):
    limits = {"rules__max_step": 30} if name == "grid_1v1" else {"rules__time_limit": "2 s"}
    engagement = shipped(name, **limits)
    bundle_for(tmp_path, engagement, "pursuer", MLP)
    flown = shipped(name, roles__pursuer__policy__use=str(tmp_path), **limits)
    if name == "grid_1v1":
        flown = shipped(name, roles__pursuer__policy={"use": str(tmp_path), "rate": 10}, **limits)
    one_by_one = list(rollout(flown, 3))
    together = Rollout(flown, 3).run([flown.seed] * 3, [0, 1, 2])
    assert [one.trajectory_sha256 for one in one_by_one] == [one.trajectory_sha256 for one in together]
    assert one_by_one[0].trajectory_sha256 != next(rollout(engagement, 1)).trajectory_sha256


@pytest.mark.parametrize("width", [1, 2, 3, 7, 64, 100])
def test_sums_in_order_are_sums(width):
    terms = np.random.default_rng(width).standard_normal((5, 4, width)).astype(np.float32)
    assert sum_in_order(namespace(), terms) == pytest.approx(terms.astype(np.float64).sum(-1), abs=1e-4)


@pytest.mark.parametrize("unit", ["gru", "lstm"])
def test_networks_say_what_torch_says(unit):
    torch = pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")
    spec = NetworkSpec(hidden=(12,), recurrent=unit, memory=6)
    rng = np.random.default_rng(0)
    weights = {k: rng.standard_normal(s).astype(np.float32) for k, s in spec.shapes(5, 3).items()}
    cell = {"gru": torch.nn.GRUCell, "lstm": torch.nn.LSTMCell}[unit](12, 6)
    with torch.no_grad():
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            getattr(cell, name).copy_(torch.as_tensor(weights[f"{unit}.{name}"]))
    x, h = (rng.standard_normal((4, n)).astype(np.float32) for n in (5, spec.state_size))
    t = {k: torch.as_tensor(v) for k, v in weights.items()}
    hidden = torch.relu(torch.as_tensor(x) @ t["layers.0.weight"].T + t["layers.0.bias"])
    before = torch.as_tensor(h)
    memory = cell(hidden, before) if unit == "gru" else torch.cat(cell(hidden, before.split(6, dim=1)), dim=1)
    expected = memory[:, :6] @ t["head.weight"].T + t["head.bias"]
    for rows in (slice(0, 4), slice(0, 1)):
        got, after = Network(spec, weights, namespace()).forward(x[rows], h[rows])
        assert got == pytest.approx(expected[rows].detach().numpy(), abs=1e-5)
        assert after == pytest.approx(memory[rows].detach().numpy(), abs=1e-5)
