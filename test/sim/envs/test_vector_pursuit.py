"""The batched environment: every row, state by state, is the dict environment of its seed and episode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from pe_sim.engagement import Engagement, parse
from pe_sim.envs.pursuit_env import PursuitEnv
from pe_sim.envs.vector_pursuit import VectorPursuit
from pe_sim.errors import ActionError
from pe_sim.rules import OUTCOMES

from ..files import engagements, grid_file, plane_file, shipped  # noqa: TID252 - shared by the tests of one room

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
QUICK = [Phase.explicit, Phase.reuse, Phase.generate]  # shrinking would run thousands of engagements


def row_of(batch: VectorPursuit, row: int) -> tuple[np.ndarray, int]:
    """True state and tick of one row."""
    lane = next(lane for lane in batch._lanes if lane.first <= row < lane.first + lane.simulation.batch)
    place = row - lane.first
    return np.asarray(lane.simulation.state.block[:, :, place]), int(lane.simulation.tick[place])


def compare(engagement: Engagement, seed: int, steps: int, batch: int = 5, block: int = 2, threads: int = 1) -> int:
    """Drive both with the same random actions; return how many episodes ended."""
    vector = VectorPursuit(engagement, batch, seed=seed, block=block, threads=threads)
    envs = [PursuitEnv(engagement, seed) for _ in range(batch)]
    episodes = list(range(batch))
    rng = np.random.default_rng(seed)
    got = vector.reset(seed)
    for row, env in enumerate(envs):
        check_row(vector, got, row, env, env.reset(seed, {"episode": episodes[row]})[0])
    ended = 0
    for _ in range(steps):
        actions = vector.sample(rng)
        # The dict env runs to its next decision, which may be several strides away: step it when its row has one.
        due = {role: np.array(flags) for role, flags in got.due.items()}
        for row, env in enumerate(envs):
            chosen = {
                f"{role}_{i}": actions[role][row, i] for role in vector.roles for i in np.flatnonzero(due[role][row])
            }
            if chosen:
                assert sorted(chosen) == sorted(env.due)
                env.step(chosen)
        got = vector.step(actions)
        finals = {int(row): i for i, row in enumerate(got.finals.rows)}
        ended += len(finals)
        for row, env in enumerate(envs):
            over = row in finals
            assert over == bool(got.terminated[row] or got.truncated[row])
            if over:
                assert not env.simulation.running[0]
                i = finals[row]
                assert int(got.finals.ticks[i]) == int(env.simulation.tick[0])
                assert OUTCOMES[int(got.finals.outcomes[i])] == OUTCOMES[int(env.simulation.outcome[0])]
                assert bool(got.truncated[row]) == bool(env.simulation.truncated[0])
                for role in vector.roles:
                    last = env.observe([f"{role}_{n}" for n in range(engagement.roles[role].count)])
                    np.testing.assert_array_equal(got.finals.observations[role][i], np.stack(list(last.values())))
                episodes[row] += batch
                check_row(vector, got, row, env, env.reset(seed, {"episode": episodes[row]})[0])
            else:
                check_row(vector, got, row, env, None)
    vector.close()
    return ended


def check_row(vector: VectorPursuit, got: Any, row: int, env: PursuitEnv, first: Any) -> None:
    block, tick = row_of(vector, row)
    if tick != int(env.simulation.tick[0]):  # the dict env is already where somebody decides, or at the end
        assert not any(bool(flags[row].any()) for flags in got.due.values())
        return
    np.testing.assert_array_equal(block, env.simulation.state.block[:, :, 0])
    for role in vector.roles:
        count = vector.engagement.roles[role].count
        names = [f"{role}_{i}" for i in range(count)]
        np.testing.assert_array_equal(got.observations[role][row], np.stack(list(env.observe(names).values())))
        assert got.due[role][row].tolist() == [name in env.due for name in names]
        living = got.alive[role][row].tolist()
        assert living == [bool(env.simulation.alive[i, 0]) for i in range(*vector.engagement.role_ranges[role])]
    if first is not None:
        assert sorted(first) == sorted(env.due)


@pytest.mark.parametrize(("block", "threads"), [(100, 1), (2, 1), (2, 2)])
def test_rows_are_dict_environments_on_the_grid(block: int, threads: int) -> None:
    engagement = parse(grid_file(roles={"evader": {"observe": {"actions": 2}}}))
    assert compare(engagement, 3, 60, block=block, threads=threads) > 5


def test_rows_are_dict_environments_in_the_plane() -> None:
    assert compare(parse(plane_file()), 4, 60) > 3


@pytest.mark.parametrize("name", ["kinematic_3v1", "multirate_2v2"])
def test_rows_are_dict_environments_of_the_shipped_files(name: str) -> None:
    compare(shipped(name, rules__time_limit="600 ms"), 2, 150, batch=3)


@settings(max_examples=20, deadline=None, phases=QUICK, suppress_health_check=SLOW)
@given(engagements(), st.integers(0, 2**32))
def test_rows_are_dict_environments_of_drawn_files(engagement: Engagement, seed: int) -> None:
    compare(engagement, seed, 50, batch=3)


def test_a_stride_is_the_greatest_common_divisor_of_the_decision_periods() -> None:
    both = {"pursuer": {"policy": {"rate": 5}}, "evader": {"policy": {"rate": "10/3 Hz"}}}  # 4 and 6 ticks of 50 ms
    engagement = parse(plane_file(roles=both))
    assert VectorPursuit(engagement, 2).stride == 2
    assert VectorPursuit(engagement, 2, roles=("pursuer",)).stride == 4
    assert VectorPursuit(engagement, 2, roles=("evader",)).stride == 6
    assert VectorPursuit(parse(plane_file(roles={"pursuer": {"policy": {"rate": 7}}})), 2).stride == 1
    no_phase = {"roles__pursuer__policy__phase": 0, "roles__evader__policy__phase": 0}
    assert VectorPursuit(shipped("kinematic_3v1", **no_phase), 2).stride == 5


def test_roles_that_are_not_controlled_follow_the_files_policies() -> None:
    engagement = parse(plane_file(rules={"time_limit": "30 s"}))
    chased = VectorPursuit(engagement, 4, roles=("evader",))
    got = chased.reset(1)
    assert set(got.observations) == {"evader"}
    still = {"evader": np.zeros((4, 1, 2), np.float32)}
    outcomes = []
    for _ in range(150):
        outcomes += [OUTCOMES[int(o)] for o in chased.step(still).finals.outcomes]
    assert set(outcomes) == {"capture"}


def test_rewards_of_a_step_are_those_of_its_ticks() -> None:
    terms = [{"term": "time", "team": "pursuers", "weight": 1}, {"term": "timeout", "team": "evaders", "weight": 7}]
    engagement = parse(plane_file(rules={"rewards": {"terms": terms}, "time_limit": "500 ms"}))
    vector = VectorPursuit(engagement, 3)
    vector.reset(0)
    steps = [vector.step(vector.sample(np.random.default_rng(0))) for _ in range(5)]
    assert steps[-1].rewards["evader"].tolist() == [[7.0]] * 3
    assert steps[-1].truncated.tolist() == [True] * 3
    assert steps[-1].rewards["pursuer"].tolist() == [[2.0]] * 3  # two ticks per decision


@pytest.mark.parametrize(
    ("actions", "rule"),
    [
        ({"pursuer": [[0], [0]]}, "evader: is controlled, but has no actions"),
        ({"pursuer": [[0], [0]], "evader": [[0], [0]], "bird": [[0]]}, "bird: is no controlled role"),
        ({"pursuer": [[0]], "evader": [[0], [0]]}, r"pursuer: needs actions of shape \(2, 1\)"),
        ({"pursuer": [[0], [9]], "evader": [[0], [0]]}, "pursuer of row 1: must be one of 0 to 8"),
        ({"pursuer": [[0], [-1]], "evader": [[0], [0]]}, "pursuer of row 1: must be one of 0 to 8"),
        ({"pursuer": [[0.5], [1]], "evader": [[0], [0]]}, "pursuer of row 0: must be one of 0 to 8"),
        ({"pursuer": [[float("nan")], [1]], "evader": [[0], [0]]}, "pursuer of row 0"),
    ],
)
def test_actions_that_do_not_fit_are_refused_before_anything_happens(actions: dict[str, Any], rule: str) -> None:
    vector = VectorPursuit(parse(grid_file()), 2)
    vector.reset(0)
    before = vector._lanes[0].simulation.state.block.copy()
    with pytest.raises(ActionError, match=rule):
        vector.step(actions)
    np.testing.assert_array_equal(vector._lanes[0].simulation.state.block, before)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_continuous_action_that_is_not_finite_is_refused(bad: float) -> None:
    vector = VectorPursuit(parse(plane_file()), 2)
    vector.reset(0)
    actions = {role: np.zeros((2, 1, 2)) for role in vector.roles}
    actions["evader"][1, 0, 1] = bad
    with pytest.raises(ActionError, match="evader of row 1: must be finite"):
        vector.step(actions)


def test_an_unknown_role_is_refused() -> None:
    with pytest.raises(ActionError, match="did you mean 'pursuer'"):
        VectorPursuit(parse(grid_file()), 2, roles=("persuer",))


def test_observations_are_float32_and_named() -> None:
    vector = VectorPursuit(shipped("kinematic_3v1"), 4)
    got = vector.reset(0)
    for role in vector.roles:
        assert got.observations[role].dtype == np.float32
        assert got.observations[role].shape == (4, vector.engagement.roles[role].count, len(vector.layout(role).names))
        assert vector.observation_spaces[role].contains(got.observations[role][0, 0])


def test_ended_engagements_can_wait_until_many_are_begun_anew() -> None:
    """Every episode that ends is the same as with a restart within the step; only when it begins differs."""
    engagement = parse(grid_file())

    def ended(share: float, steps: int) -> dict[int, tuple[int, int]]:
        vector = VectorPursuit(engagement, 6, seed=2, restart_share=share)
        vector.reset()
        got, waiting, episodes = {}, 0, list(range(6))
        for _ in range(steps):
            result = vector.step({role: np.zeros((6, 1), int) for role in vector.roles})  # everybody stays
            for row, outcome, ticks in zip(
                result.finals.rows, result.finals.outcomes, result.finals.ticks, strict=True
            ):
                got[episodes[row]] = (int(outcome), int(ticks))
                episodes[row] += 6
            waiting += int((~result.running).sum())
            for role in vector.roles:
                assert not result.due[role][~result.running].any()
                assert not result.rewards[role][~result.running & ~result.terminated & ~result.truncated].any()
        assert (waiting > 0) == (share > 0)
        return got

    at_once, later = ended(0.0, 100), ended(0.6, 200)
    assert len(later) > 12
    assert all(at_once[episode] == what for episode, what in later.items() if episode in at_once)


@pytest.mark.parametrize("name", ["grid_1v1", "kinematic_3v1", "multirate_2v2"])
def test_torch_runs_the_same_source_to_the_same_bits(name: str) -> None:
    torch = pytest.importorskip("torch")
    engagement = shipped(name, **({} if name == "grid_1v1" else {"rules__time_limit": "300 ms"}))
    plain, other = (VectorPursuit(engagement, 8, seed=1, library=library) for library in ("numpy", "torch"))
    plain.reset()
    other.reset()
    rng, ended = np.random.default_rng(0), 0
    for _ in range(70):
        actions = plain.sample(rng)
        one = plain.step(actions)
        two = other.step({role: torch.asarray(np.ascontiguousarray(values)) for role, values in actions.items()})
        for role in plain.roles:
            np.testing.assert_array_equal(one.observations[role], two.observations[role].numpy())
            np.testing.assert_array_equal(one.rewards[role], two.rewards[role].numpy())
        np.testing.assert_array_equal(one.finals.rows, two.finals.rows.numpy())
        ended += len(one.finals.rows)
    assert ended > 0
