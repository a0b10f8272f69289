"""``pe-ros bag``: look into bags and recover them; works without ROS."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from pe_ros.cli_errors import errors_for_people

bag_app = typer.Typer(help="Look into bags and recover them.", no_args_is_help=True)

Directory = Annotated[Path, typer.Argument(metavar="DIR", help="The bag: a directory with metadata.yaml.")]


@bag_app.callback()
def bag() -> None:
    """Look into bags and recover them."""


@bag_app.command()
def info(
    directory: Directory,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Show a bag: engagement, topics and rates, gaps in the readings, decisions and how old their readings were."""
    from pe_ros.bag.info import summarise
    from pe_ros.bag.info_table import show, to_json
    from pe_ros.bag.metadata import read

    with errors_for_people():
        columns = (TextColumn("reading"), BarColumn(), MofNCompleteColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task("", total=None)

            def tell(count: int) -> None:
                progress.update(task, completed=count)

            if directory.is_dir():
                progress.update(task, total=read(directory).message_count)
            found = summarise(directory, tell)
    if as_json:
        typer.echo(json.dumps(to_json(found), indent=2, ensure_ascii=False))
    else:
        console = Console()
        show(found, console if console.is_terminal else Console(width=140))


@bag_app.command()
def repair(
    directory: Directory,
    keep_damaged: Annotated[
        bool, typer.Option("--keep-damaged", help="Keep the damaged file beside the repaired one, as *.damaged.")
    ] = False,
) -> None:
    """Recover a bag whose recorder was killed or ran out of disk; does nothing to a healthy one."""
    from pe_ros.bag.repair import repair_bag

    with errors_for_people():
        report = repair_bag(directory, keep_damaged=keep_damaged)
    if report.was_healthy:
        typer.echo(f"{directory}: healthy, {report.messages} messages; nothing to do")
        return
    for damage in report.damage:
        typer.echo(f"at byte {damage.offset}: {damage.reason} ({damage.length} bytes)")
    what = "recovered" if report.rewrote_file else "metadata rebuilt"
    typer.echo(f"{directory}: {what}, {report.messages} messages")


Tacview = Annotated[Path, typer.Option("--tacview", metavar="FILE", help="ACMI 2.2 file to write, e.g. flight.acmi.")]
Episode = Annotated[int | None, typer.Option("--episode", min=0, help="Episode; default the first in the bag.")]


@bag_app.command()
def export(directory: Directory, output: Tacview, episode: Episode = None) -> None:
    """Export a recorded engagement for Tacview."""
    from pe_ros.bag.tacview import export as write

    with errors_for_people():
        count = write(directory, output, episode)
    typer.echo(f"{output}: {count} instants")
