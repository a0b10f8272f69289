"""Counter-based streams: golden values, independence of order, statistics, and int64 arithmetic everywhere."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pe_sim import streams
from pe_sim.arrays import namespace

XP = namespace()
INT64 = st.integers(min_value=-(2**63), max_value=2**63 - 1)
MASK = 2**64 - 1


def splitmix64(z: int) -> int:
    """The published finaliser (Steele, Lea and Flood 2014), on unsigned Python integers."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def signed(z: int) -> int:
    z &= MASK
    return z - 2**64 if z >= 2**63 else z


def array(*values: int) -> np.ndarray:
    return np.asarray(values, dtype=np.int64)


@given(INT64)
def test_mix_is_splitmix64(value: int) -> None:
    assert int(streams.mix(array(value))[0]) == signed(splitmix64(value & MASK))


def test_first_outputs_of_the_published_generator() -> None:
    # SplitMix64 seeded with 1234567, as printed by the reference implementation.
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    key = array(1234567)
    got = [int(streams.bits(key, 0, component)[0]) & MASK for component in range(4)]
    assert got == expected


@given(INT64, st.integers(min_value=0, max_value=2**40), st.integers(min_value=0, max_value=1000))
def test_a_number_given_as_an_array_draws_the_same(key: int, number: int, component: int) -> None:
    keys = array(key)
    assert (streams.bits(keys, number, component) == streams.bits(keys, array(number), component)).all()
    assert (streams.derive(keys, number) == streams.derive(keys, array(number))).all()


def test_golden_draws() -> None:
    keys = streams.episode_keys(array(1, 1, 2), array(0, 1, 0))
    draws = streams.uniform(XP, streams.derive(keys, streams.name_key("pursuer_0/radar")), array(0, 5, 9), 2)
    np.testing.assert_array_equal(draws, GOLDEN)


def test_draws_do_not_depend_on_who_else_draws() -> None:
    keys = streams.episode_keys(np.arange(100, dtype=np.int64), np.zeros(100, dtype=np.int64))
    together = streams.normals(XP, keys, np.full(100, 7), 3)
    alone = [streams.normals(XP, keys[i : i + 1], array(7), 3) for i in range(100)]
    for component in range(3):
        assert together[component].tolist() == [row[component][0] for row in alone]


def test_streams_of_neighbouring_seeds_episodes_and_numbers_differ() -> None:
    seeds, episodes = (a.ravel() for a in np.meshgrid(np.arange(50), np.arange(50)))
    keys = streams.episode_keys(seeds.astype(np.int64), episodes.astype(np.int64))
    assert len(set(keys.tolist())) == 2500
    values = {int(v) for number in range(20) for v in streams.bits(keys[:50], number, 0)}
    assert len(values) == 1000


def test_uniform_is_uniform() -> None:
    n = 200_000
    draws = streams.uniform(XP, np.full(n, 99, dtype=np.int64), np.arange(n, dtype=np.int64))
    assert draws.min() > 0.0
    assert draws.max() < 1.0
    counts, _ = np.histogram(draws, bins=100, range=(0.0, 1.0))
    chi_squared = ((counts - n / 100) ** 2 / (n / 100)).sum()
    assert chi_squared < 149.4  # 99.9 % quantile with 99 degrees of freedom


def test_normals_are_standard_normal_and_uncorrelated() -> None:
    n = 200_000
    a, b, c = streams.normals(XP, np.full(n, 5, dtype=np.int64), np.arange(n, dtype=np.int64), 3)
    bound = 4.0 / math.sqrt(n)
    for x in (a, b, c):
        assert abs(x.mean()) < bound
        assert abs(x.var() - 1.0) < bound * math.sqrt(2.0)
        assert abs((x**4).mean() - 3.0) < 4.0 * math.sqrt(96.0 / n)
    for x, y in ((a, b), (a, c), (b, c), (a[1:], a[:-1])):
        assert abs(np.corrcoef(x, y)[0, 1]) < bound


def test_sub_streams_of_one_key_are_uncorrelated() -> None:
    n = 100_000
    keys = streams.derive(np.arange(n, dtype=np.int64), 3)
    one, two = (streams.uniform(XP, streams.derive(keys, part), 0) for part in (1, 2))
    assert abs(np.corrcoef(one, two)[0, 1]) < 4.0 / math.sqrt(n)


def test_names_have_stable_keys() -> None:
    assert streams.name_key("pursuer_0") == NAME_KEY
    assert len({streams.name_key(f"agent_{i}") for i in range(1000)}) == 1000


def test_torch_draws_the_same_bits() -> None:
    torch = pytest.importorskip("torch")
    keys = streams.episode_keys(np.arange(64, dtype=np.int64), np.arange(64, dtype=np.int64))
    numbers = np.arange(64, dtype=np.int64) * 1_000_003
    other = streams.uniform(namespace("torch"), torch.asarray(keys), torch.asarray(numbers), 3)
    assert other.tolist() == streams.uniform(XP, keys, numbers, 3).tolist()


GOLDEN = [0.3272646443863628, 0.2499601658845686, 0.902484402050615]
NAME_KEY = 146045584156602138
