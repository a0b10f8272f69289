"""A pool: who is hard to beat plays often, the newest always, and what is known fades."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pe_sim.learning.opponents_spec import OpponentSpec
from pe_sim.learning.pool import Member, Pool, priority


def pool_of(*records: tuple[float, float], **settings) -> Pool:
    pool = Pool("evaders", OpponentSpec(kind="pool", **settings))
    for number, (games, score) in enumerate(records):
        pool.add(Member(str(number), {}, games=games, score=score))
    return pool


def test_weights_are_those_of_the_formula():
    # Shares won: (8 + 1) / (8 + 2) = 0.9, 0.1 and, of nobody played so far, 0.5.
    pool = pool_of((8, 8), (8, 0), (0, 0), newest=0.0)
    weights = np.asarray([0.1**2, 0.9**2, 0.5**2])
    assert pool.probabilities() == pytest.approx(weights / weights.sum())
    pool = pool_of((8, 8), (8, 0), (0, 0), newest=0.0, prioritise="even")
    assert pool.probabilities() == pytest.approx(np.asarray([0.09, 0.09, 0.25]) / 0.43)
    pool = pool_of((8, 8), (8, 0), (0, 0), newest=0.4, prioritise="uniform")
    assert pool.probabilities() == pytest.approx([0.2, 0.2, 0.6])


RECORDS = st.lists(st.tuples(st.floats(0, 1e4), st.floats(0, 1)).map(lambda r: (r[0], r[0] * r[1])), min_size=1)


@given(RECORDS, st.sampled_from(["hard", "even", "uniform"]), st.integers(1, 6), st.floats(0, 1))
def test_probabilities_are_such_and_no_more_than_the_capacity_play(records, kind, capacity, newest):
    pool = pool_of(*records, prioritise=kind, capacity=capacity, newest=newest)
    shares = pool.probabilities()
    assert shares.sum() == pytest.approx(1.0)
    assert (shares >= 0).all()
    assert np.count_nonzero(shares) <= capacity
    assert shares[-1] >= newest - 1e-12


@given(st.floats(0, 1), st.floats(0, 1))
def test_who_is_harder_to_beat_is_worth_more(a, b):
    assert (priority(a, "hard") >= priority(b, "hard")) == ((1 - a) ** 2 >= (1 - b) ** 2)
    assert priority(a, "even") <= priority(0.5, "even")


def test_games_count_and_fade():
    pool = pool_of((0, 0), (0, 0), memory=0.5)
    pool.note(np.asarray([0, 1, 1, 1]), np.asarray([1.0, 0.0, 1.0, 0.5]))
    assert [(m.games, m.score, m.total) for m in pool.members] == [(1, 1, 1), (3, 1.5, 3)]
    pool.forget()
    assert [(m.games, m.score, m.total) for m in pool.members] == [(0.5, 0.5, 1), (1.5, 0.75, 3)]
    again = Pool("evaders", pool.spec)
    again.restore(pool.state())
    assert again.members == pool.members


def test_beating_the_strong_lifts_a_rating_more_than_beating_the_weak():
    pool = pool_of((0, 0), (0, 0))
    pool.members[1].elo = 1400.0
    weak = pool.rate(1000.0, np.asarray([0]), np.asarray([1.0]))
    strong = pool.rate(1000.0, np.asarray([1]), np.asarray([1.0]))
    assert 1000 < weak < strong


@pytest.mark.parametrize(
    ("section", "rule"),
    [
        ({"kind": "scripted", "use": "runs/x"}, "guidance/<name>"),
        ({"kind": "scripted"}, "guidance/<name>"),
        ({"kind": "bundle", "use": "guidance/flee"}, "directory of a bundle"),
        ({"kind": "pool", "use": "guidance/flee"}, "members instead"),
        ({"kind": "bundle", "use": "x", "members": ["y"]}, "only a pool"),
    ],
)
def test_keys_of_another_kind_are_refused(section, rule):
    with pytest.raises(ValueError, match=rule):
        OpponentSpec(**section)
