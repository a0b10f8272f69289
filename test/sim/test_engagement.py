"""The engagement file: what it accepts, what it refuses with path, rule, value and cure, and that it never crashes."""

from __future__ import annotations

import contextlib
import copy
import json
import math
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pe_sim.engagement import Engagement, load, override, parse
from pe_sim.errors import EngagementError, PeError

from .files import ENGAGEMENTS, SHIPPED, engagements, files, grid_file, merged, plane_file, shipped

CIRCLE = {"shape": "circle", "center": [0, 0], "radius": 1}

DOUBLE = {"model": "double_integrator", "max_speed": 5}


def fault_of(data: Any) -> EngagementError:
    with pytest.raises(EngagementError) as caught:
        parse(data, "file.yaml")
    return caught.value


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_files_are_valid_and_resolve_to_themselves(name: str) -> None:
    engagement = shipped(name)
    again = parse(json.loads(json.dumps(engagement.resolved())))
    assert again == engagement
    assert again.sha256 == engagement.sha256


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(engagements())
def test_what_is_resolved_reads_back_the_same(engagement: Engagement) -> None:
    text = yaml.safe_dump(engagement.resolved())
    assert parse(yaml.safe_load(text)) == engagement


def test_hash_ignores_the_seed_and_the_way_of_writing_only() -> None:
    data = plane_file()
    same = merged(data, {"seed": 99, "world": {"tick": 0.05}, "rules": {"time_limit": "3000 ms"}})
    assert parse(same).sha256 == parse(data).sha256
    assert parse(merged(data, {"rules": {"time_limit": "3001 ms"}})).sha256 != parse(data).sha256


def test_agents_are_named_by_role_and_number() -> None:
    engagement = shipped("kinematic_3v1")
    assert engagement.agents == ("pursuer_0", "pursuer_1", "pursuer_2", "evader_0")
    assert engagement.role_of("pursuer_2") == "pursuer"
    assert engagement.role_ranges == {"pursuer": (0, 3), "evader": (3, 4)}
    assert engagement.teams == ("pursuers",) * 3 + ("evaders",)
    with pytest.raises(EngagementError, match="did you mean 'pursuer_0'"):
        engagement.role_of("persuer_0")


@pytest.mark.parametrize(
    ("changes", "path", "rule"),
    [
        ({"wrold": {}}, "wrold", "unknown key 'wrold'; did you mean 'world'?"),
        ({"world": {"tik": 1}}, "world.tik", "did you mean 'tick'?"),
        ({"world": {"backend": "kinematics"}}, "world", "did you mean 'kinematic'?"),
        ({"world": {"backend": None}}, "world", "needs the key 'backend'"),
        ({"world": {"tick": "20 m"}}, "world.tick", "wrong unit"),
        ({"world": {"tick": 0}}, "world.tick", "greater than 0"),
        ({"world": {"arena": {"low": [0, 0]}}}, "world.arena.low.2", "is required: a list of 3 or more"),
        ({"world": {"arena": {"low": [50, 0, 0]}}}, "world.arena", "low must be below high"),
        ({"world": {"obstacles": [{"shape": "cirle"}]}}, "world.obstacles.0", "did you mean 'circle'?"),
        ({"rules": {"capture": {"radius": -1}}}, "rules.capture.radius", "greater than 0"),
        ({"rules": {"capture": {"radius": float("nan")}}}, "rules.capture.radius", "finite"),
        (
            {"rules": {"pursuers": "purs"}},
            "",
            "rules.pursuers: no role belongs to the team 'purs'; did you mean 'pursuers'?",
        ),
        ({"rules": {"pursuers": "evaders"}}, "rules", "two teams"),
        ({"rules": {"max_step": 6_000_000}}, "", "must be 1 to 5,000,000 ticks"),
        ({"rules": {"max_step": 10**6}, "world": {"tick": "2 day"}}, "", "must not be longer"),
        ({"rules": {"max_step": 6_000_000}}, "", "rules.max_step: must be"),
        ({"rules": {"capture": {"by": "raduis"}}}, "rules.capture.by", "must be 'radius', 'encirclement' or 'zone'"),
        ({"rules": {"rewards": {"terms": "capture"}}}, "rules.rewards.terms", "must be a list"),
        ({"rules": {"rewards": 5}}, "rules.rewards", "must be a mapping of keys"),
        ({"world": {"obstacles": [CIRCLE, {**CIRCLE, "radius": -1}]}}, "world.obstacles.1.radius", "greater than 0"),
        (
            {"world": {"obstacles": [{"shape": "wall", "points": [[0, 0]], "thickness": 1}]}},
            "world.obstacles.0.points", "needs at least 2",
        ),
        ({"roles": {"pursuer": {"team": ""}}}, "roles.pursuer.team", "at least 1 character"),
        ({"roles": {"pursuer": {"policy": {"use": ""}}}}, "roles.pursuer.policy.use", "at least 1 character"),
        ({"roles": {"pursuer": {"start": {"heading": ["1 m", 2]}}}}, "roles.pursuer.start.heading.0", "wrong unit"),
        (
            {"roles": {role: {"start": {"points": [[0, 0, 0]]}} for role in ("pursuer", "evader")}}, "",
            "roles.evader.start.points: evader_0 starts 0 m from pursuer_0; must be more than 5 m",
        ),
        ({"seed": -1}, "seed", "greater than or equal to 0"),
        ({"seed": 1.5}, "seed", "valid integer"),
        ({"engagement": "1 to 1"}, "engagement", "pattern"),
        ({"roles": {"pursuer": {"count": 0}}}, "roles.pursuer.count", "greater than or equal to 1"),
        ({"roles": {"pursuer": {"count": 2.5}}}, "roles.pursuer.count", "valid integer"),
        ({"roles": {"pursuer": {"teem": "x"}}}, "roles.pursuer.teem", "did you mean 'team'?"),
        (
            {"roles": {"pursuer": {"dynamics": {"model": "double_integrater"}}}},
            "roles.pursuer.dynamics",
            "did you mean 'double_integrator'?",
        ),
        (
            {"roles": {"pursuer": {"dynamics": {"max_sped": 1}}}},
            "roles.pursuer.dynamics.max_sped",
            "did you mean 'max_speed'?",
        ),
        (
            {"roles": {"pursuer": {"dynamics": {"model": "grid_mover", "max_speed": None, "max_acceleration": None}}}},
            "",
            "belongs to the world grid",
        ),
        (
            {"roles": {"pursuer": {"sensors": {"tracker": {"rte": 3}}}}},
            "roles.pursuer.sensors.tracker.rte",
            "did you mean 'rate'?",
        ),
        (
            {"roles": {"pursuer": {"sensors": {"tracker": {"rate": "3 s"}}}}},
            "roles.pursuer.sensors.tracker.rate",
            "wrong unit",
        ),
        (
            {"roles": {"pursuer": {"sensors": {"tracker": {"kind": "radr"}}}}},
            "roles.pursuer.sensors.tracker",
            "did you mean 'radar'?",
        ),
        (
            {"roles": {"pursuer": {"sensors": {"tracker": {"dropout": 2}}}}},
            "roles.pursuer.sensors.tracker.dropout",
            "less than or equal to 1",
        ),
        (
            {"roles": {"pursuer": {"sensors": {"tracker": {"rate": 30}}}}},
            "",
            "roles.pursuer.sensors.tracker.rate: faster than the world's tick",
        ),
        ({"roles": {"pursuer": {"sensors": {"tracker": {"noise": {"q": 1}}}}}}, "", "no such field"),
        (
            {"roles": {"pursuer": {"sensors": {"bad-name": {"kind": "radar", "rate": 1}}}}},
            "roles.pursuer.sensors.bad-name",
            "part of topic names",
        ),
        ({"roles": {"pursuer": {"sensors": {"tracker": {"targets": "evaders"}}}}}, "", "did you mean 'evader'?"),
        ({"roles": {"pursuer": {"policy": {"rate": None}}}}, "roles.pursuer.policy", "either 'rate' or 'decide_on'"),
        ({"roles": {"pursuer": {"policy": {"decide_on": "own"}}}}, "roles.pursuer.policy", "and not both"),
        (
            {"roles": {"pursuer": {"policy": {"rate": None, "decide_on": "trackr"}}}},
            "roles.pursuer",
            "did you mean 'tracker'?",
        ),
        (
            {"roles": {"pursuer": {"action": {"on_expiry": "stopp"}}}},
            "roles.pursuer.action.on_expiry",
            "'hold', 'coast' or 'stop'",
        ),
        ({"roles": {"pursuer": {"start": {"speed": [3, 1]}}}}, "roles.pursuer.start", "must not exceed"),
        ({"roles": {"pursuer": {"start": {"points": [[99, 0, 0]]}}}}, "", "outside the arena"),
        ({"roles": {"pursuer": {"start": {"points": [[1, 0, 0], [2, 0, 0]]}}}}, "roles.pursuer", "one point per agent"),
        ({"roles": {"two__bars": {}}}, "roles.two__bars", None),
        ({"roles": {"pursuer": 3}}, "roles.pursuer", None),
    ],
)
def test_a_wrong_file_says_where_and_why(changes: dict[str, Any], path: str, rule: str | None) -> None:
    fault = fault_of(merged(plane_file(), changes))
    if rule is None:
        assert fault.name.startswith(f"file.yaml: {path}")
    else:
        assert fault.name == (f"file.yaml: {path}" if path else "file.yaml")
        assert rule in fault.rule


def test_an_engagement_without_roles_is_refused() -> None:
    assert fault_of({**plane_file(), "roles": {}}).name == "file.yaml: roles"


def test_the_value_stands_in_the_error() -> None:
    fault = fault_of(merged(plane_file(), {"roles": {"pursuer": {"count": -3}}}))
    assert fault.value == -3
    assert str(fault) == "file.yaml: roles.pursuer.count: must be greater than or equal to 1 (got -3)"


def test_a_misspelt_word_of_a_few_names_the_nearest() -> None:
    fault = fault_of(merged(plane_file(), {"world": {"arena": {"edge": "bounse"}}}))
    assert fault.cure == "did you mean 'bounce'?"


def test_a_value_of_any_length_makes_a_short_error() -> None:
    for value in (10**99, "x" * 5000):
        assert len(str(fault_of(merged(plane_file(), {"world": {"tick": value}})))) < 300


def test_starts_are_quantities_too() -> None:
    start = {"heading": ["-90 deg", "0.5 turn"], "speed": ["3.6 km/h", 2]}
    got = parse(merged(plane_file(), {"roles": {"pursuer": {"start": start}}})).roles["pursuer"].start
    assert got.heading == pytest.approx((-math.pi / 2, math.pi))
    assert got.speed == pytest.approx((1.0, 2.0))


def test_several_faults_are_counted() -> None:
    fault = fault_of(merged(plane_file(), {"seed": -3, "rules": {"capture": {"radius": -1}}}))
    assert "1 more fault" in fault.cure


def test_integers_stand_for_floats() -> None:
    engagement = parse(plane_file(rules={"capture": {"radius": 2}}))
    assert isinstance(engagement.rules.capture.radius, float)


@pytest.mark.parametrize("data", [None, 3, "text", [], [{"engagement": "x"}], {}, {1: 2}, {"engagement": "x"}])
def test_plain_data_that_is_no_engagement(data: Any) -> None:
    assert fault_of(data).name.startswith("file.yaml")


LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("10 Hz") | st.just("grid")
)
KEYS = st.sampled_from(
    ["world", "roles", "rules", "engagement", "backend", "sensors", "policy", "rate", "count"]
) | st.text(max_size=5)
JUNK = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)


@settings(max_examples=400, deadline=None)
@given(JUNK)
def test_junk_is_refused_without_a_traceback(junk: Any) -> None:
    with pytest.raises(EngagementError):
        parse(junk)


def paths_of(data: Any, prefix: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(data, dict):
        return [p for key, value in data.items() for p in [(*prefix, key), *paths_of(value, (*prefix, key))]]
    if isinstance(data, list):
        return [p for i, value in enumerate(data) for p in [(*prefix, i), *paths_of(value, (*prefix, i))]]
    return []


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(files(), st.data())
def test_a_valid_file_with_one_value_replaced_is_read_or_refused(data: dict[str, Any], more: st.DataObject) -> None:
    path = more.draw(st.sampled_from(paths_of(data)))
    section = data = copy.deepcopy(data)  # parts of a drawn file are shared with other files
    for key in path[:-1]:
        section = section[key]
    section[path[-1]] = more.draw(JUNK)
    with contextlib.suppress(PeError):
        parse(data)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=200) | st.binary(max_size=200))
def test_any_file_is_read_or_refused(tmp_path: Path, content: str | bytes) -> None:
    path = tmp_path / "junk.yaml"
    path.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
    with pytest.raises(EngagementError):
        load(path)


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("missing.yaml", "cannot be read: No such file"),
        (".", "cannot be read: Is a directory"),
        ("nul\0.yaml", "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path: Path, name: str, rule: str) -> None:
    with pytest.raises(EngagementError, match=rule):
        load(f"{tmp_path}/{name}")


def test_changes_replace_dotted_keys_and_leave_the_data_alone() -> None:
    data = plane_file()
    changed = override(data, {"world.tick": "20 ms", "roles.pursuer.count": 2, "rules.rewards.zero_sum": True})
    assert data == plane_file()
    assert parse(changed).world.tick == 20_000_000
    assert parse(changed).roles["pursuer"].count == 2
    with pytest.raises(EngagementError, match="not a section"):
        override(data, {"world.tick.x": 1})


def test_a_misspelt_change_names_the_nearest_key() -> None:
    with pytest.raises(EngagementError, match="did you mean 'tick'"):
        load(ENGAGEMENTS / "grid_1v1.yaml", {"world.tck": 1})


def test_a_grid_start_must_be_a_free_cell() -> None:
    fault = fault_of(grid_file(world={"obstacles": [[1, 1]]}, roles={"pursuer": {"start": {"points": [[1, 1, 0]]}}}))
    assert "no free cell" in fault.rule
