"""Checkers: every fault that is planted is found, and the shipped files have none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from pe_sim.engagement import parse
from pe_sim.envs.check import check_engagement
from pe_sim.envs.check_env import check_dict_env
from pe_sim.envs.findings import Finding, worst
from pe_sim.envs.pursuit_env import PursuitEnv

from ..files import ENGAGEMENTS, SHIPPED, grid_file, plane_file, shipped  # noqa: TID252 - shared by one room


def texts(data: dict[str, Any]) -> str:
    return "\n".join(str(finding) for finding in check_engagement(parse(data)))


def test_a_file_that_cannot_run_is_an_error() -> None:
    found = check_engagement(ENGAGEMENTS / "missing.yaml")
    assert worst(found) == "error"
    found = check_engagement(parse(plane_file(roles={"pursuer": {"policy": {"use": "guidance/pure_persuit"}}})))
    assert [str(f) for f in found] == [
        "error: roles.pursuer.policy.use: there is no guidance law of this name; did you mean 'pure_pursuit'?"
    ]
    found = check_engagement(parse(plane_file(roles={"evader": {"gate": {"limits": {"xx": [0, 1]}}}})))
    assert worst(found) == "error"


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_files_have_no_errors(name: str) -> None:
    assert worst(check_engagement(shipped(name))) != "error"


def rewards(*terms: tuple[str, str, float], **more: Any) -> dict[str, Any]:
    return {"rewards": {"terms": [{"term": t, "team": team, "weight": w} for t, team, w in terms], **more}}


def test_fleeing_that_costs_more_than_capture() -> None:
    # The classic: -0.005 * speed^2 a step at 2 m/s, and 1 and a third for being caught: it pays to give up after 66.7.
    rules = rewards(("speed_squared", "evaders", -0.005), ("capture", "evaders", -4.0 / 3.0))
    slow = {"evader": {"dynamics": {"max_speed": 2}}}
    found = texts(plane_file(rules={**rules, "time_limit": "10 s"}, roles=slow))
    assert "warning: rules.rewards: fleeing costs more than capture after 66.7 steps of 200" in found
    assert "fleeing costs" not in texts(plane_file(rules={**rules, "time_limit": "3 s"}, roles=slow))  # 60 steps
    gentle = rewards(("speed_squared", "evaders", -0.0001), ("capture", "evaders", -4.0 / 3.0))
    assert "fleeing costs" not in texts(plane_file(rules={**gentle, "time_limit": "10 s"}, roles=slow))
    free = rewards(("time", "evaders", -0.01))
    assert "fleeing costs more than capture from the first step" in texts(plane_file(rules=free))


def test_four_directions_against_eight() -> None:
    four = {"evader": {"dynamics": {"moves": 4}}}
    assert "roles.evader.dynamics.moves: 4 directions against the 8 of pursuer" in texts(grid_file(roles=four))
    assert "directions" not in texts(grid_file())


def test_agents_that_see_only_themselves() -> None:
    blind = {"evader": {"sensors": {"tracker": None}, "policy": {"use": "guidance/random"}}}
    assert "warning: roles.evader.sensors: no sensor measures an opponent" in texts(plane_file(roles=blind))
    assert "no sensor" not in texts(plane_file())


def test_actions_that_expire_between_decisions() -> None:
    short = {"pursuer": {"action": {"valid_for": "60 ms"}}}
    assert "0.06 s is less than the 0.1 s between decisions" in texts(plane_file(roles=short))


def test_decisions_on_nothing_new() -> None:
    assert "20 Hz is faster than its fastest sensor (10 Hz)" in texts(
        plane_file(roles={"evader": {"policy": {"rate": 20}}})
    )


def test_captures_that_ticks_miss() -> None:
    found = texts(plane_file(rules={"capture": {"radius": 0.1}}))
    assert "rules.capture.swept: in a tick opponents pass 0.5 m of each other" in found
    assert "captures are missed" not in texts(plane_file(rules={"capture": {"radius": 0.1, "swept": True}}))


def test_engagements_decided_before_they_begin() -> None:
    assert "no faster than the fastest evader" in texts(plane_file())
    fast = {"pursuer": {"dynamics": {"max_speed": 6}}}
    assert "no faster" not in texts(plane_file(roles=fast))
    assert "too short to meet" in texts(plane_file(rules={"time_limit": "100 ms"}, world={"min_start_distance": 10}))
    assert "may start within the capture radius" in texts(plane_file(world={"min_start_distance": 0}))


def test_unbalanced_and_cut_rewards() -> None:
    uneven = rewards(("capture", "pursuers", 1.0), ("capture", "evaders", -1.05))
    assert "at capture all rewards together are -0.05, not zero" in texts(grid_file(rules=uneven))
    assert "not zero" not in texts(grid_file(rules={"rewards": {**uneven["rewards"], "zero_sum": True}}))
    assert "cuts 'capture' of team pursuers from 10 to 1" in texts(
        grid_file(rules=rewards(("capture", "pursuers", 10.0), clip=1))
    )


def test_capture_that_pays_the_evader() -> None:
    found = texts(grid_file(rules=rewards(("capture", "pursuers", 1.0), ("capture", "evaders", 0.5))))
    assert "warning: rules.rewards.terms.1.weight: 'capture' pays team evaders: it learns to seek it" in found
    found = texts(grid_file(rules=rewards(("capture", "pursuers", -1.0), ("capture", "evaders", -1.0))))
    assert "terms.0.weight: 'capture' costs team pursuers: it learns to avoid it" in found
    found = texts(grid_file(rules=rewards(("timeout", "pursuers", 1.0), ("crash", "evaders", 1.0))))
    assert "'timeout' pays team pursuers" in found
    assert "'crash' pays team evaders" in found
    assert ".weight" not in texts(grid_file(rules=rewards(("capture", "pursuers", 1.0), ("capture", "evaders", -1.0))))


def test_draws_that_decide_some_episodes() -> None:
    path = "roles.evader.dynamics.max_speed"
    found = check_engagement(shipped("kinematic_3v1", randomise={path: {"scale": [0.8, 1.24]}}))
    assert not any(finding.name == "randomise" for finding in found)
    found = check_engagement(shipped("kinematic_3v1", randomise={
        path: {"scale": [0.8, 1.2]}, "roles.pursuer.dynamics.max_speed": {"low": 9, "high": 11},
    }))
    text = "in some episodes the fastest pursuer (9 m/s) is no faster than an evader (9.6 m/s)"
    assert any(finding.text == text for finding in found)


def test_rewards_of_no_scale() -> None:
    large = ("distance", "pursuers", -1.0)
    assert "rules.rewards: 'distance' brings pursuer up to" in texts(plane_file(rules=rewards(large)))
    assert "not scaled" not in texts(plane_file(rules=rewards(large, normalise=True)))
    assert "not scaled" not in texts(plane_file(rules=rewards(large, clip=1.0)))
    assert "not scaled" not in texts(plane_file(rules=rewards(("distance", "pursuers", -0.01))))


class Planted:
    """A small dict environment with one fault of choice."""

    def __init__(self, fault: str = "") -> None:
        self.fault = fault
        dtype = np.float64 if fault == "dtype" else np.float32
        self.observation_spaces = {a: Box(-1, 1, (2,), dtype) for a in "ab"}
        self.action_spaces = {"a": Discrete(8), "b": Discrete(4 if fault == "resolution" else 8)}
        self.dtype = dtype

    def _observations(self) -> dict[str, Any]:
        value: Any = np.zeros(3 if self.fault == "shape" else 2, self.dtype)
        if self.fault == "scattered":
            value = [np.float32(0), np.zeros(1, np.float32)]
        return {"a": value, "b": value}

    def reset(self, seed: int | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
        self.count = 0
        return self._observations(), {}

    def step(self, actions: dict[str, int]) -> Any:
        assert set(actions) == {"a", "b"}
        self.count += 1
        over = self.count >= 3
        flags = {"a": over, "b": over} if self.fault == "all" else {"a": over, "b": over, "__all__": over}
        no = dict.fromkeys(flags, False)
        reward = {"unbalanced": 0.95, "nan": np.nan}.get(self.fault, 1.0)
        ends = (flags, no) if self.fault == "timeout" else (no, flags)
        return self._observations(), {"a": reward, "b": -1.0}, *ends, {}


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ("all", "'__all__' is missing"), ("unbalanced", "do not add up to zero"), ("dtype", "networks want float32"),
        ("scattered", "is in several pieces"), ("resolution", "chooses out of 4"), ("shape", "has shape (3,)"),
        ("timeout", "every episode is over after 3 steps, and the game is said to have ended"),
    ],
)  # fmt: skip
def test_classic_faults_are_found(fault: str, text: str) -> None:
    found = check_dict_env(Planted(fault), zero_sum=True)
    assert any(text in str(finding) for finding in found)
    assert len({finding.text for finding in found}) == 1


def test_rewards_that_are_no_numbers_are_found() -> None:
    assert any("are not finite" in str(finding) for finding in check_dict_env(Planted("nan")))


def test_a_sound_environment_has_none_of_them() -> None:
    assert check_dict_env(Planted(), zero_sum=True) == []
    zero_sum = shipped("grid_1v1")
    assert check_dict_env(PursuitEnv(zero_sum), zero_sum=True) == []
    assert check_dict_env(PursuitEnv(shipped("multirate_2v2", rules__time_limit="1 s"))) == []


def test_findings_say_what_and_what_to_do() -> None:
    assert str(Finding("note", "a.b", "is so", "do this")) == "note: a.b: is so; do this"
    assert worst([]) == ""
