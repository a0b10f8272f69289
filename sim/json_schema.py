"""JSON schema of the engagement file, with every registered world, model, sensor and obstacle, for editors.

``python -m pe_sim.json_schema FILE`` writes it; an editor with a YAML language server then completes keys, shows
what they mean, and underlines what is wrong.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic.json_schema import models_json_schema

from pe_sim import registry
from pe_sim.engagement import Engagement
from pe_sim.quantities import show_time
from pe_sim.schema import Strict
from pe_sim.sensors.base import NoiseSpec

PARTS = {
    "WorldSpec": ("pe_sim.worlds", "backend"),
    "DynamicsSpec": ("pe_sim.dynamics", "model"),
    "SensorSpec": ("pe_sim.sensors", "kind"),
    "Obstacle": ("pe_sim.obstacles", "shape"),
}
"""Section that stands for any registered part -> group of the parts, key that names the part."""

_REF = "#/$defs/"


def json_schema() -> dict[str, Any]:
    """Return the schema (JSON Schema 2020-12) of the engagement file."""
    parts = {section: _parameters(group) for section, (group, _) in PARTS.items() if group in registry.BUILT_IN}
    models: set[type[BaseModel]] = {Engagement, *(model for named in parts.values() for model in named.values())}
    ordered = sorted(models, key=lambda model: (model.__module__, model.__name__))
    names, whole = models_json_schema([(model, "validation") for model in ordered])
    definitions: dict[str, Any] = whole["$defs"]
    for model in _all_models(Strict):
        if model.__name__ in definitions:
            _describe(definitions[model.__name__], model)
            _bound(definitions[model.__name__], model)
            _default_in_seconds(definitions[model.__name__])
    for section, named in parts.items():
        places = {name: (_place(names[(model, "validation")]), model) for name, model in named.items()}
        definitions[section] = _any_of(definitions, PARTS[section][1], places)
    _allow_short_noise(definitions)
    root = definitions.pop(_place(names[(Engagement, "validation")]))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pe_ros engagement",
        **{key: value for key, value in root.items() if key != "title"},
        "$defs": dict(sorted(definitions.items())),
    }


def _parameters(group: str) -> dict[str, type[BaseModel]]:
    """Return name -> model of the section of every part of a group."""
    out = {}
    for name in registry.names(group):
        part = registry.lookup(group, name)
        out[name] = part if issubclass(part, BaseModel) else part.Parameters
    return out


def _place(reference: dict[str, Any]) -> str:
    return str(reference["$ref"]).removeprefix(_REF)


def _any_of(
    definitions: dict[str, Any], key: str, places: dict[str, tuple[str, type[BaseModel]]]
) -> dict[str, Any]:
    """Return the schema of a section that is one of several, told apart by the value of a key."""
    options = []
    for name, (place, model) in sorted(places.items()):
        section = json.loads(json.dumps(definitions[place]))
        section["properties"][key] = {"const": name, "description": f"'{name}': which {key} it is."}
        section["required"] = sorted({key, *([] if _fills_in(model) else section.get("required", []))})
        section["title"] = name
        options.append(section)
    return {"anyOf": options}


def _fills_in(model: type[BaseModel]) -> bool:
    """Return whether a section completes what the file says before it is read, e.g. from a named type."""
    validators = model.__pydantic_decorators__.model_validators
    return any(v.info.mode == "before" and name != "_refuse_unknown_keys" for name, v in validators.items())


def _all_models(base: type[BaseModel]) -> list[type[BaseModel]]:
    return [model for child in base.__subclasses__() for model in (child, *_all_models(child))]


def _describe(section: dict[str, Any], model: type[BaseModel]) -> None:
    """Put the lines of a class's docstring beside the keys they are about."""
    lines = attribute_lines(model)
    for key, schema in section.get("properties", {}).items():
        if key in lines:
            schema["description"] = lines[key]


BOUNDS = {"gt": "exclusiveMinimum", "ge": "minimum", "lt": "exclusiveMaximum", "le": "maximum"}
"""Attribute in which a mark of a field holds a bound -> what JSON Schema calls it."""


def _bound(section: dict[str, Any], model: type[BaseModel]) -> None:
    """Put the bounds of quantities beside their keys; they say nothing of text with a unit."""
    for key, field in model.model_fields.items():
        schema = section.get("properties", {}).get(key, {})
        for place in (schema, *schema.get("anyOf", ())):
            if "unit" in place:
                for mark in [*field.metadata, *_marks(field.annotation)]:
                    place.update({name: getattr(mark, at) for at, name in BOUNDS.items() if hasattr(mark, at)})


def _default_in_seconds(section: dict[str, Any]) -> None:
    """Defaults of durations are nanoseconds in memory; the file says seconds."""
    for schema in section.get("properties", {}).values():
        units = {place.get("unit") for place in (schema, *schema.get("anyOf", ()))}
        if "s" in units and isinstance(schema.get("default"), int):
            schema["default"] = show_time(schema["default"])


def _marks(annotation: Any) -> list[Any]:
    """Return what an annotation says of its type, or of those it is a choice of."""
    found: list[Any] = []
    for part in (annotation, *get_args(annotation)):
        for mark in getattr(part, "__metadata__", ()):
            found += mark.metadata if isinstance(mark, FieldInfo) else [mark]
    return found


def attribute_lines(model: type[BaseModel]) -> dict[str, str]:
    """Return key -> what the docstrings of a section and of those it builds on say about it."""
    out: dict[str, str] = {}
    for base in reversed(model.__mro__):
        _, _, attributes = (base.__doc__ or "").partition("Attributes:")
        for entry in re.split(r"\n {8}(?=\w+(?:, \w+)*: )", attributes):
            keys, _, text = entry.strip().partition(": ")
            out.update({key: " ".join(text.split()) for key in keys.split(", ") if key.isidentifier()})
    return out


def _allow_short_noise(definitions: dict[str, Any]) -> None:
    """Noise may be one number or quantity: the white part alone."""
    place = NoiseSpec.__name__
    if place in definitions:
        definitions[place] = {"anyOf": [{"type": ["number", "string"]}, definitions[place]]}


def write(path: Path) -> None:
    """Write the schema to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(json_schema(), indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
