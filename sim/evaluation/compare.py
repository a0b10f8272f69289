"""One team against rivals with a fair chance: each tuned over a grid of its parameters, then all flown alike.

What counts is the time to capture, an episode without capture counting as the whole time limit: a team that only
catches whom it catches soon does not win by leaving the others out. Tuning and comparison fly different episodes; in
the comparison everybody flies the same ones, so that differences are taken episode by episode.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from pe_sim.engagement import Engagement, override, parse, policy_changes
from pe_sim.errors import EngagementError
from pe_sim.evaluation.evaluate import Flights, Z, fly, mean_interval, wilson
from pe_sim.schema import Strict, as_engagement_error, nearest
from pe_sim.timing import seconds
from pe_sim.yaml_reader import read_yaml

Values = Annotated[list[Any], Field(min_length=1)]


class RivalSpec(Strict):
    """A rival and what it may be tuned over.

    Attributes:
        use: its policy, as in the engagement file.
        parameters: name -> values to try; every combination is tried.
    """

    use: str
    parameters: dict[str, Values] = Field(default_factory=dict)

    @property
    def settings(self) -> list[dict[str, Any]]:
        """Every combination of the values; one empty one where there are none."""
        combinations = itertools.product(*self.parameters.values())
        return [dict(zip(self.parameters, chosen, strict=True)) for chosen in combinations]


class RivalsSpec(Strict):
    """A file of rivals.

    Attributes:
        role: whose place they take.
        rivals: who they are.
    """

    role: str
    rivals: Annotated[list[RivalSpec], Field(min_length=1)]


@dataclass(frozen=True)
class Standing:
    """What one team achieved over the episodes that all have flown.

    Attributes:
        use: its policy.
        parameters: its parameters: of a rival the best of its grid.
        tried: how many settings it was tuned over, 0 for the team that is compared.
        capture_rate: share of episodes that ended in capture.
        capture_interval: its 95 % interval (Wilson, 1927).
        mean_time: time to capture, the time limit where there was none [s], mean over all episodes.
        time_interval: its 95 % interval [s], normal approximation; None with fewer than two episodes.
        mean_time_to_capture: over the episodes that ended in capture [s]; None where there were none.
        saved: share of this rival's mean time by which the team that is compared is faster; None for that team.
        saved_interval: its 95 % interval, from differences episode by episode (delta method).
    """

    use: str
    parameters: dict[str, Any]
    tried: int
    capture_rate: float
    capture_interval: tuple[float, float]
    mean_time: float
    time_interval: tuple[float, float] | None
    mean_time_to_capture: float | None
    saved: float | None = None
    saved_interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class Comparison:
    """One team against its rivals, the fastest of them first.

    Attributes:
        engagement: its name.
        episodes: how many all have flown.
        seed: of their run.
        tuning_episodes: how many every setting flew in tuning.
        tuning_seed: of those runs.
        team: the team that is compared.
        rivals: the others.
        tuning: every setting that was tried: policy, parameters, capture rate and mean time [s].
    """

    engagement: str
    episodes: int
    seed: int
    tuning_episodes: int
    tuning_seed: int
    team: Standing
    rivals: list[Standing]
    tuning: list[dict[str, Any]] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self)


def load_rivals(path: Path, engagement: Engagement) -> RivalsSpec:
    """Read a file of rivals for an engagement.

    Raises:
        EngagementError: if it is missing, no YAML, invalid, or names no role of the engagement.
    """
    data = read_yaml(path)
    try:
        spec = RivalsSpec.model_validate(data)
    except ValidationError as fault:
        raise as_engagement_error(fault, str(path)) from fault
    if spec.role not in engagement.roles:
        raise EngagementError(f"{path}: role", "no such role", spec.role, nearest(spec.role, engagement.roles))
    return spec


def flown_by(engagement: Engagement, role: str, use: str, parameters: dict[str, Any]) -> Engagement:
    """Return the engagement with another policy in a role.

    Raises:
        EngagementError: if it cannot be used there.
    """
    return parse(override(engagement.resolved(), policy_changes({role: use}, {role: parameters})))


def compare(  # noqa: PLR0913 - each is a choice of its own
    engagement: Engagement, use: str, rivals: RivalsSpec, episodes: int, seed: int, *, tuning_episodes: int,
    tuning_seed: int, parameters: dict[str, Any] | None = None, progress: Callable[[str], None] | None = None,
) -> Comparison:
    """Tune every rival, then fly the team and the best setting of each rival over the same episodes.

    Args:
        engagement: the engagement.
        use: the policy that is compared.
        rivals: whom with.
        episodes: of the comparison.
        seed: of the comparison.
        tuning_episodes: of every setting of a rival in tuning.
        tuning_seed: of tuning; another than ``seed``, or the rivals would be tuned to the comparison's own episodes.
        parameters: of the policy that is compared.
        progress: called with what is flown next.
    """
    limit = seconds(engagement.horizon * engagement.world.tick)
    tell = progress or _silent
    tuning: list[dict[str, Any]] = []
    chosen: list[tuple[RivalSpec, dict[str, Any]]] = []
    for rival in rivals.rivals:
        best, least = rival.settings[0], float("inf")
        for setting in _of_interest(rival):
            tell(f"{rival.use} {setting}")
            flights = fly(flown_by(engagement, rivals.role, rival.use, setting), tuning_episodes, tuning_seed)
            mean = float(times(flights, limit).mean())
            tuning.append({
                "use": rival.use, "parameters": setting, "capture_rate": float(flights.captured.mean()),
                "mean_time": mean,
            })
            if mean < least:
                best, least = setting, mean
        chosen.append((rival, best))
    tell(use)
    mine = fly(flown_by(engagement, rivals.role, use, parameters or {}), episodes, seed)
    standings = []
    for rival, setting in chosen:
        tell(f"{rival.use} {setting}")
        theirs = fly(flown_by(engagement, rivals.role, rival.use, setting), episodes, seed)
        standings.append(_standing(rival.use, setting, len(rival.settings), theirs, limit, mine))
    return Comparison(
        engagement.engagement, episodes, seed, tuning_episodes, tuning_seed,
        _standing(use, parameters or {}, 0, mine, limit, None),
        sorted(standings, key=lambda one: one.mean_time), tuning,
    )


def _silent(text: str) -> None:
    """Tell nobody."""


def _of_interest(rival: RivalSpec) -> Iterator[dict[str, Any]]:
    """Yield the settings to try: none need be where there is only one."""
    yield from rival.settings if len(rival.settings) > 1 else []


def times(flights: Flights, limit: float) -> NDArray[np.float64]:
    """Return the time to capture of every episode [s], the limit where there was no capture."""
    return np.where(flights.captured, flights.durations, limit)


def _standing(
    use: str, parameters: dict[str, Any], tried: int, flights: Flights, limit: float, faster: Flights | None
) -> Standing:
    mine = times(flights, limit)
    caught = flights.durations[flights.captured]
    share, interval = (None, None) if faster is None else saved(times(faster, limit), mine)
    return Standing(
        use, parameters, tried, float(flights.captured.mean()), wilson(int(flights.captured.sum()), len(mine)),
        float(mine.mean()), mean_interval(mine), float(caught.mean()) if len(caught) else None, share, interval,
    )


def saved(
    team: NDArray[np.float64], rival: NDArray[np.float64]
) -> tuple[float, tuple[float, float] | None]:
    """Return by which share of the rival's mean time the team is faster, and its 95 % interval.

    The ratio r of the means of paired times x and y has the variance of mean(x - r y) / mean(y) (delta method).
    """
    ratio = float(team.mean() / rival.mean())
    if len(team) < 2:
        return 1.0 - ratio, None
    half = Z * float((team - ratio * rival).std(ddof=1)) / float(rival.mean()) / float(np.sqrt(len(team)))
    return 1.0 - ratio, (1.0 - ratio - half, 1.0 - ratio + half)
