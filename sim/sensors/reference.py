"""The reference of sensors: ``python -m pe_sim.sensors.reference docs/sensors.md`` writes its tables into the page.

Without a file it prints them. Everything comes from the classes themselves.
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from pe_sim import registry
from pe_sim.sensors.base import DetectionSpec, FalseAlarmSpec, NoiseSpec, Sensor, SensorSpec, TargetSensorSpec

BEGIN, END = "<!-- begin generated -->\n", "<!-- end generated -->\n"
"""What is between these lines of a page is generated."""

SECTIONS: tuple[tuple[str, type[BaseModel]], ...] = (
    ("Every sensor", SensorSpec),
    ("`noise`, per field", NoiseSpec),
    ("Sensors of other agents", TargetSensorSpec),
    ("`detection`", DetectionSpec),
    ("`false_alarms`", FalseAlarmSpec),
)


def summary(thing: type) -> str:
    """Return the docstring of a class up to its first section, as one line per paragraph."""
    text = inspect.cleandoc(thing.__doc__ or "")
    body = re.split(r"\n\n(?=(?:Attributes|Args|Raises|Returns):)", text)[0]
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in body.split("\n\n")).replace("``", "`")


def meanings(model: type[BaseModel]) -> dict[str, str]:
    """Return field -> meaning from the "Attributes:" sections of a model and those it builds on."""
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if not issubclass(base, BaseModel):
            continue
        _, _, section = inspect.cleandoc(base.__doc__ or "").partition("Attributes:\n")
        for name, text in re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", section, flags=re.MULTILINE):
            found[name] = " ".join(text.split()).replace("``", "`")
    return found


def default_of(model: type[BaseModel], name: str) -> str:
    """Return a field's default as the file would say it."""
    field = model.model_fields[name]
    if field.is_required():
        return "required"
    value: Any = field.get_default(call_default_factory=True)
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json", exclude_defaults=True)
    else:
        value = model.model_construct(**{name: value}).model_dump(mode="json", include={name})[name]
    if value is None or value == {}:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def parameter_table(model: type[BaseModel], without: type[BaseModel] | None = None) -> list[str]:
    """Return the lines of a table of a model's fields, those of another model left out."""
    known = set() if without is None else set(without.model_fields)
    names = [name for name in model.model_fields if name not in known]
    if not names:
        return []
    told = meanings(model)
    lines = ["| parameter | default | meaning |", "|---|---|---|"]
    lines += [f"| `{name}` | {default_of(model, name)} | {told.get(name, '')} |" for name in names]
    return [*lines, ""]


def sensor_tables() -> str:
    """Return the reference of every sensor that comes with the package."""
    kinds: dict[str, type[Sensor]] = {
        name: registry.lookup("pe_sim.sensors", name) for name in registry.BUILT_IN["pe_sim.sensors"]
    }
    lines = ["| kind | of | fields | frame | hides identity by |", "|---|---|---|---|---|"]
    for name, kind in kinds.items():
        fields = ", ".join(f"`{quantity.name}` [{quantity.unit}]" for quantity in kind.quantities)
        whose = "each target" if kind.of_targets else "itself"
        orders = ", ".join(kind.orders) or "–"
        lines.append(f"| [`{name}`](#{name}) | {whose} | {fields} | {kind.frame} | {orders} |")
    lines.append("")
    for title, model in SECTIONS:
        base = SensorSpec if model is TargetSensorSpec else None
        lines += [f"### {title}", "", summary(model), "", *parameter_table(model, base)]
    for name, kind in kinds.items():
        base = TargetSensorSpec if issubclass(kind.Parameters, TargetSensorSpec) else SensorSpec
        lines += [f"### {name}", "", summary(kind), "", *parameter_table(kind.Parameters, base)]
    return "\n".join(lines)


def with_tables(page: str, tables: str) -> str:
    """Return a page with its generated part replaced."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{tables}\n{END}{after}"


def main(tables: str) -> None:
    """Print the tables, or write them into the page named on the command line."""
    if len(sys.argv) < 2:
        sys.stdout.write(tables + "\n")
        return
    page = Path(sys.argv[1])
    page.write_text(with_tables(page.read_text(encoding="utf-8"), tables), encoding="utf-8")


if __name__ == "__main__":
    main(sensor_tables())
