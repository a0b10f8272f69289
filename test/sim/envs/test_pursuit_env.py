"""The dict environment: keys, ends, spaces, refusals, starts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from pe_sim.engagement import Engagement, parse
from pe_sim.envs.pursuit_env import ALL, EndDict, PursuitEnv
from pe_sim.errors import ActionError, EngagementError, PeError

from ..files import SHIPPED, engagements, grid_file, plane_file, shipped  # noqa: TID252 - shared by one room


def random_actions(env: PursuitEnv, rng: np.random.Generator) -> dict[str, Any]:
    out = {}
    for agent in env.due:
        space: Any = env.action_spaces[agent]
        out[agent] = int(rng.integers(space.n)) if hasattr(space, "n") else rng.uniform(space.low, space.high)
    return out


def run(env: PursuitEnv, seed: int, steps: int = 10_000) -> list[Any]:
    rng = np.random.default_rng(seed)
    trace: list[Any] = [env.reset(seed)]
    for _ in range(steps):
        if not env.agents:
            break
        trace.append(env.step(random_actions(env, rng)))
    return trace


@pytest.mark.parametrize("name", SHIPPED)
def test_keys_are_those_whose_decision_is_due_and_those_who_have_just_ended(name: str) -> None:
    env = PursuitEnv(shipped(name, **({} if name == "grid_1v1" else {"rules__time_limit": "700 ms"})))
    rng = np.random.default_rng(0)
    observations, infos = env.reset(seed=3)
    assert list(observations) == env.due == list(infos)
    while env.agents:
        observations, rewards, terminations, truncations, infos = env.step(random_actions(env, rng))
        assert set(observations) == set(rewards) == set(infos) == set(terminations) - {ALL} == set(truncations) - {ALL}
        assert set(env.due) <= set(observations)
        gone = {agent for agent in observations if terminations[agent] or truncations[agent]}
        assert set(observations) == set(env.due) | gone
        for agent, vector in observations.items():
            assert vector.dtype == np.float32
            assert env.observation_spaces[agent].contains(vector)
            assert isinstance(rewards[agent], float)
    assert terminations[ALL] != truncations[ALL]
    assert set(observations) == set(env.possible_agents)


def test_agents_are_asked_at_their_own_rates() -> None:
    no_phase = {"roles__pursuer__policy__phase": 0, "roles__evader__policy__phase": 0}
    env = PursuitEnv(shipped("kinematic_3v1", rules__time_limit="1 s", **no_phase))
    asked: dict[str, list[float]] = {agent: [] for agent in env.possible_agents}
    rng = np.random.default_rng(0)
    _, infos = env.reset(seed=1)
    while env.agents:
        for agent in env.due:
            asked[agent].append(infos[agent]["time"])
        _, _, _, _, infos = env.step(random_actions(env, rng))
    assert asked["pursuer_0"] == pytest.approx([0.05 * k for k in range(20)])
    assert asked["evader_0"] == pytest.approx([0.1 * k for k in range(10)])


def test_everything_is_there_in_every_ends_dict() -> None:
    assert EndDict({}, everything=True)[ALL] is True
    assert EndDict({"a": False}, everything=False) == {"a": False, ALL: False}


def test_a_never_captured_episode_lasts_exactly_max_step_steps_and_is_truncated() -> None:
    env = PursuitEnv(parse(grid_file(rules={"capture": {"radius": 0.5}, "max_step": 13})))
    still = {"pursuer_0": 0, "evader_0": 0}
    env.reset(seed=0)
    for step in range(13):
        _, _, terminations, truncations, infos = env.step(still)
        assert truncations[ALL] is (step == 12)
        assert not terminations[ALL]
    assert truncations == {"pursuer_0": True, "evader_0": True, ALL: True}
    assert infos["evader_0"]["outcome"] == "timeout"
    with pytest.raises(ActionError, match=r"the episode has ended; call reset\(\)"):
        env.step(still)


def test_capture_terminates_and_does_not_truncate() -> None:
    starts = {"pursuer": {"start": {"points": [[0, 0, 0]]}}, "evader": {"start": {"points": [[2, 0, 0]]}}}
    env = PursuitEnv(parse(grid_file(roles=starts)))
    env.reset(seed=0)
    _, rewards, terminations, truncations, infos = env.step({"pursuer_0": 1, "evader_0": 0})
    assert terminations == {"pursuer_0": True, "evader_0": True, ALL: True}
    assert not any(truncations.values())
    assert rewards == {"pursuer_0": 1.0, "evader_0": -1.0}
    assert infos["pursuer_0"]["outcome"] == "capture"


def test_moves_take_effect_at_once_for_all() -> None:
    starts = {"pursuer": {"start": {"points": [[3, 3, 0]]}}, "evader": {"start": {"points": [[5, 3, 0]]}}}
    env = PursuitEnv(parse(grid_file(roles=starts, rules={"capture": {"radius": 0.5}})))
    env.reset(seed=0)
    _, _, _, _, infos = env.step({"evader_0": 1, "pursuer_0": 1})  # both one cell east: neither moves first
    assert infos["pursuer_0"]["position"] == (4.0, 3.0, 0.0)
    assert infos["evader_0"]["position"] == (6.0, 3.0, 0.0)


def test_the_same_seed_gives_the_same_episodes() -> None:
    engagement = shipped("multirate_2v2", rules__time_limit="600 ms")
    first, second = (run(PursuitEnv(engagement), 5) for _ in range(2))
    assert repr(first) == repr(second)
    env = PursuitEnv(engagement)
    run(env, 5)
    assert repr(run(env, 5)) == repr(first)  # reset(seed) begins anew whatever was before
    assert repr(run(PursuitEnv(engagement), 6)) != repr(first)


def test_an_episode_can_be_chosen() -> None:
    env = PursuitEnv(shipped("grid_1v1"))
    env.reset(seed=4)
    env.reset()
    third, _ = env.reset()
    again, _ = PursuitEnv(shipped("grid_1v1")).reset(seed=4, options={"episode": 2})
    assert repr(third) == repr(again)


def test_heterogeneous_spaces_in_one_engagement() -> None:
    env = PursuitEnv(parse(grid_file(roles={"evader": {"dynamics": {"moves": 4, "stay": False}}})))
    assert env.action_spaces["pursuer_0"].n == 9  # type: ignore[union-attr]
    assert env.action_spaces["evader_0"].n == 4  # type: ignore[union-attr]
    mixed = PursuitEnv(shipped("multirate_2v2"))
    assert len({space.shape for space in mixed.action_spaces.values()}) == 2
    assert len({space.shape for space in mixed.observation_spaces.values()}) == 3
    for space in mixed.action_spaces.values():
        assert space.dtype == np.float32


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ({"pursuer_0": 0}, "evader_0: its decision is due, but it has no action"),
        ({"pursuer_0": 0, "evader_0": 9}, "evader_0: must be one of 0 to 8 (got 9)"),
        ({"pursuer_0": 0, "evader_0": -1}, "evader_0: must be one of 0 to 8"),
        ({"pursuer_0": 0, "evader_0": 0.5}, "evader_0: must be one of 0 to 8"),
        ({"pursuer_0": 0, "evader_0": [1, 2]}, "evader_0: needs 1 value (choice)"),
        ({"pursuer_0": 0, "evader_0": "north"}, "evader_0: an action must be a number"),
        ({"pursuer_0": 0, "evader_0": None}, "evader_0: "),
        ({"pursuer_0": 0, "evader_0": {"x": 1}}, "evader_0: an action must be a number"),
        ({"pursuer_0": 0, "evader_0": float("nan")}, "evader_0: must be finite"),
        ({"pursuer_0": 0, "evader_0": 0, "evader_1": 0}, "evader_1: no such agent; did you mean 'evader_0'?"),
        ({}, "pursuer_0: its decision is due, but it has no action"),
    ],
)
def test_actions_that_do_not_fit_are_refused_and_nothing_happens(actions: dict[str, Any], message: str) -> None:
    env = PursuitEnv(parse(grid_file()))
    env.reset(seed=0)
    before = env.simulation.state.block.copy()
    with pytest.raises(ActionError) as caught:
        env.step(actions)
    assert message in str(caught.value)
    assert (env.simulation.state.block == before).all()
    env.step({"pursuer_0": 0, "evader_0": 0})  # and the step can be tried again


@pytest.mark.parametrize("bad", [[np.nan, 0], [0, np.inf], [0], [0, 0, 0], [[0, 0]], [1e300, 0], [1j, 0]])
def test_continuous_actions_that_do_not_fit(bad: Any) -> None:
    env = PursuitEnv(parse(plane_file()))
    env.reset(seed=0)
    with pytest.raises(ActionError, match="evader_0"):
        env.step({"pursuer_0": [0, 0], "evader_0": bad})


def test_an_action_that_is_not_due_is_refused() -> None:
    env = PursuitEnv(parse(plane_file(roles={"evader": {"policy": {"rate": 5}}})))
    env.reset(seed=0)
    env.step({"pursuer_0": [0, 0], "evader_0": [0, 0]})
    with pytest.raises(ActionError, match="evader_0: its decision is not due; due now: pursuer_0"):
        env.step({"pursuer_0": [0, 0], "evader_0": [0, 0]})


def test_stepping_before_the_first_reset_is_refused() -> None:
    with pytest.raises(ActionError, match="call reset"):
        PursuitEnv(parse(grid_file())).step({})


@settings(max_examples=25, deadline=None, phases=[Phase.generate], suppress_health_check=[HealthCheck.too_slow])
@given(engagements(), st.data())
def test_odd_actions_give_clear_errors_or_finite_results(engagement: Engagement, data: st.DataObject) -> None:
    env = PursuitEnv(engagement)
    odd = st.one_of(
        st.none(), st.floats(), st.integers(-3, 12), st.lists(st.floats(-9, 9), max_size=4), st.text(max_size=2)
    )
    env.reset(seed=1)
    rng = np.random.default_rng(0)
    for _ in range(25):
        if not env.agents:
            break
        try:
            observations, rewards, *_ = env.step({agent: data.draw(odd) for agent in env.due})
        except PeError:
            observations, rewards, *_ = env.step(random_actions(env, rng))
        assert all(np.isfinite(vector).all() for vector in observations.values())
        assert all(np.isfinite(reward) for reward in rewards.values())
        assert np.isfinite(env.simulation.state.block).all()


def test_ten_thousand_starts_keep_their_distance() -> None:
    from pe_sim.simulation import Simulation

    engagement = shipped("grid_1v1")
    simulation = Simulation(engagement, 10_000)
    simulation.reset(np.full(10_000, 3), np.arange(10_000))
    x, y = simulation.state.block[0], simulation.state.block[1]
    assert (np.hypot(x[0] - x[1], y[0] - y[1]) > 3).all()
    assert ((x >= 0) & (x <= 9) & (y >= 0) & (y <= 9) & (x == np.round(x)) & (y == np.round(y))).all()
    assert len({tuple(column) for column in simulation.state.block[:2].reshape(4, -1).T.tolist()}) > 1500


def test_a_start_that_cannot_be_is_refused() -> None:
    env = PursuitEnv(parse(grid_file(world={"size": 3, "min_start_distance": 5})))
    with pytest.raises(EngagementError, match="no free place found"):
        env.reset(seed=0)


def test_what_is_masked_is_not_in_the_vector() -> None:
    """A target outside the radar's range changes no number of the observation, wherever it is."""

    sensors = {"radar": {"kind": "radar", "rate": 10, "max_range": 5}, "tracker": None, "own": None}
    pursuer = {"start": {"points": [[0, 0, 0]], "heading": [0, 0]}, "sensors": sensors}
    pursuer["policy"] = {"use": "guidance/random"}

    def seen(x: float) -> np.ndarray:
        starts = {"pursuer": pursuer, "evader": {"start": {"points": [[x, 3, 0]]}}}
        env = PursuitEnv(parse(plane_file(roles=starts, world={"min_start_distance": 0})))
        return env.reset(seed=0)[0]["pursuer_0"]

    np.testing.assert_array_equal(seen(10.0), seen(15.0))
    assert not np.array_equal(seen(1.0), seen(2.0))


def test_infos_never_reach_an_observation_and_positions_are_not_in_a_relative_one() -> None:
    names = PursuitEnv(shipped("grid_1v1")).observation_names("pursuer_0")
    assert all(name.startswith("tracker.evader_0.") or name == "tracker.age" for name in names)
