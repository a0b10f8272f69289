"""``pe-ros bench``: figures against rivals measured in the same run; exit code 1 if a goal is missed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pe_ros.cli_errors import errors_for_people

bench_app = typer.Typer(help="Benchmarks against named rivals.", no_args_is_help=True)

Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the figures as JSON.")]
Quick = Annotated[bool, typer.Option("--quick", help="Shorter runs: a first impression, not a figure to quote.")]


@bench_app.callback()
def bench() -> None:
    """Benchmarks against named rivals."""


@bench_app.command()
def ros(
    engagement: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Engagement file; default the shipped kinematic 3-on-1.")
    ] = None,
    json_file: Json = None,
    quick: Quick = False,
) -> None:
    """The ROS graph: latency of a decision, lockstep speed, decisions on time with ten agents."""
    with errors_for_people():
        from pe_ros.ros_installed import require_ros

        require_ros("pe-ros bench ros")
        from pe_ros.bench.ros import run
        from pe_sim.bench.figures import report
        from pe_sim.shared_files import engagement_file

        file = engagement or engagement_file("kinematic_3v1")
        code = report("pe-ros bench ros", run(file, quick=quick), json_file, Console())
    raise typer.Exit(code)


@bench_app.command("sim")
def simulation(json_file: Json = None, quick: Quick = False) -> None:
    """The batched simulation: a grid against a plain Python loop, a 3-on-1 against VMAS and MPE2."""
    with errors_for_people():
        from pe_sim.bench import sim as core
        from pe_sim.bench.figures import report

        code = report("pe-ros bench sim", core.run(quick=quick), json_file, Console())
    raise typer.Exit(code)


@bench_app.command("train")
def training(json_file: Json = None, quick: Quick = False) -> None:
    """Learning: MAPPO on a 3-on-1 against XuanCe's, the time until it captures, and what a decision costs."""
    with errors_for_people():
        from pe_sim.learning.requirement import require_torch

        require_torch("pe-ros bench train")
        from pe_sim.bench import train as learning
        from pe_sim.bench.figures import report

        code = report("pe-ros bench train", learning.run(quick=quick), json_file, Console())
    raise typer.Exit(code)


@bench_app.command("fixed_wing")
def fixed_wing(json_file: Json = None, quick: Quick = False) -> None:
    """The fixed-wing world: cost over JSBSim's bare calls, two workers over one, a 2-on-2 in real time on ROS."""
    with errors_for_people():
        from pe_sim.bench import fixed_wing as world
        from pe_sim.bench.figures import report
        from pe_sim.shared_files import engagement_file

        figures = world.run(quick=quick)
        if find_spec("rclpy") is not None and find_spec("pe_ros.msg") is not None:
            from pe_ros.bench.fixed_wing import real_time

            figures += real_time(engagement_file("fixed_wing_2v2"), quick=quick)
        code = report("pe-ros bench fixed_wing", figures, json_file, Console())
    raise typer.Exit(code)
