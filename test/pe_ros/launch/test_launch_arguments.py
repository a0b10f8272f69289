"""Arguments of the launch files: what they come to, and what is said of wrong ones. Needs no launch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pe_ros.launch_arguments import AGENT, PURSUIT_SIM, LaunchArgument, check_names, checked
from pe_ros.launch_plans import agent, bag_directory, find_engagement, pursuit_sim
from pe_sim.errors import PeError


def messages(**values: str) -> str:
    with pytest.raises(PeError) as refused:
        pursuit_sim(values)
    return str(refused.value)


@pytest.mark.parametrize("arguments", [PURSUIT_SIM, AGENT])
def test_every_argument_is_described_once_and_its_default_is_valid(arguments: tuple[LaunchArgument, ...]) -> None:
    names = [one.name for one in arguments]
    assert len(set(names)) == len(names)
    for one in arguments:
        assert one.description.endswith((".", ".'", "}'.")), one
        assert one.default is None or not one.choices or one.default in one.choices
    given = {one.name: "x" for one in arguments if one.default is None}
    assert checked(given, arguments).keys() == set(names)


def test_without_arguments_three_pursue_one() -> None:
    launch = pursuit_sim({})
    assert launch.engagement.engagement == "kinematic_3v1"
    assert [spec.executable for spec in launch.specs] == ["agent_node"] * 4 + ["sim_node"]
    assert [spec.name for spec in launch.specs] == ["pursuer_0", "pursuer_1", "pursuer_2", "evader_0", "sim"]
    assert launch.specs[-1].parameters["exit_when_done"] is True
    assert not any(spec.parameters["use_sim_time"] for spec in launch.specs)


def test_a_process_per_node() -> None:
    specs = pursuit_sim({"world": "grid", "composed": "False"}).specs
    assert [spec.name for spec in specs] == [
        *(f"{agent}_{kind}" for agent in ("pursuer_0", "evader_0") for kind in ("gate", "policy", "sensors")), "sim",
    ]  # fmt: skip
    assert all(spec.nodes == (spec.name,) for spec in specs[:-1])


def test_lockstep_and_other_factors_are_simulated_time_for_everybody() -> None:
    for values in ({"pace": "lockstep"}, {"realtime_factor": "2.0"}, {"use_sim_time": "true"}):
        specs = pursuit_sim({**values, "record": "true"}).specs
        assert all(spec.parameters["use_sim_time"] for spec in specs), values


def test_a_recorder_comes_first_and_the_referee_waits_for_it(tmp_path: Path) -> None:
    specs = pursuit_sim({"record": str(tmp_path / "bag")}).specs
    assert specs[0].executable == "recorder_node"
    assert specs[0].parameters["directory"] == str(tmp_path / "bag")
    assert specs[-1].parameters["recorder"] == specs[0].name


def test_record_true_makes_a_directory_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert bag_directory("false", "chase") == bag_directory("", "chase") == ""
    made = Path(bag_directory("True", "chase"))
    assert made.parent == tmp_path
    assert made.name.startswith("chase_20")
    assert bag_directory("bags/one", "chase") == str(tmp_path / "bags" / "one")


def test_overrides_reach_every_node_and_are_checked() -> None:
    launch = pursuit_sim({"overrides": "{rules.time_limit: 20 s, roles.pursuer.count: 1}"})
    assert launch.engagement.agents == ("pursuer_0", "evader_0")
    assert all(
        json.loads(spec.parameters["overrides"]) == {"rules.time_limit": "20 s", "roles.pursuer.count": 1}
        for spec in launch.specs
    )
    assert "unknown key 'time_limitt'; did you mean 'time_limit'?" in messages(overrides="{rules.time_limitt: 3}")
    assert "is no YAML" in messages(overrides="{")
    assert "must be a YAML mapping" in messages(overrides="rules")


def test_engagements_are_found_by_path_name_and_world(tmp_path: Path) -> None:
    shipped = find_engagement("grid_1v1", "")
    assert find_engagement("grid_1v1.yaml", "") == find_engagement("", "grid") == shipped
    assert find_engagement(str(shipped), "") == shipped
    own = tmp_path / "own.yaml"
    own.write_text(shipped.read_text())
    assert find_engagement(str(own), "") == own


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"engagement": "grid1v1"}, "did you mean 'grid_1v1'?"),
        ({"engagement": "nowhere/grid.yaml"}, "nowhere/grid.yaml"),
        ({"world": "grit"}, "no shipped engagement has this world (got 'grit'); did you mean 'grid'?"),
        ({"world": "grid", "engagement": "kinematic_3v1"}, "not the world of kinematic_3v1.yaml, which is kinematic"),
        ({"pace": "wall"}, "launch argument pace: unknown value (got 'wall')"),
        ({"seed": "one"}, "launch argument seed: must be a whole number (got 'one')"),
        ({"realtime_factor": "fast"}, "launch argument realtime_factor: must be a number (got 'fast')"),
        ({"pace": "lockstep", "use_sim_time": "false"}, "must not be false in lockstep"),
        ({"realtime_factor": "2", "use_sim_time": "false"}, "must not be false with realtime_factor 2"),
    ],
)
def test_wrong_values_are_refused(values: dict[str, str], message: str) -> None:
    assert message in messages(**values)


def test_an_unknown_argument_is_refused_with_the_nearest() -> None:
    check_names(["engagement", "seed"], PURSUIT_SIM)
    with pytest.raises(PeError, match="did you mean 'engagement'"):
        check_names(["enagement"], PURSUIT_SIM)


def test_a_viewer_that_is_not_there_is_said_not_to_be() -> None:
    assert any("there is no viewer in this version" in note for note in pursuit_sim({"viewer": "true"}).notes)
    assert not any("viewer" in note for note in pursuit_sim({}).notes)


def test_one_agent_with_its_policy_and_remapped_odometry() -> None:
    launch = agent(
        {
            "engagement": "kinematic_3v1", "agent": "pursuer_1", "odom": "/drone1/odom",
            "remap": "{evader_0/odom: /target/odom}", "policy": "guidance/proportional_navigation",
            "policy_parameters": "{gain: 4}", "autostart": "false", "watchdog": "0.5",
        }
    )  # fmt: skip
    (spec,) = launch.specs
    assert (spec.executable, spec.name) == ("agent_node", "pursuer_1")
    assert launch.remappings == [("pursuer_1/odom", "/drone1/odom"), ("evader_0/odom", "/target/odom")]
    assert spec.parameters["pace"] == "wall"
    assert spec.parameters["policy"] == "guidance/proportional_navigation"
    assert json.loads(spec.parameters["policy_parameters"]) == {"gain": 4}
    assert (spec.parameters["autostart"], spec.parameters["watchdog"]) == (False, 0.5)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"agent": "pursuer_0"}, "launch argument engagement: must be given"),
        ({"engagement": "kinematic_3v1"}, "launch argument agent: must be given"),
        ({"engagement": "kinematic_3v1", "agent": "pursuer_7"}, "no such agent in kinematic_3v1.yaml (got 'pursuer"),
        ({"engagement": "kinematic_3v1", "agent": "pursuer_0", "policy_parameters": "{gain: 4}"}, "needs a policy"),
    ],
)
def test_an_agent_that_cannot_be_is_refused(values: dict[str, str], message: str) -> None:
    with pytest.raises(PeError) as refused:
        agent(values)
    assert message in str(refused.value)
