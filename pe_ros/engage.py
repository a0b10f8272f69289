"""``pe-ros engage``: a whole engagement in one process, with live progress and a result."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from pe_ros.composition import Composition
from pe_ros.discovery import use_profile
from pe_ros.end_request import EndedWhileStarting, EndRequest
from pe_ros.episode_view import EpisodeView
from pe_ros.results import Results
from pe_ros.specs import Options
from pe_sim.engagement import load
from pe_sim.evaluation.rollout import EpisodeResult
from pe_sim.rules import OUTCOMES
from pe_sim.timing import seconds


def engage(options: Options, console: Console, *, progress: bool) -> Results:
    """Run an engagement to its end, or until SIGINT or SIGTERM, and return the results so far.

    Raises:
        PeError: if the engagement, a policy or the recording cannot be used.
    """
    use_profile()
    with EndRequest() as end:
        try:
            run = _Run(options, console, end)
        except EndedWhileStarting:
            return _no_results(options)
        return run.run(progress=progress)


def _no_results(options: Options) -> Results:
    """Return what there is to tell of a run that was told to end while it started."""
    engagement = load(options.engagement, json.loads(options.overrides) if options.overrides else None)
    seed = engagement.seed if options.seed < 0 else options.seed
    return Results(engagement, seed, f"ros/{options.pace}", [], requested=options.episodes)


class _Run:
    """One call of :func:`engage`."""

    def __init__(self, options: Options, console: Console, end: EndRequest) -> None:
        self._console = console
        self._options = options
        self._end = end
        self._results: list[EpisodeResult] = []
        self._composition = Composition(options, self._on_end)
        end.on_request = self._composition.stop

    def _on_end(self, episode: int, view: EpisodeView) -> None:
        engagement = self._composition.engagement
        self._results.append(
            EpisodeResult(
                episode=episode,
                seed=self._composition.referee.seed,
                outcome=OUTCOMES[view.outcome],
                duration=seconds(view.elapsed),
                ticks=view.ticks,
                rewards=dict(zip(engagement.agents, view.rewards, strict=True)),
                min_distance=view.min_distance,
                decisions=dict(view.decisions),
                trajectory_sha256=view.sha256,
                failures=dict(view.failures),
            )
        )

    def run(self, *, progress: bool) -> Results:
        """Run and close."""
        composition = self._composition
        try:
            if progress and self._console.is_terminal:
                self._run_with_progress()
            else:
                composition.run()
        finally:
            agents = {name: asdict(summary) for name, summary in composition.summaries().items()}
            composition.close()
        recorder = composition.recorder
        return Results(
            composition.engagement, composition.referee.seed, f"ros/{self._options.pace}", self._results,
            requested=self._options.episodes, agents=agents, recorded=recorder is None or recorder.failure is None,
        )

    def _run_with_progress(self) -> None:
        """Show episode, engagement time and distance while running."""
        columns = (
            TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[state]}"), TimeElapsedColumn(),
        )
        with Progress(*columns, console=self._console, transient=True) as bar:
            limit = self._composition.engagement.horizon
            task = bar.add_task("waiting for the agents", total=limit, state="")
            self._composition.run(lambda: bar.update(task, **self._shown()))

    def _shown(self) -> dict[str, Any]:
        referee = self._composition.referee
        view = referee.view
        distance = f"{min(view.distances):6.2f} m" if view.distances else ""
        return {
            "completed": view.ticks,
            "description": f"episode {max(0, referee.episode) + 1}/{self._options.episodes or '-'}",
            "state": f"t = {seconds(view.elapsed):6.2f} s  {distance}",
        }
