"""The reference of guidance.

``python -m pe_sim.guidance.reference docs/guidance.md`` writes its tables into the page; without a file it prints them.
"""

from __future__ import annotations

import inspect
import re

from pe_sim import registry
from pe_sim.guidance.base import Guidance, GuidanceSpec
from pe_sim.sensors.reference import main, parameter_table, summary


def source_of(law: type[Guidance]) -> str:
    """Return the literature that a law's module names."""
    text = inspect.cleandoc(inspect.getmodule(law).__doc__ or "")
    paragraphs = [" ".join(part.split()) for part in text.split("\n\n")[1:]]
    return " ".join(part for part in paragraphs if re.search(r"\b(19|20)\d\d\b", part))


def law_tables() -> str:
    """Return the reference of every law that comes with the package."""
    laws: dict[str, type[Guidance]] = {
        name: registry.lookup("pe_sim.guidance", name) for name in registry.BUILT_IN["pe_sim.guidance"]
    }
    lines = ["| law | formula | must know |", "|---|---|---|"]
    lines += [f"| [`{name}`](#{name}) | {law.formula} | {law.needs} |" for name, law in laws.items()]
    lines.append("")
    for name, law in laws.items():
        source = source_of(law)
        lines += [f"### {name}", "", summary(law), ""]
        lines += [f"Source: {source}", ""] if source else []
        lines += parameter_table(law.Parameters, GuidanceSpec)
    return "\n".join(lines)


if __name__ == "__main__":
    main(law_tables())
