"""Several policies in one role: each engagement is played by one of them, as if it were alone; draws are keyed."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("safetensors", reason="needs safetensors: install pe_ros[train]")

from pe_sim.arrays import namespace
from pe_sim.policies.base import context_of
from pe_sim.policies.bundle import write
from pe_sim.policies.describe import context_for, describe, random_weights
from pe_sim.policies.loader import load_policy
from pe_sim.policies.mixed import MixedPolicy
from pe_sim.policies.networks import NetworkSpec
from pe_sim.sensors.inbox import SensorView

from ..files import shipped  # noqa: TID252 - shared by one room
from .test_runner import views_of

GRU = NetworkSpec(hidden=(8,), recurrent="gru", memory=5)
BATCH = 12


def members_for(tmp_path, engagement, batch: int, numbers=None):
    action, out = context_for(engagement, "pursuer").action, []
    for number in range(2):
        description = describe(engagement, "pursuer", GRU, deterministic=number == 0)
        bundle = write(tmp_path / str(number), description, random_weights(description, number))
        use = str(bundle.path)
        out.append(load_policy(engagement, "pursuer", action, batch=batch, xp=namespace(), numbers=numbers, use=use))
    out.append(
        load_policy(
            engagement, "pursuer", action, batch=batch, xp=namespace(), numbers=numbers, use="guidance/random"
        )
    )
    return context_of(engagement, "pursuer", action, batch, namespace(), numbers), out


def row_of(view: SensorView, row: int) -> SensorView:
    one = slice(row, row + 1)
    return SensorView(*(values[..., one] for values in (view.values, view.valid, view.stamp, view.sequence, view.age)))


def test_each_engagement_is_played_by_its_member_as_if_that_were_alone(tmp_path):
    engagement = shipped("kinematic_3v1", roles__pursuer__observe={"actions": 1})
    mixed = MixedPolicy(*members_for(tmp_path, engagement, BATCH))
    mixed.probabilities = np.asarray([0.4, 0.4, 0.2])
    roots = np.arange(BATCH, dtype=np.int64) * 31 + 7
    mixed.reset(roots, None)
    assert set(mixed.chosen) == {0, 1, 2}
    assert not mixed.deterministic
    assert mixed.recurrent
    singles = []
    for row in range(BATCH):
        single = members_for(tmp_path, engagement, 1)[1][mixed.chosen[row]]
        single.reset(roots[row : row + 1], None)
        singles.append(single)
    rng = np.random.default_rng(0)
    for step in range(5):
        due = rng.random((3, BATCH)) < 0.6
        views = views_of(mixed.members[0], step)
        together = mixed.decide(views, np.zeros(BATCH, np.int64), due)
        for row, single in enumerate(singles):
            mine = {name: row_of(view, row) for name, view in views.items()}
            alone = single.decide(mine, np.zeros(1, np.int64), due[:, row : row + 1])
            agents = due[:, row]
            assert np.array_equal(together[:, agents, row], alone[:, agents, 0])


def test_who_plays_depends_on_the_episode_and_not_on_the_batch(tmp_path):
    engagement = shipped("kinematic_3v1")
    whole, one = (MixedPolicy(*members_for(tmp_path, engagement, batch)) for batch in (BATCH, 1))
    roots = np.arange(BATCH, dtype=np.int64) + 100
    whole.reset(roots, None)
    for row in range(BATCH):
        one.reset(roots[row : row + 1], None)
        assert one.chosen[0] == whole.chosen[row]
    before = whole.chosen.copy()
    whole.reset(np.asarray([5, 6]), np.asarray([3, 8]))
    assert whole.last[[3, 8]].tolist() == before[[3, 8]].tolist()
    untouched = np.delete(np.arange(BATCH), [3, 8])
    assert np.array_equal(whole.chosen[untouched], before[untouched])


def test_members_play_as_often_as_their_probabilities_say(tmp_path):
    engagement, batch = shipped("grid_1v1"), 30_000
    context = context_of(engagement, "pursuer", context_for(engagement, "pursuer").action, batch, namespace())
    member = load_policy(
        engagement, "pursuer", context.action, batch=batch, xp=namespace(), use="guidance/random", parameters={}
    )
    mixed = MixedPolicy(context, [member] * 4)
    mixed.probabilities = np.asarray([0.1, 0.0, 0.6, 0.3])
    mixed.reset(np.arange(batch), None)
    counts = np.bincount(mixed.chosen, minlength=4)
    expected = batch * mixed.probabilities
    assert counts[1] == 0
    some = expected > 0
    assert ((counts - expected)[some] ** 2 / expected[some]).sum() < 13.9  # 2 degrees of freedom, 0.1 %
