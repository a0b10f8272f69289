"""``pe-ros compare``: a team against rivals, each tuned over a grid of its parameters; works without ROS."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from pe_ros.cli_errors import errors_for_people
from pe_ros.cli_train import Json, Quiet, write_json
from pe_sim.errors import PeError
from pe_sim.shared_files import engagement_file

if TYPE_CHECKING:
    from pe_sim.evaluation.compare import Comparison, Standing


def compare(  # noqa: PLR0913, PLR0917 - one parameter per option
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Engagement file (YAML), or a shipped one's name.")],
    policy: Annotated[str, typer.Option("--policy", help="What is compared: a bundle, or guidance/<name>.")],
    against: Annotated[
        Path, typer.Option("--against", metavar="RIVALS", help="File of rivals and of what each may be tuned over.")
    ],
    episodes: Annotated[int, typer.Option("--episodes", "-n", min=2, help="Unseen episodes that all fly.")] = 1000,
    seed: Annotated[int, typer.Option("--seed", min=0, max=2**63 - 1, help="Seed of these.")] = 1_000_004,
    tuning_episodes: Annotated[
        int, typer.Option("--tuning-episodes", min=1, help="Episodes of every setting of a rival in tuning.")
    ] = 200,
    tuning_seed: Annotated[int, typer.Option("--tuning-seed", min=0, max=2**63 - 1, help="Seed of these.")] = 2_000_003,
    json_file: Json = None,
    quiet: Quiet = False,
) -> None:
    """Tune every rival over its grid, then let all fly the same unseen episodes: who takes how long to capture."""
    with errors_for_people():
        from pe_sim.engagement import load
        from pe_sim.evaluation.compare import compare as measure
        from pe_sim.evaluation.compare import load_rivals

        if seed == tuning_seed:
            raise PeError("--tuning-seed", "must differ from --seed: what was tuned must fly unseen episodes", seed)
        engagement = load(engagement_file(file))
        rivals = load_rivals(against, engagement)
        console = Console()
        with console.status("", spinner="line") as status:
            result = measure(
                engagement, policy, rivals, episodes, seed, tuning_episodes=tuning_episodes, tuning_seed=tuning_seed,
                progress=status.update,
            )
        if not quiet:
            _print(result, console)
        if json_file is not None:
            write_json(json_file, result.as_dict())


def _print(result: Comparison, console: Console) -> None:
    console.print(
        f"{result.engagement}: {result.episodes} episodes, seed {result.seed}; mean time with 95 % interval, "
        f"no capture counting as the time limit; saved by {result.team.use}, from differences episode by episode; "
        f"rivals tuned over {result.tuning_episodes} episodes of seed {result.tuning_seed}"
    )
    table = Table("policy", "tried", "capture", "mean time [s]", "saved [%]", box=None)
    for one in (result.team, *result.rivals):
        table.add_row(*_row(one))
    console.print(table)


def _row(one: Standing) -> list[str]:
    name = one.use.removeprefix("guidance/").removeprefix("policies/")
    name += "".join(f"\n  {key} {_text(value)}" for key, value in one.parameters.items())
    tried = str(one.tried or "")
    return [name, tried, f"{one.capture_rate:.1%}", _spanned(one.mean_time, one.time_interval, 1.0, 2),
            "" if one.saved is None else _spanned(one.saved, one.saved_interval, 100.0, 1)]


def _spanned(value: float, span: tuple[float, float] | None, factor: float, digits: int) -> str:
    """Return a value and its interval as text."""
    text = f"{factor * value:.{digits}f}"
    return text if span is None else f"{text} ({factor * span[0]:.{digits}f} to {factor * span[1]:.{digits}f})"


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
