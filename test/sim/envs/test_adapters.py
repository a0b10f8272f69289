"""Adapters: PettingZoo, RLlib, Gymnasium and the step of four values pass their own libraries' checks and agree."""

from __future__ import annotations

import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from pe_sim.engagement import parse
from pe_sim.envs.legacy import LegacyPursuit
from pe_sim.envs.pursuit_env import ALL, PursuitEnv
from pe_sim.envs.rllib import RLlibPursuit
from pe_sim.envs.single_pursuit import SinglePursuit
from pe_sim.errors import ActionError
from pe_sim.evaluation.rollout import Rollout, load_policies
from pe_sim.simulation import Simulation

from ..files import SHIPPED, grid_file, plane_file, shipped  # noqa: TID252 - shared by one room


def short(name: str) -> Any:
    return shipped(name, **({} if name == "grid_1v1" else {"rules__time_limit": "500 ms"}))


@pytest.mark.parametrize("name", SHIPPED)
def test_pettingzoo_parallel_api(name: str) -> None:
    test = pytest.importorskip("pettingzoo.test")
    from pe_sim.envs.parallel import ParallelPursuit

    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        test.parallel_api_test(ParallelPursuit(short(name)), num_cycles=150)


def test_pettingzoo_seeds() -> None:
    test = pytest.importorskip("pettingzoo.test")
    from pe_sim.envs.parallel import ParallelPursuit

    test.parallel_seed_test(lambda: ParallelPursuit(short("multirate_2v2")), num_cycles=50)


def test_pettingzoo_ignores_actions_that_are_not_due() -> None:
    pytest.importorskip("pettingzoo")
    from pe_sim.envs.parallel import ParallelPursuit

    env = ParallelPursuit(parse(plane_file(roles={"evader": {"policy": {"rate": 5}}})))
    _, infos = env.reset(seed=0)
    actions = {"pursuer_0": [0, 0], "evader_0": [0, 0]}
    assert [info["due"] for info in infos.values()] == [True, True]
    observations, _, _, _, infos = env.step(actions)
    assert set(observations) == {"pursuer_0", "evader_0"}
    assert [info["due"] for info in infos.values()] == [True, False]
    env.step({"pursuer_0": [0, 0], "evader_0": "not used"})
    with pytest.raises(ActionError, match="must be finite"):
        env.step({"pursuer_0": [np.nan, 0], "evader_0": [0, 0]})
    with pytest.raises(ActionError, match="no such agent"):
        env.step({**actions, "evader_7": [0, 0]})


@pytest.mark.parametrize("name", SHIPPED)
def test_gymnasium_checker(name: str) -> None:
    for agent in short(name).agents:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*(infinity|render|spec|normalized).*")
            check_env(SinglePursuit(short(name), agent), skip_render_check=True)


@pytest.mark.parametrize("name", SHIPPED)
def test_an_agent_that_acts_as_its_policy_would_makes_the_rollout(name: str) -> None:
    """The single-agent env with the file's own decision for the agent ends as the rollout does, tick by tick."""
    engagement = short(name)
    for agent in engagement.agents:
        role, index = engagement.role_of(agent), engagement.agents.index(agent)
        place = index - engagement.role_ranges[role][0]
        result = Rollout(engagement, 1).run([6], [1])[0]
        env = SinglePursuit(engagement, agent)
        own = load_policies(env.simulation)[role]
        env.reset(seed=6, options={"episode": 1})
        own.reset(env.simulation.roots, None)
        due = np.zeros((engagement.roles[role].count, 1), bool)
        due[place] = True
        total, over = 0.0, not env.simulation.running[0]
        while not over:
            runtime = env.simulation.roles[role]
            assert runtime.perception is not None
            now = env.simulation.now
            values = own.decide(runtime.perception.view(now), now, due)[:, place, 0]
            _, reward, terminated, truncated, info = env.step(values if not runtime.action.discrete else int(values[0]))
            total += reward
            over = terminated or truncated
        if env.simulation.running[0]:
            continue  # out of play before the engagement's end
        assert (info["outcome"], int(env.simulation.tick[0])) == (result.outcome, result.ticks)
        assert total == pytest.approx(result.rewards[agent], abs=1e-9)


def test_given_policies_replace_the_files() -> None:
    def still(simulation: Simulation, role: str) -> Any:
        from pe_sim.policies.loader import load_policy

        action = simulation.roles[role].action
        return load_policy(simulation.engagement, role, action, xp=simulation.xp, use="guidance/hold_still")

    env = SinglePursuit(parse(plane_file()), "pursuer_0", policies={"evader": still})
    env.reset(seed=0)
    start = env.simulation.state.block[:3, 1, 0].copy()
    env.step(np.zeros(2))
    env.step(np.zeros(2))
    np.testing.assert_array_equal(env.simulation.state.block[:3, 1, 0], start)


def test_single_agent_refuses_what_does_not_fit() -> None:
    env = SinglePursuit(parse(grid_file()), "evader_0")
    with pytest.raises(ActionError, match="call reset"):
        env.step(0)
    env.reset(seed=0)
    with pytest.raises(ActionError, match="must be one of 0 to 8"):
        env.step(9)


def test_ids_of_the_shipped_engagements() -> None:
    env = gymnasium.make("pe_sim.gym:Pursuit/Grid1v1-v0", agent="evader_0", disable_env_checker=True)
    observation, _ = env.reset(seed=1)
    direct, _ = SinglePursuit(shipped("grid_1v1"), "evader_0").reset(seed=1)
    np.testing.assert_array_equal(observation, direct)
    ids = {f"Pursuit/{name}-v0" for name in ("Grid1v1", "Kinematic3v1", "Multirate2v2", "File")}
    assert ids <= set(gymnasium.registry)
    by_file = gymnasium.make("pe_sim.gym:Pursuit/File-v0", engagement="kinematic_3v1", disable_env_checker=True)
    assert by_file.unwrapped.agent == "pursuer_0"  # type: ignore[attr-defined]


def test_rllib_style() -> None:
    env = RLlibPursuit({"engagement": shipped("grid_1v1"), "seed": 3})
    plain = PursuitEnv(shipped("grid_1v1"), 3)
    assert env.get_action_space("pursuer_0") == plain.action_spaces["pursuer_0"]
    assert env.get_observation_space("pursuer_0") == plain.observation_spaces["pursuer_0"]
    assert repr(env.reset(seed=3)) == repr(plain.reset(seed=3))
    over = False
    while not over:
        actions = dict.fromkeys(plain.due, 1)
        result = env.step(actions)
        assert repr(result) == repr(plain.step(actions))
        assert env.agents == plain.agents
        over = result[2][ALL] or result[3][ALL]


def test_four_values() -> None:
    env = LegacyPursuit(parse(grid_file(rules={"capture": {"radius": 0.5}, "max_step": 2})))
    env.seed(4)
    first = env.reset()
    plain, _ = PursuitEnv(env.env.engagement).reset(seed=4)
    assert repr(first) == repr(plain)
    still = {"pursuer_0": 0, "evader_0": 0}
    observations, rewards, dones, infos = env.step(still)
    assert dones == {"pursuer_0": False, "evader_0": False, ALL: False}
    observations, rewards, dones, infos = env.step(still)
    assert dones == {"pursuer_0": True, "evader_0": True, ALL: True}
    assert infos["evader_0"]["TimeLimit.truncated"] is True
    assert set(observations) == set(rewards) == {"pursuer_0", "evader_0"}
