"""``pe-ros engagement`` and ``pe-ros env``: look at engagement files and check them; works without ROS."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pe_ros.cli_errors import errors_for_people
from pe_sim.shared_files import engagement_file

engagement_app = typer.Typer(help="Look at engagement files and check them.", no_args_is_help=True)
env_app = typer.Typer(help="Check environments for classic mistakes.", no_args_is_help=True)

File = Annotated[Path, typer.Argument(metavar="FILE", help="Engagement file (YAML), or the name of a shipped one.")]


@engagement_app.command(name="list")
def list_shipped() -> None:
    """List the engagements that come with the package, each with its world and what it is."""
    from rich.table import Table

    from pe_sim.shared_files import shipped_engagements
    from pe_sim.yaml_reader import read_yaml

    table = Table("name", "world", "what it is")
    with errors_for_people():
        for name, path in shipped_engagements().items():
            data = read_yaml(path)
            table.add_row(name, str(data["world"]["backend"]), str(data.get("description", "")))
    Console().print(table)


@engagement_app.command()
def show(
    file: File, as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of YAML.")] = False
) -> None:
    """Print the file with every default filled in and every unit beside its quantity."""
    from pe_sim.engagement import load
    from pe_sim.show import as_yaml

    with errors_for_people():
        engagement = load(engagement_file(file))
        if as_json:
            typer.echo(json.dumps(engagement.resolved(), indent=2))
        else:
            typer.echo(as_yaml(engagement), nl=False)


@engagement_app.command()
def check(file: File) -> None:
    """Say whether the file can be run, policies and starts included; exit code 2 with the first fault if not."""
    import numpy as np

    from pe_sim.engagement import load
    from pe_sim.evaluation.rollout import Rollout

    with errors_for_people():
        engagement = load(engagement_file(file))
        simulation = Rollout(engagement).simulation
        simulation.reset(np.asarray([engagement.seed], np.int64), np.asarray([0], np.int64))
        simulation.close()
        Console().print(f"{file}: valid ({engagement.engagement}, {len(engagement.agents)} agents)")


@engagement_app.command()
def schema() -> None:
    """Print the JSON schema of the engagement file, for editors: every world, model, sensor and law installed."""
    from pe_sim.json_schema import json_schema

    typer.echo(json.dumps(json_schema(), indent=1, sort_keys=True))


@env_app.command(name="check")
def env_check(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="Engagement file (YAML), the name of a shipped one, or an environment of your own of the dict API, as "
            "my_env.py:MyEnv or my_package.my_env:MyEnv, which is made without arguments and played.",
        ),
    ],
    zero_sum: Annotated[
        bool, typer.Option("--zero-sum", help="Of your own environment: rewards of every step must add up to zero.")
    ] = False,
) -> None:
    """Warn about classic mistakes in an environment; exit code 1 if it found warnings."""
    from pe_sim.engagement import load
    from pe_sim.envs.check import check_engagement
    from pe_sim.envs.findings import worst
    from pe_sim.envs.named_env import check_named

    with errors_for_people():
        if ":" in str(file) and not file.exists():
            findings = check_named(str(file), zero_sum=zero_sum)
        else:
            findings = check_engagement(load(engagement_file(file)))
        for finding in findings:
            typer.echo(str(finding))
        if not findings:
            typer.echo(f"{file}: no findings")
    raise typer.Exit(1 if worst(findings) in ("error", "warning") else 0)
