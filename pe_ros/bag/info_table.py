"""Shows what is in a bag: as tables for a person, as JSON for a program."""

from __future__ import annotations

import dataclasses
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pe_ros.bag.info import BagInfo, DecisionInfo, Spread
from pe_sim.timing import seconds

_SHORT_HASH = 12


def to_json(info: BagInfo) -> dict[str, Any]:
    """Return what is in a bag as plain values; durations in seconds, stamps in integer nanoseconds."""
    return {
        "directory": str(info.directory),
        "size_bytes": info.size,
        "provenance": {**dataclasses.asdict(info.provenance), "policies": dict(info.provenance.policies)},
        "start_ns": info.start,
        "duration": seconds(info.duration),
        "messages": info.messages,
        "topics": [{"topic": t.topic, "type": t.type, "count": t.count, "rate": t.rate} for t in info.topics.values()],
        "sensors": [
            {
                "agent": agent,
                "sensor": sensor,
                "readings": check.readings,
                "episodes": check.episodes,
                "missing": check.missing,
                "out_of_order": check.out_of_order,
                "lost_on_the_way": check.lost_on_the_way,
                "gaps": [dataclasses.asdict(gap) for gap in check.gaps],
            }
            for (agent, sensor), check in sorted(info.sensors.items())
        ],
        "agents": [{"agent": agent, **_decisions(d)} for agent, d in sorted(info.agents.items())],
        "episodes": [dataclasses.asdict(episode) for _, episode in sorted(info.episodes.items())],
    }


def show(info: BagInfo, console: Console) -> None:
    """Print what is in a bag."""
    console.print(_overview(info))
    console.print(_topics(info))
    for table in (_sensors(info), _agents(info), _episodes(info)):
        if table.row_count:
            console.print(table)


def _decisions(info: DecisionInfo) -> dict[str, Any]:
    def spread(values: Any) -> dict[str, float] | None:
        found = Spread.of(values)
        return None if found is None else dataclasses.asdict(found)

    return {
        "decisions": info.decisions,
        "without_reading": info.without_reading,
        "commands": info.commands,
        "interventions": info.interventions,
        "applied": info.applied,
        "age": spread(info.ages),
        "inference": spread(info.inference),
        "delay": spread(info.delays),
        "policies": sorted(info.policies),
    }


def _overview(info: BagInfo) -> Table:
    table = Table(title=escape(str(info.directory)), show_header=False, title_justify="left")
    known = info.provenance
    policies = [f"{agent}: {sha[:_SHORT_HASH]}" for agent, sha in sorted(known.policies.items())]
    rows = {
        "engagement": f"{known.engagement} ({known.engagement_sha256[:_SHORT_HASH]})" if known.engagement else "",
        "seed": "" if known.seed is None else str(known.seed),
        "clock": known.clock,
        "pace": known.pace,
        "policies": "\n".join(policies),
        "recorded by": f"pe_ros {known.pe_ros_version}" if known.pe_ros_version else "",
        "recording": known.recording,
        "dropped": str(known.dropped) if known.dropped else "",
        "lost on the way": str(known.lost) if known.lost else "",
        "duration": f"{seconds(info.duration):.3f} s",
        "messages": str(info.messages),
        "size": f"{info.size / 1e6:.2f} MB",
    }
    for name, value in rows.items():
        if value:
            table.add_row(name, escape(value))
    return table


def _topics(info: BagInfo) -> Table:
    table = Table(title="topics", title_justify="left")
    for name in ("topic", "type"):
        table.add_column(escape(name), overflow="fold")
    for name in ("count", "rate [Hz]"):
        table.add_column(escape(name), justify="right")
    for topic in sorted(info.topics.values(), key=lambda t: t.topic):
        rate = f"{topic.rate:.2f}" if topic.rate else ""
        table.add_row(escape(topic.topic), escape(topic.type), str(topic.count), rate)
    return table


def _sensors(info: BagInfo) -> Table:
    table = Table(title="readings", title_justify="left")
    for name in ("agent", "sensor"):
        table.add_column(escape(name))
    for name in ("readings", "episodes", "missing", "out of order", "lost on the way"):
        table.add_column(escape(name), justify="right")
    table.add_column("first gaps")
    for (agent, sensor), check in sorted(info.sensors.items()):
        gaps = ", ".join(f"{g.episode}: {g.first}..{g.first + g.count - 1}" for g in check.gaps[:3])
        numbers = (check.readings, check.episodes, check.missing, check.out_of_order, check.lost_on_the_way)
        table.add_row(escape(agent), escape(sensor), *map(str, numbers), gaps)
    return table


def _agents(info: BagInfo) -> Table:
    table = Table(title="decisions (median / 99 % / largest)", title_justify="left")
    table.add_column("agent")
    counted = ("decisions", "commands", "by the gate", "applied")
    for name in (*counted, "age of reading [ms]", "inference [ms]", "delay [ms]"):
        table.add_column(escape(name), justify="right")
    for agent, d in sorted(info.agents.items()):
        counts = (d.decisions, d.commands, d.interventions, d.applied)
        spreads = (d.ages, d.inference, d.delays)
        table.add_row(escape(agent), *map(str, counts), *(_milliseconds(Spread.of(values)) for values in spreads))
    return table


def _episodes(info: BagInfo) -> Table:
    table = Table(title="episodes", title_justify="left")
    for name in ("episode", "outcome", "elapsed [s]", "trajectory"):
        table.add_column(escape(name))
    for number, episode in sorted(info.episodes.items()):
        short = episode.trajectory_sha256[:_SHORT_HASH]
        table.add_row(str(number), escape(episode.outcome), f"{episode.elapsed:.3f}", short)
    return table


def _milliseconds(spread: Spread | None) -> str:
    if spread is None:
        return ""
    return " / ".join(f"{1e3 * value:.2f}" for value in (spread.median, spread.p99, spread.largest))
