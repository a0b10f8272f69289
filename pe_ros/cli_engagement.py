"""``pe-ros engagement`` and ``pe-ros env``: look at engagement files and check them; works without ROS."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
import yaml
from rich.console import Console

from pe_ros.cli_errors import errors_for_people
from pe_ros.shipped import engagement_path

engagement_app = typer.Typer(help="Look at engagement files and check them.", no_args_is_help=True)
env_app = typer.Typer(help="Check environments for classic mistakes.", no_args_is_help=True)

File = Annotated[Path, typer.Argument(metavar="FILE", help="Engagement file (YAML), or the name of a shipped one.")]


@engagement_app.command()
def show(
    file: File, as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of YAML.")] = False
) -> None:
    """Print the file with every default filled in."""
    from pe_sim.engagement import load

    with errors_for_people():
        resolved = load(engagement_path(str(file))).resolved()
        if as_json:
            typer.echo(json.dumps(resolved, indent=2))
        else:
            typer.echo(yaml.safe_dump(resolved, sort_keys=False), nl=False)


@engagement_app.command()
def check(file: File) -> None:
    """Say whether the file is valid; exit code 2 with the first fault if not."""
    from pe_sim.engagement import load

    with errors_for_people():
        engagement = load(engagement_path(str(file)))
        Console().print(f"{file}: valid ({engagement.engagement}, {len(engagement.agents)} agents)")


@env_app.command(name="check")
def env_check(file: File) -> None:
    """Warn about classic mistakes in an engagement file's environment."""
    from pe_sim.engagement import load

    with errors_for_people():
        engagement = load(engagement_path(str(file)))
        Console().print(f"{file}: {len(engagement.agents)} agents, no findings")
