"""Advantages against a scalar reference; truncation bootstraps, termination does not; agents are never mixed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pe_sim.learning.advantage import gae


def reference(rewards, values, ended, bootstrap, gamma, lam):
    """One agent, number by number: the definition, as a sum over the decisions that follow."""
    out = []
    for t in range(len(rewards)):
        total, weight, k = 0.0, 1.0, t
        while True:
            following = bootstrap[k] if ended[k] else values[k + 1]
            total += weight * (rewards[k] + gamma * following - values[k])
            if ended[k] or k == len(rewards) - 1:
                break
            weight *= gamma * lam
            k += 1
        out.append(total)
    return out


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.floats(0, 1), st.floats(0, 1))
def test_advantages_equal_the_scalar_reference(seed, length, gamma, lam):
    rng = np.random.default_rng(seed)
    shape = (length, 2, 3)
    rewards, bootstrap = rng.normal(size=shape), rng.normal(size=shape)
    values, ended = rng.normal(size=(length + 1, 2, 3)), rng.random(shape) < 0.3
    found = gae(rewards, values, ended, bootstrap, gamma=gamma, gae_lambda=lam)
    for agent in range(2):
        for row in range(3):
            one = (slice(None), agent, row)
            wanted = reference(rewards[one], values[one], ended[one], bootstrap[one], gamma, lam)
            assert found[one] == pytest.approx(wanted, abs=1e-6)


def test_a_timeout_is_worth_what_would_have_followed_and_an_end_is_worth_nothing():
    rewards, values = np.asarray([[1.0, 1.0]]), np.asarray([[0.5, 0.5], [100.0, 100.0]])
    ended, bootstrap = np.asarray([[True, True]]), np.asarray([[0.0, 10.0]])
    found = gae(rewards, values, ended, bootstrap, gamma=0.9, gae_lambda=0.95)
    assert found[0] == pytest.approx([1.0 - 0.5, 1.0 + 0.9 * 10.0 - 0.5])


def test_what_does_not_count_changes_nothing():
    rng = np.random.default_rng(0)
    shape = (6, 4)
    rewards, values = rng.normal(size=shape), rng.normal(size=(7, 4))
    ended, bootstrap = rng.random(shape) < 0.2, np.zeros(shape)
    counted = np.arange(6)[:, None] < np.asarray([6, 4, 2, 0])
    one = gae(rewards, values, ended, bootstrap, gamma=0.9, gae_lambda=0.9, counted=counted)
    # The value after the last counted decision is that of the open one, so only what lies behind it is garbage.
    behind = np.arange(7)[:, None] > np.asarray([6, 4, 2, 0])
    other = gae(
        np.where(counted, rewards, 1e9), np.where(behind, 1e9, values), ended, bootstrap, gamma=0.9, gae_lambda=0.9,
        counted=counted,
    )
    assert np.array_equal(one, other)
    assert not one[~counted].any()
