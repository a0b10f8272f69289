"""``pe-ros``: run, roll out, check, record, study. What needs ROS says so where ROS is missing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

import pe_ros
from pe_ros.cli_bag import bag_app
from pe_ros.cli_bench import bench_app
from pe_ros.cli_compare import compare
from pe_ros.cli_engagement import engagement_app, env_app
from pe_ros.cli_errors import errors_for_people
from pe_ros.cli_policy import policy_app
from pe_ros.cli_train import evaluate, train
from pe_ros.ros_installed import require_ros
from pe_sim.errors import PeError
from pe_sim.shared_files import engagement_file

app = typer.Typer(
    name="pe-ros",
    help="Sim-to-real pursuit and evasion on ROS 2.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(bag_app, name="bag")
app.add_typer(engagement_app, name="engagement")
app.add_typer(env_app, name="env")
app.add_typer(bench_app, name="bench")
app.add_typer(policy_app, name="policy")
app.command()(train)
app.command()(evaluate)
app.command()(compare)

File = Annotated[Path, typer.Argument(metavar="FILE", help="Engagement file (YAML), or the name of a shipped one.")]
Episodes = Annotated[int, typer.Option("--episodes", "-n", min=1, help="Episodes, one after another.")]
Seed = Annotated[int | None, typer.Option("--seed", min=0, max=2**63 - 1, help="Seed of the run; default the file's.")]
Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the results as JSON.")]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Replace a key of the file, e.g. world.tick='20 ms'; repeatable."),
]
Pace = Annotated[
    str, typer.Option("--pace", help="realtime (by the clock) or lockstep (as fast as decisions come).")
]
Factor = Annotated[
    float, typer.Option("--realtime-factor", min=0.01, max=100.0, help="Engagement seconds per wall second.")
]
Record = Annotated[
    Path | None, typer.Option("--record", metavar="DIR", help="Record everything into this new bag.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no table.")]


def _version(show: bool) -> None:
    if show:
        typer.echo(f"pe-ros {pe_ros.__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Sim-to-real pursuit and evasion on ROS 2."""
    del version


def parse_changes(pairs: list[str] | None) -> dict[str, Any]:
    """Return KEY=VALUE texts as dotted keys and YAML values.

    Raises:
        PeError: if a text has no '=', or its value is no YAML.
    """
    from pe_sim.yaml_reader import parse_yaml

    changes = {}
    for pair in pairs or []:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise PeError("--set", "must be KEY=VALUE", pair)
        changes[key.strip()] = parse_yaml(value, f"--set {key.strip()}")
    return changes


def check_output(path: Path | None) -> None:
    """Refuse an output file whose directory does not exist, before any work is done.

    Raises:
        PeError: if it cannot be written.
    """
    if path is not None and not path.resolve().parent.is_dir():
        raise PeError(str(path), "its directory does not exist", cure="make the directory first")
    if path is not None and path.is_dir():
        raise PeError(str(path), "is a directory", cure="name a file")


@app.command()
def engage(  # noqa: PLR0913, PLR0917 - one parameter per option
    file: File,
    pace: Pace = "realtime",
    factor: Factor = 1.0,
    episodes: Episodes = 1,
    seed: Seed = None,
    record: Record = None,
    json_file: Json = None,
    set_keys: Set = None,
    quiet: Quiet = False,
) -> None:
    """Run an engagement on ROS 2: simulation, sensors, policies, gates and referee, composed in this process.

    Exit code 1 if a recording stopped early.
    """
    with errors_for_people():
        if pace not in ("realtime", "lockstep"):
            raise PeError("--pace", "must be realtime or lockstep", pace)
        require_ros("pe-ros engage")
        check_output(json_file)
        import json

        from pe_ros.engage import engage as run_engagement
        from pe_ros.specs import Options

        changes = parse_changes(set_keys)
        options = Options(
            engagement=str(engagement_file(file)), pace=pace, realtime_factor=factor,
            seed=-1 if seed is None else seed, episodes=episodes,
            record=str(record) if record else "", overrides=json.dumps(changes) if changes else "",
        )
        console = Console()
        results = run_engagement(options, console, progress=not quiet)
        if not quiet:
            results.print(console)
            if record:
                console.print(f"bag: {record}   (pe-ros bag info {record})")
        if json_file is not None:
            results.write_json(json_file)
        if not results.recorded:
            raise typer.Exit(1)


@app.command()
def rollout(
    file: File,
    episodes: Episodes = 1,
    seed: Seed = None,
    json_file: Json = None,
    set_keys: Set = None,
    quiet: Quiet = False,
) -> None:
    """Run an engagement in the environment, without ROS: the same trajectories as 'engage --pace lockstep'."""
    with errors_for_people():
        check_output(json_file)
        from rich.progress import track

        from pe_ros.results import Results
        from pe_sim.engagement import load
        from pe_sim.evaluation.rollout import rollout as run_episodes

        engagement = load(engagement_file(file), parse_changes(set_keys) or None)
        chosen = engagement.seed if seed is None else seed
        console = Console()
        episodes_run = run_episodes(engagement, episodes, chosen)
        if not quiet and console.is_terminal:
            episodes_run = track(episodes_run, "episodes", total=episodes, console=console, transient=True)  # type: ignore[assignment]
        results = Results(engagement, chosen, "env", list(episodes_run), requested=episodes)
        if not quiet:
            results.print(console)
        if json_file is not None:
            results.write_json(json_file)


def main() -> None:
    """Run the command line."""
    sys.exit(app())


if __name__ == "__main__":
    main()
