"""``pe-ros policy``: look at policy bundles, check and export them; works without ROS."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from pe_ros.cli_errors import errors_for_people
from pe_sim.shared_files import engagement_file

if TYPE_CHECKING:
    from pe_sim.policies.bundle import Bundle

policy_app = typer.Typer(help="Look at policy bundles, check and export them.", no_args_is_help=True)

BundlePath = Annotated[Path, typer.Argument(metavar="BUNDLE", help="Directory of a policy bundle, or policies/<name>.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@policy_app.command()
def show(bundle: BundlePath, as_json: AsJson = False) -> None:
    """Print what a bundle holds: contract, network, provenance, evaluation."""
    from pe_sim.policies.bundle import read
    from pe_sim.policies.loader import bundle_directory

    with errors_for_people():
        found = read(bundle_directory(str(bundle)))
        if as_json:
            typer.echo(json.dumps(found.description.model_dump(mode="json"), indent=2))
        else:
            _print(found, Console())


def _print(bundle: Bundle, console: Console) -> None:
    described = bundle.description
    contract, network = described.contract, described.network
    numbers = sum(values.size for values in bundle.weights.values())
    memory = "" if network.recurrent == "none" else f", {network.recurrent} of {network.memory}"
    rows: list[tuple[str, str]] = [
        ("role", described.role),
        ("decides", f"at {contract.rate} Hz" if contract.rate else f"on each reading of {contract.decide_on}"),
        ("action", f"{contract.action.kind}: {', '.join(contract.action.names)}, latency {_seconds(contract.action)}"),
        ("network", f"{described.members} x hidden {list(network.hidden)}{memory}, {numbers:,} numbers"),
        ("flies", "the most probable action" if described.deterministic else "a draw of its distribution"),
        ("sha256", described.sha256),
    ]
    rows += [(f"provenance.{key}", str(value)) for key, value in described.provenance.items()]
    rows += [(f"evaluation.{key}", str(value)) for key, value in described.evaluation.items()]
    table = Table("", str(bundle.path), show_header=True, box=None)
    for key, text in rows:
        table.add_row(key, text)
    console.print(table)
    sensors = Table("sensor", "kind", "frame", "rate", "latency", "values", box=None)
    for sensor in contract.sensors:
        plain = sensor.model_dump(mode="json")
        values = ", ".join(sensor.fields)
        sensors.add_row(sensor.name, sensor.kind, sensor.frame, plain["rate"], plain["latency"], values)
    console.print(sensors)


def _seconds(section: Any) -> str:
    return str(section.model_dump(mode="json")["latency"])


@policy_app.command()
def check(
    bundle: BundlePath,
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="Engagement file it is to fly in, or a shipped one's name.")
    ] = None,
    role: Annotated[str | None, typer.Option("--role", help="Role it is to fly; default the one it was made for.")]
    = None,
    accept: Annotated[
        list[str] | None, typer.Option("--accept", help="Differences to accept: dynamics, latency, rate; repeatable.")
    ] = None,
) -> None:
    """Say whether a bundle is whole and fits the agents of an engagement; exit code 2 with the differences if not."""
    from pe_sim.errors import EngagementError
    from pe_sim.policies.bundle import read
    from pe_sim.policies.loader import bundle_directory

    with errors_for_people():
        found = read(bundle_directory(str(bundle)))
        console = Console()
        console.print(f"{bundle}: whole, hashes hold, no code ({found.description.sha256[:12]})")
        if file is None:
            return
        from pe_sim.engagement import load
        from pe_sim.policies.describe import context_for
        from pe_sim.policies.runner import load as load_bundle
        from pe_sim.schema import nearest

        engagement = load(engagement_file(file))
        chosen = role or found.description.role
        if chosen not in engagement.roles:
            raise EngagementError(f"{file}: roles", "no such role", chosen, nearest(chosen, engagement.roles))
        policy = load_bundle(found.path, context_for(engagement, chosen), {"accept": accept or []})
        policy.warm_up()
        console.print(f"{bundle}: fits {chosen} of {engagement.engagement}")


@policy_app.command()
def export(
    bundle: BundlePath,
    decisions: Annotated[
        int, typer.Option("--decisions", min=0, help="How many to take the latencies of; 0 leaves them out.")
    ] = 2000,
    as_json: AsJson = False,
) -> None:
    """Write policy.onnx into a bundle: raw observations in, actions out; refused if it differs from torch by 1e-5."""
    from pe_sim.learning.requirement import require_torch
    from pe_sim.policies.bundle import read
    from pe_sim.policies.export import export as write_graph
    from pe_sim.policies.loader import bundle_directory

    with errors_for_people():
        require_torch("pe-ros policy export")
        result = write_graph(read(bundle_directory(str(bundle))), decisions=decisions)
        if as_json:
            plain = {**asdict(result), "path": str(result.path)}
            typer.echo(json.dumps(plain, indent=2))
            return
        console = Console()
        console.print(
            f"{result.path}: differs from torch by at most {result.difference:.1e} "
            f"over {result.observations} observations, extreme ones among them"
        )
        if result.latency:
            table = Table("one decision of one agent, one thread", "p50", "p99", box=None)
            for name, figures in result.latency.items():
                table.add_row(name, f"{figures['p50']:.1f} us", f"{figures['p99']:.1f} us")
            console.print(table)
