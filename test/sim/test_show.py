"""The published schema and the resolved file: up to date, complete, and they read back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from pe_sim import registry
from pe_sim.engagement import Engagement, override, parse
from pe_sim.json_schema import PARTS, json_schema, write
from pe_sim.show import as_yaml, unit_of
from pe_sim.worlds.base import WorldSpec
from pe_sim.yaml_reader import parse_yaml

from .files import ENGAGEMENTS, engagements, shipped

PUBLISHED = ENGAGEMENTS.parent / "schema" / "engagement.schema.json"
ALL_SHIPPED = sorted(path.stem for path in ENGAGEMENTS.glob("*.yaml"))


def test_the_published_schema_is_up_to_date(tmp_path: Path) -> None:
    write(tmp_path / "now.json")
    now = (tmp_path / "now.json").read_text()
    assert PUBLISHED.read_text() == now, f"run: python -m pe_sim.json_schema {PUBLISHED}"


def test_the_schema_knows_every_registered_part_with_its_keys() -> None:
    definitions = json_schema()["$defs"]
    for section, (group, key) in PARTS.items():
        options = {option["properties"][key]["const"]: option for option in definitions[section]["anyOf"]}
        assert sorted(options) == registry.names(group)
        for name, option in options.items():
            part = registry.lookup(group, name)
            model = getattr(part, "Parameters", part)
            assert set(option["properties"]) == set(model.model_fields)
            assert option["additionalProperties"] is False


def test_keys_are_explained_and_have_units() -> None:
    definitions = json_schema()["$defs"]
    assert "thrown" not in json.dumps(definitions)
    radius = definitions["CaptureSpec"]["properties"]["radius"]
    assert radius["unit"] == "m"
    assert definitions["ActionTiming"]["properties"]["latency"]["description"] == "from the decision to its effect [s]."
    missing = [
        f"{name}.{key}"
        for name, section in definitions.items()
        for option in section.get("anyOf", [section])
        for key, schema in option.get("properties", {}).items()
        if "description" not in schema
    ]
    assert len(missing) < 12, missing


@pytest.mark.parametrize("name", ALL_SHIPPED)
def test_shipped_files_satisfy_the_schema(name: str) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    data = parse_yaml((ENGAGEMENTS / f"{name}.yaml").read_text(), name)
    jsonschema.Draft202012Validator(json_schema()).validate(data)
    broken = {**data, "rulez": {}}
    assert not jsonschema.Draft202012Validator(json_schema()).is_valid(broken)


def test_defaults_of_the_schema_are_what_a_file_would_say() -> None:
    definitions = json_schema()["$defs"]
    assert definitions["RulesSpec"]["properties"]["time_limit"]["default"] == "60 s"
    worlds = {option["title"]: option["properties"] for option in definitions["WorldSpec"]["anyOf"]}
    assert parse_yaml(worlds["grid"]["tick"]["default"], "tick") == "0.01 s"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("world.tick", 0), ("world.min_separation", -1), ("rules.capture.radius", 0), ("rules.time_limit", -1),
        ("roles.pursuer.dynamics.max_speed", 0), ("roles.pursuer.sensors.radar.rate", 0),
        ("roles.pursuer.sensors.radar.dropout", 1.1), ("roles.pursuer.sensors.radar.latency", -1),
        ("roles.pursuer.sensors.radar.azimuth_field", 7), ("roles.pursuer.action.valid_for", 0),
        ("roles.pursuer.policy.rate", -5), ("world.obstacles", [{"shape": "circle", "center": [0, 0], "radius": -1}]),
    ],
)
def test_the_schema_knows_the_bounds_of_quantities(path: str, value: Any) -> None:
    validator = pytest.importorskip("jsonschema").Draft202012Validator(json_schema())
    data = parse_yaml((ENGAGEMENTS / "kinematic_3v1.yaml").read_text(), "shown")
    assert validator.is_valid(data)
    assert not validator.is_valid(override(data, {path: value}))


@pytest.mark.parametrize("name", ALL_SHIPPED)
def test_what_is_shown_reads_back_to_the_same_engagement(name: str) -> None:
    engagement = shipped(name)
    text = as_yaml(engagement)
    assert parse(parse_yaml(text, name)) == engagement


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(engagements())
def test_whatever_is_shown_reads_back(engagement: Engagement) -> None:
    assert parse(parse_yaml(as_yaml(engagement), "shown")) == engagement


def test_quantities_are_shown_with_their_units() -> None:
    text = as_yaml(shipped("kinematic_3v1"))
    assert "  radius: 1.5  # m" in text
    assert "  tick: 0.01 s" in text
    assert "max_speed: 10.0  # m/s" in text
    assert "rate: 20 Hz" in text
    assert unit_of(WorldSpec, "min_separation") == "m"
    assert unit_of(WorldSpec, "backend") == ""
