"""Memories of joint steps: what each decision was worth, what is drawn from the past, and what is learnt from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pe_sim.learning.agents.marl_memory import JointMemory, JointReplay
from pe_sim.learning.agents.marl_rollout import JointRollout, joint_gae, normalised


def scalar_gae(decisions, gamma, gae_lambda):
    """Advantages of one agent's decisions in one episode: (reward until the next, value), then what follows."""
    *steps, last = decisions
    values = [value for _, value in steps] + [last]
    out, following = [], 0.0
    for k in reversed(range(len(steps))):
        following = steps[k][0] + gamma * values[k + 1] - values[k] + gamma * gae_lambda * following
        out.append(following)
    return out[::-1]


@given(st.integers(0, 2**32 - 1), st.floats(0, 1), st.floats(0, 1))
def test_advantages_of_agents_that_decide_now_and_then_are_those_of_a_scalar_reference(seed, gamma, gae_lambda):
    rng = np.random.default_rng(seed)
    shape = (9, 2, 3)
    rewards, values = rng.normal(size=shape), rng.normal(size=shape)
    counted, ended, bootstrap = rng.random(shape) < 0.6, rng.random(shape) < 0.2, rng.normal(size=shape)
    ended[-1] = True
    found = joint_gae(rewards, values, ended, bootstrap, counted, gamma=gamma, gae_lambda=gae_lambda)
    for e in range(2):
        for n in range(3):
            path, places = [], []
            for t in range(9):
                if counted[t, e, n]:
                    path.append([0.0, values[t, e, n]])
                    places.append(t)
                if path:
                    path[-1][0] += rewards[t, e, n]
                if ended[t, e, n]:
                    expected = scalar_gae([*path, bootstrap[t, e, n]], gamma, gae_lambda)
                    assert found[places, e, n] == pytest.approx(expected, abs=1e-6)
                    path, places = [], []
    assert not found[~counted].any()


def filled(steps=4, length=1, agents=("a", "b")) -> JointRollout:
    memory = JointRollout(list(agents), 2, steps, length, gamma=0.5, gae_lambda=1.0)
    for t in range(steps):
        memory.store(
            obs={a: np.full((2, 3), 10.0 * t) + np.arange(2)[:, None] for a in agents},
            rewards={a: np.asarray([1.0, 2.0]) for a in agents}, values={a: np.zeros(2) for a in agents},
            agent_mask={a: np.asarray([True, a == "a" or t < 2]) for a in agents}, episode_steps=np.asarray([t, t]),
        )
        memory.finish_path(1, {"b": 0.0} if t == 1 else {})
    for e in range(2):
        memory.finish_path(e, dict.fromkeys(agents, 8.0))
    return memory


def test_a_terminal_is_worth_nothing_and_the_end_of_the_horizon_what_follows():
    memory = filled()
    memory.prepare(use_advnorm=False)
    found = memory.sample(np.arange(8))
    assert found["advantages"]["a"][0].reshape(4, 2)[:, 0] == pytest.approx([2.375, 2.75, 3.5, 5.0])
    assert found["returns"]["b"][0].reshape(4, 2)[:, 1] == pytest.approx([3.0, 2.0, 0.0, 0.0])  # it left after two


def test_a_path_that_has_ended_stays_so():
    memory = filled()
    before = memory.state()
    memory.finish_path(0, {"a": 99.0})
    assert np.array_equal(memory.state()["bootstrap"], before["bootstrap"])


def test_advantages_are_scaled_over_the_decisions_of_each_agent():
    rng = np.random.default_rng(0)
    advantages, counted = rng.normal(3.0, [1.0, 20.0], (50, 4, 2)), rng.random((50, 4, 2)) < 0.5
    found = normalised(np.where(counted, advantages, 1e6), counted)
    for n in range(2):
        mine = found[..., n][counted[..., n]]
        assert [mine.mean(), mine.std()] == pytest.approx([0.0, 1.0], abs=1e-6)
    assert not found[~counted].any()
    assert np.isfinite(normalised(advantages, np.zeros_like(counted))).all()


@pytest.mark.parametrize("length", [1, 2, 4])
def test_sequences_are_consecutive_and_hold_every_step_once(length):
    memory = filled(4, length)
    memory.prepare(use_advnorm=True)
    assert memory.units == 8 // length
    found = memory.sample(np.arange(memory.units))
    assert found["obs"]["a"].shape == (length, 8 // length, 3)
    assert (np.diff(found["episode_steps"], axis=0) == 1).all()
    times_and_envs = found["obs"]["a"][..., 0].reshape(-1)
    assert sorted(times_and_envs) == [10.0 * t + e for t in range(4) for e in range(2)]


def test_impossible_lengths_and_sizes_are_refused():
    with pytest.raises(ValueError, match="must divide"):
        JointRollout(["a"], 2, 4, 3, gamma=0.9, gae_lambda=0.9)
    with pytest.raises(ValueError, match="at least one step"):
        JointMemory(4, 0)


def test_samples_of_the_past_are_consecutive_steps_of_one_environment_also_over_the_seam():
    memory, rng = JointReplay(3, 30, 64, 4), np.random.default_rng(0)
    seen = set()
    for t in range(27):
        memory.store(x=np.asarray([100.0 * e + t for e in range(3)]), y={"a": np.zeros((3, 2))})
        assert memory.ready is (t >= 3)
        if not memory.ready:
            continue
        found = memory.sample(rng)["x"]
        assert found.shape == (4, 64)
        assert (np.diff(found, axis=0) == 1).all()
        assert (found % 100 > t - 10).all()
        seen = set(found[:, :].reshape(-1))
    assert seen == {100.0 * e + t for e in range(3) for t in range(17, 27)}  # all ten steps held, of all three


def test_a_memory_goes_on_from_what_was_kept():
    memory, other = JointReplay(3, 30, 8, 2), JointReplay(3, 30, 8, 2)
    for t in range(13):
        memory.store(x=np.full(3, t), y={"a": np.full((3, 2), t, bool)})
    other.restore(memory.state())
    for one in (memory, other):
        one.store(x=np.full(3, 99), y={"a": np.ones((3, 2), bool)})
    a, b = memory.sample(np.random.default_rng(1)), other.sample(np.random.default_rng(1))
    assert np.array_equal(a["x"], b["x"])
    assert np.array_equal(a["y"]["a"], b["y"]["a"])
    assert a["y"]["a"].dtype == np.bool_
    with pytest.raises(ValueError, match="not one of 5 steps"):
        JointReplay(3, 15, 8, 2).restore(memory.state())
