"""``pe-ros train`` and ``pe-ros evaluate``: learn policies, and measure what policies achieve; work without ROS."""

from __future__ import annotations

import json
import math
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from pe_ros.cli_errors import errors_for_people
from pe_sim.errors import PeError
from pe_sim.schema import nearest
from pe_sim.shared_files import engagement_file, training_file

if TYPE_CHECKING:
    from pe_sim.engagement import Engagement
    from pe_sim.evaluation.evaluate import Evaluation
    from pe_sim.learning.kinds import AnyTrainer
    from pe_sim.learning.tournament import Standings
    from pe_sim.learning.trainer import Progress as Standing

Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the figures as JSON.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no table.")]

PATIENCE = 1.0
"""How long something may take before it is shown how far it is [s]."""


def train(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Training file (YAML), or the name of a shipped one.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Directory of checkpoint and bundles; default runs/<name>.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint that lies there.")] = False,
    steps: Annotated[int | None, typer.Option("--steps", min=1, help="World ticks to train for, all together.")] = None,
    json_file: Json = None,
    quiet: Quiet = False,
) -> None:
    """Train policies as a file says; writes a checkpoint and a policy bundle per role. Ctrl-C saves and ends."""
    with errors_for_people():
        from pe_sim.learning.requirement import require_torch

        require_torch("pe-ros train")
        from pe_ros.cli import check_output
        from pe_sim.learning.kinds import load_any, trainer_of
        from pe_sim.learning.run_directory import held
        from pe_sim.learning.trainer import CHECKPOINT

        check_output(json_file)
        path = training_file(file)
        spec = load_any(path)
        if steps is not None:
            spec = spec.model_copy(update={"steps": steps})
        directory = output or Path("runs") / spec.training
        checkpoint = directory / CHECKPOINT
        if resume and not checkpoint.exists():
            raise PeError(str(checkpoint), "there is no checkpoint to go on from", cure="leave --resume out")
        engagement, console = spec.load_engagement(path.parent), Console()
        with held(directory):
            if checkpoint.exists() and not resume:
                raise PeError(str(directory), "holds a training already", cure="give --resume, or another --output")
            trainer = trainer_of(spec, engagement, directory)
            try:
                if resume:
                    with _bar(console, quiet, "going back to where it stopped") as done:
                        trainer.resume(checkpoint, done)
                finished = _run(trainer, console, quiet)
                _conclude(trainer, console, finished=finished, quiet=quiet, json_file=json_file)
            finally:
                trainer.close()


@contextmanager
def _bar(console: Console, quiet: bool, text: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar once something takes its time; give what is to be told how much is done of how much."""
    begin = time.monotonic()
    with Progress(console=console, disable=quiet, transient=True) as bar:
        task = bar.add_task(text, visible=False)
        yield lambda done, total: bar.update(
            task, completed=done, total=total, visible=time.monotonic() - begin > PATIENCE
        )


def _run(trainer: AnyTrainer, console: Console, quiet: bool) -> bool:
    """Train with a progress bar; return whether the training came to its end."""
    from pe_sim.learning.board import Board

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[text]}"), TimeRemainingColumn())
    with _until_interrupted() as interrupted, Progress(*columns, console=console, disable=quiet) as bar:
        board = Board(trainer.directory, trainer.steps)
        task = bar.add_task(trainer.spec.training, total=trainer.spec.steps, completed=trainer.steps, text="")

        def report(standing: Standing) -> bool:
            bar.update(task, completed=standing.steps, text=_line(standing))
            board.write(standing.steps, {**standing.figures, "steps_per_second": standing.steps_per_second})
            return not interrupted

        try:
            trainer.run(report)
        finally:
            board.close()
    return trainer.done


def _line(standing: Standing) -> str:
    figures = standing.figures
    text = f"{standing.steps_per_second:,.0f} steps/s"
    if "capture" in figures:
        text += f"  capture {figures['capture']:.0%}  duration {figures['duration']:.1f} s"
    for name, value in figures.items():
        team, _, what = name.rpartition("/")
        if what == "elo":
            pool = figures.get(f"{team}/pool")
            text += f"  {team} Elo {value:.0f}" + ("" if pool is None else f", {pool:.0f} in the pool")
    return text


@contextmanager
def _until_interrupted() -> Iterator[list[int]]:
    """Collect SIGINT and SIGTERM, so that the update under way is finished and saved; the second one ends at once."""
    heard: list[int] = []

    def hear(number: int, frame: Any) -> None:
        del frame
        if heard:
            raise KeyboardInterrupt
        heard.append(number)

    before = {number: signal.signal(number, hear) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _conclude(trainer: AnyTrainer, console: Console, *, finished: bool, quiet: bool, json_file: Path | None) -> None:
    """Evaluate and write the bundles where the training is done, and the figures in any case."""
    evaluation = None
    bundles = trainer.write_bundles()
    if finished and trainer.spec.evaluate_episodes:
        from pe_sim.evaluation.evaluate import evaluate as measure

        flown = trainer.flown_by({role: bundle.path for role, bundle in bundles.items()})
        episodes, seed = trainer.spec.evaluate_episodes, trainer.spec.seed + 1_000_003
        with _bar(console, quiet, "unseen episodes") as done:
            evaluation = measure(flown, episodes, seed, progress=lambda number: done(number, episodes)).as_dict()
        evaluation.pop("policies")
        bundles = trainer.write_bundles(evaluation)
    if json_file is not None:
        plain = {
            "training": trainer.spec.training, "finished": finished, "history": trainer.history,
            "evaluation": evaluation, "bundles": {role: str(bundle.path) for role, bundle in bundles.items()},
        }
        write_json(json_file, plain)
    if quiet:
        return
    if not finished:
        console.print(f"saved after {trainer.steps:,} steps; go on with --resume")
    for role, bundle in bundles.items():
        console.print(f"bundle of {role}: {bundle.path}   (pe-ros policy show {bundle.path})")
    if evaluation is not None:
        time = evaluation["mean_time_to_capture"]
        shown = "-" if time is None else f"{time:.2f} s"
        console.print(f"capture {evaluation['capture_rate']:.1%}, mean time to capture {shown}")


def evaluate(  # noqa: PLR0913, PLR0917 - one parameter per option
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Engagement file (YAML), or a shipped one's name.")],
    episodes: Annotated[int, typer.Option("--episodes", "-n", min=1, help="Unseen episodes.")] = 100,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, max=2**63 - 1, help="Seed of the run; default the file's.")
    ] = None,
    set_keys: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Replace a key of the file; repeatable.")
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option("--policy", metavar="ROLE=POLICY", help="Fly a bundle or guidance/<name> in a role; repeatable."),
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="One against one on a grid: the exact value, and what each policy loses.")
    ] = False,
    elo: Annotated[
        Path | None,
        typer.Option(
            "--elo", metavar="DIR", help="Instead, rate the members of a training's pools: everybody against everybody."
        ),
    ] = None,
    members: Annotated[int, typer.Option("--members", min=1, help="With --elo: most members of a team.")] = 8,
    json_file: Json = None,
    quiet: Quiet = False,
) -> None:
    """Measure what policies achieve: capture rate and time to capture, with 95 % intervals."""
    with errors_for_people():
        from pe_ros.cli import check_output, parse_changes
        from pe_sim.engagement import load
        from pe_sim.evaluation.evaluate import evaluate as measure
        from pe_sim.evaluation.grid_policy import exact_figures

        changes = parse_changes(set_keys)
        changes = _flown(policy or [], load(engagement_file(file), changes or None).roles) | changes
        engagement = load(engagement_file(file), changes or None)
        console = Console()
        check_output(json_file)
        if elo is not None:
            standings = _tournament(engagement, elo, members, episodes, seed, quiet=quiet)
            if not quiet:
                _print_standings(standings, console)
            if json_file is not None:
                write_json(json_file, standings.as_dict())
            return
        figures = exact_figures(engagement) if exact else {}
        with Progress(console=console, disable=quiet or not console.is_terminal, transient=True) as bar:
            task = bar.add_task("episodes", total=episodes)
            result = measure(engagement, episodes, seed, progress=lambda done: bar.update(task, completed=done))
        if not quiet:
            _print(result, console)
            for name, value in figures.items():
                shown = f"{value:.3f} steps" if math.isfinite(value) else "without end"
                console.print(f"{name.replace('_', ' ')}: {shown}")
        if json_file is not None:
            plain = {name: value if math.isfinite(value) else None for name, value in figures.items()}
            write_json(json_file, {**result.as_dict(), **({"exact": plain} if exact else {})})


def _tournament(
    engagement: Engagement, directory: Path, members: int, episodes: int, seed: int | None, *, quiet: bool
) -> Standings:
    """Let the members of a training's pools play each other."""
    from pe_sim.learning.tournament import read_pools, tournament

    pools, how = read_pools(directory, members)
    console = Console()
    with Progress(console=console, disable=quiet or not console.is_terminal, transient=True) as bar:
        pairs = math.prod(len(pools.get(team, [])) for team in (engagement.rules.pursuers, engagement.rules.evaders))
        task = bar.add_task("pairs", total=pairs)
        return tournament(
            engagement, pools, how, episodes, seed, progress=lambda done: bar.update(task, completed=done)
        )


def _print_standings(standings: Standings, console: Console) -> None:
    for number, (team, names) in enumerate(standings.names.items()):
        table = Table(team, "Elo", "score", title=f"{standings.episodes} episodes a pair", box=None)
        means = standings.scores.mean(axis=1) if number == 0 else 1.0 - standings.scores.mean(axis=0)
        for name, rating, mean in zip(names, standings.ratings[team], means, strict=True):
            table.add_row(name, f"{rating:.0f}", f"{mean:.1%}")
        console.print(table)


def _flown(pairs: list[str], roles: Iterable[str]) -> dict[str, Any]:
    """Return the changes of an engagement that pairs ROLE=POLICY mean."""
    from pe_sim.engagement import policy_changes

    uses: dict[str, str] = {}
    for pair in pairs:
        role, equals, use = pair.partition("=")
        if not equals:
            raise PeError("--policy", "must be ROLE=POLICY", pair)
        if role not in roles:
            raise PeError("--policy", "names no role of the engagement", role, nearest(role, roles))
        uses[role] = use
    return policy_changes(uses)


def _print(result: Evaluation, console: Console) -> None:
    table = Table("", "", "95 % interval", title=f"{result.engagement}, {result.episodes} episodes", box=None)
    low, high = result.capture_interval
    table.add_row("capture rate", f"{result.capture_rate:.1%}", f"{low:.1%} to {high:.1%}")
    if result.mean_time_to_capture is not None:
        span = result.time_interval
        text = "" if span is None else f"{span[0]:.2f} to {span[1]:.2f} s"
        table.add_row("mean time to capture", f"{result.mean_time_to_capture:.2f} s", text)
    for name, count in result.outcomes.items():
        table.add_row(f"ended by {name}", str(count), "")
    console.print(table)


def write_json(path: Path, plain: Any) -> None:
    """Write plain data as JSON.

    Raises:
        PeError: if the file cannot be written.
    """
    try:
        path.write_text(json.dumps(plain, indent=2) + "\n")
    except OSError as fault:
        raise PeError(str(path), f"cannot be written: {fault.strerror or fault}") from fault
