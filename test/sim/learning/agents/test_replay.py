"""The replay memory: the latest steps, no others, drawn evenly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch", reason="needs torch: install pe_ros[train]")

import torch

from pe_sim.errors import PeError
from pe_sim.learning.agents.replay import ReplayBuffer


def buffer(n_envs: int = 2, size: int = 10, seed: int = 0) -> ReplayBuffer:
    return ReplayBuffer(n_envs, size, 8, (1,), (), generator=torch.Generator().manual_seed(seed))


def filled(memory: ReplayBuffer, first: int, count: int) -> None:
    """Store steps numbered from ``first``; environment e's are 1000 e higher."""
    offset = 1000 * np.arange(memory.n_envs)
    for t in range(first, first + count):
        number = t + offset
        memory.store(number[:, None], number, number, number % 3 == 0, number[:, None] + 0.5)


@given(st.integers(1, 4), st.integers(4, 30), st.integers(0, 40))
def test_it_holds_the_latest_steps_of_each_environment_in_order(n_envs, size, count):
    memory = buffer(n_envs, size)
    filled(memory, 0, count)
    kept = min(count, size // n_envs)
    data = memory.transitions()
    expected = [1000 * e + t for e in range(n_envs) for t in range(count - kept, count)]
    assert data.rewards.tolist() == expected
    assert data.actions.tolist() == expected
    assert data.next_observations[:, 0].tolist() == [x + 0.5 for x in expected]
    assert data.terminals.tolist() == [x % 3 == 0 for x in expected]
    assert memory.full == (count >= size // n_envs)


def test_samples_are_whole_steps_drawn_evenly():
    memory = buffer(2, 10)
    filled(memory, 0, 8)  # of which 3 to 7 are left
    drawn = memory.sample(20_000)
    assert np.array_equal(drawn["obs"][:, 0] + 0.5, drawn["obs_next"][:, 0])
    assert np.array_equal(drawn["rewards"], drawn["actions"])
    values, found = np.unique(drawn["rewards"], return_counts=True)
    assert values.tolist() == [3, 4, 5, 6, 7, 1003, 1004, 1005, 1006, 1007]
    assert ((found - 2000) ** 2 / 2000).sum() < 27.9  # 9 degrees of freedom, 0.1 %
    assert len(memory.sample()["rewards"]) == 8


def test_what_is_not_there_is_not_drawn():
    memory = buffer()
    with pytest.raises(PeError, match="holds no steps"):
        memory.sample()
    filled(memory, 5, 1)
    assert set(memory.sample(100)["rewards"]) == {5.0, 1005.0}
    memory.clear()
    with pytest.raises(PeError, match="holds no steps"):
        memory.sample()


@pytest.mark.parametrize("count", [0, 3, 5, 7])
def test_a_restored_memory_goes_on_as_the_saved_one(count):
    one, other = buffer(), buffer(seed=1)
    filled(one, 0, count)
    other.restore(one.state())
    other._generator.set_state(one._generator.get_state())
    for memory in (one, other):
        filled(memory, 50, 4)
    np.testing.assert_equal(one.sample(50), other.sample(50))
    assert np.array_equal(one.transitions().rewards, other.transitions().rewards)


def test_a_memory_of_another_size_is_refused():
    one = buffer(size=10)
    filled(one, 0, 7)
    for size in (8, 20):
        with pytest.raises(PeError, match="buffer_size"):
            buffer(size=size).restore(one.state())
